import { open } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { ApiError } from '../platform/errors.ts';

export type InstallFile = 'agent.sh' | 'agent-linux-x64.tgz';

/**
 * A file that the release build made for new hosts. It is opened once for each answer: a build that replaces it
 * while it is sent changes nothing of what is sent.
 * @throws ApiError 404 when this build has none
 */
export async function openInstallFile(
  folder: string,
  name: InstallFile,
): Promise<{ content: Readable; bytes: number }> {
  const file = await open(path.join(folder, name)).catch(() => null);
  if (file === null) {
    throw new ApiError('not_found', {
      message: 'This build carries no agent for other hosts; scripts/up and scripts/control-plane pack it.',
    });
  }
  const { size } = await file.stat();
  return { content: file.createReadStream(), bytes: size };
}
