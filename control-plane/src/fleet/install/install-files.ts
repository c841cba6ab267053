import { open } from 'node:fs/promises';
import path from 'node:path';
import { pipeline, Readable, Transform } from 'node:stream';
import { type Clock, HOUR_MS, SECOND_MS } from '@footlight/platform';
import { ApiError } from '../../platform/errors.ts';
import type { WindowLimit } from '../../platform/limits.ts';

export type InstallFile = 'agent.sh' | 'agent-linux-x64.tgz';

/** Limits downloads of the archive per address, because it is the largest answer that needs no authentication. */
export const ARCHIVE_LIMIT: WindowLimit = { limit: 10, windowMs: HOUR_MS };

/** Rate of each download. The archive has 47 MB, so a new host waits 6 s. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
/** Bytes that are sent without a delay. The whole script is smaller. */
const BURST_BYTES = 256 * 1024;
/** Default chunk size of Node's file streams. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Opens a file that the release build made for new hosts. The file is opened once for each answer, so a build that
 * replaces it does not change a running download. A slow reader keeps only one chunk in memory.
 * @param withContent false: no body, for HEAD
 * @throws ApiError 404 when this build has no such file
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
  // Ignore the error here: the returned stream reports it to the server.
  return { content: pipeline(source, paced(clock), () => undefined), bytes: size };
}

/** Limits the rate of a stream. */
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
