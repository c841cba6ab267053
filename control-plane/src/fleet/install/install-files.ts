import { open } from 'node:fs/promises';
import path from 'node:path';
import { pipeline, Readable, Transform } from 'node:stream';
import { type Clock, HOUR_MS, SECOND_MS } from '@footlight/platform';
import { ApiError } from '../../platform/errors.ts';
import type { WindowLimit } from '../../platform/limits.ts';

export type InstallFile = 'agent.sh' | 'agent-linux-x64.tgz';

/** Archives that one address may fetch: they are the largest answers that a stranger gets. */
export const ARCHIVE_LIMIT: WindowLimit = { limit: 10, windowMs: HOUR_MS };

/** Each download. The archive has 47 MB, so a new host waits for 6 s. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
/** Sent at once; the script fits. */
const BURST_BYTES = 256 * 1024;
const CHUNK_BYTES = 64 * 1024;

/**
 * A file that the release build made for new hosts. It is opened once for each answer: a build that replaces it
 * while it is sent changes nothing of what is sent. A reader that takes its time holds one chunk in memory.
 * @param withContent false: for an answer without a body, such as that to HEAD
 * @throws ApiError 404 when this build has none
 */
export async function openInstallFile(
  folder: string,
  name: InstallFile,
  withContent: boolean,
  clock: Clock,
): Promise<{ content: Readable; bytes: number }> {
  const file = await open(path.join(folder, name)).catch(() => null);
  if (file === null) {
    throw new ApiError('not_found', {
      message: 'This build carries no agent for other hosts; scripts/up and scripts/control-plane pack it.',
    });
  }
  const { size } = await file.stat();
  if (!withContent) {
    await file.close();
    return { content: Readable.from([]), bytes: size };
  }
  const source = file.createReadStream({ highWaterMark: CHUNK_BYTES });
  // The server hears of a broken file by the stream that it sends.
  return { content: pipeline(source, paced(clock), () => undefined), bytes: size };
}

/** Passes bytes on at a bounded rate. */
function paced(clock: Clock): Transform {
  const startedMs = clock.monotonicMs();
  let bytes = 0;
  return new Transform({
    highWaterMark: CHUNK_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      const dueMs = startedMs + ((bytes - BURST_BYTES) / BYTES_PER_SECOND) * SECOND_MS;
      const waitMs = dueMs - clock.monotonicMs();
      if (waitMs <= 0) done(null, chunk);
      else clock.setTimeout(() => done(null, chunk), waitMs);
    },
  });
}
