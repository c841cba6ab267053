import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCgroup, removeCgroupDirs } from './cgroups.ts';

const LIMIT_BYTES = 64 * 1024 * 1024;

/** Contents of all files with this name in a group's directories. */
function contents(dirs: readonly string[], name: string): string[] {
  const files = dirs.map((dir) => join(dir, name)).filter((file) => existsSync(file));
  return files.map((file) => readFileSync(file, 'utf8').trim());
}

test('a memory limit also covers swap', ({ onTestFinished, skip }) => {
  const group = makeCgroup(`swap-${process.pid}`, { memoryBytes: LIMIT_BYTES, cpus: 0 });
  if (group === null) return skip('control groups cannot be written here');
  onTestFinished(() => {
    expect(removeCgroupDirs(group.dirs)).toEqual([]);
  });
  // v2 counts swap separately, but v1 counts it together with memory. On a kernel without swap accounting, both files
  // are missing.
  const limits = [
    ...contents(group.dirs, 'memory.swap.max'),
    ...contents(group.dirs, 'memory.memsw.limit_in_bytes'),
  ];
  if (limits.length === 0) return skip('this kernel does not count swap');
  expect(['0', String(LIMIT_BYTES)]).toEqual(expect.arrayContaining(limits));
});

test('socket buffers are limited too', ({ onTestFinished, skip }) => {
  const group = makeCgroup(`sockets-${process.pid}`, { memoryBytes: 4 * 1024 ** 3, cpus: 0 });
  if (group === null) return skip('control groups cannot be written here');
  onTestFinished(() => {
    expect(removeCgroupDirs(group.dirs)).toEqual([]);
  });
  const limits = contents(group.dirs, 'memory.kmem.tcp.limit_in_bytes');
  if (limits.length === 0) return skip('this kernel counts it with all other memory, or not at all');
  expect(limits).toEqual([String(128 * 1024 * 1024)]);
});
