// Temporary folders of one run.
import { chmodSync, existsSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The system's in-memory folder on Linux. */
export const MEMORY = '/dev/shm';

/** Free space that is required. The gate needs at most half a gigabyte, but a container often has only 64 MiB there. */
const MIN_MEMORY_BYTES = 4 * 1024 ** 3;

/** Whether the in-memory folder has enough space, and programs may be executed from it. */
export function hasRoomInMemory() {
  const mounts = existsSync('/proc/self/mounts') ? readFileSync('/proc/self/mounts', 'utf8') : '';
  const options = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .findLast(([, target]) => target === MEMORY)?.[3];
  if (options === undefined || options.split(',').includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, os.freemem()) >= MIN_MEMORY_BYTES;
}

/** Creates a temporary folder that only this run uses. @param {string} place */
export function makeOwnFolder(place) {
  // The name is short, because tests create agents' state directories below it, and the length of their paths is
  // limited.
  const folder = mkdtempSync(path.join(place, 'run-'));
  // Mode 1777, as in /tmp, because the users of Postgres and of sessions also create files in it.
  chmodSync(folder, 0o1777);
  return folder;
}
