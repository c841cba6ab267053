// Temporary folders of a single run.
import { chmodSync, existsSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The system's folder in memory, on Linux. */
export const MEMORY = '/dev/shm';

/** Required free space: the gate needs at most half a gigabyte; a container often offers 64 MiB. */
const MIN_MEMORY_BYTES = 4 * 1024 ** 3;

/** Whether it has enough space, and programs may run from it. */
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

/** A temporary folder for this run alone. @param {string} place */
export function makeOwnFolder(place) {
  // A short name: tests create agents' state directories below it, whose path length is limited.
  const folder = mkdtempSync(path.join(place, 'run-'));
  // The users of Postgres and of sessions also work in it, as in /tmp.
  chmodSync(folder, 0o1777);
  return folder;
}
