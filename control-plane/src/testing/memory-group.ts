import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';

const ROOT = '/sys/fs/cgroup';
/** Too little memory for any running process. */
const LIMIT_BYTES = 64 * 1024;

/** Control group that allows its processes no additional memory. */
export interface MemoryGroup {
  add(pid: number): void;
  /** Number of processes that the kernel's OOM killer ended. */
  kills(): number;
  remove(): Promise<void>;
}

/** @returns null when this machine does not permit control groups */
export function makeMemoryGroup(): MemoryGroup | null {
  const isUnified = existsSync(join(ROOT, 'cgroup.controllers'));
  const directory = join(
    isUnified ? ROOT : join(ROOT, 'memory', ownGroup()),
    `footlight-test-${process.pid}`,
  );
  try {
    if (isUnified) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+memory');
    mkdirSync(directory);
  } catch {
    return null;
  }
  writeFileSync(join(directory, isUnified ? 'memory.max' : 'memory.limit_in_bytes'), String(LIMIT_BYTES));
  const events = join(directory, isUnified ? 'memory.events' : 'memory.oom_control');
  return {
    add: (pid) => writeFileSync(join(directory, 'cgroup.procs'), String(pid)),
    kills: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(events, 'utf8'))?.[1]),
    // The kernel counts a process as a member for a moment after its parent has reaped it.
    remove: () => vi.waitFor(() => rmdirSync(directory), { timeout: 20_000 }),
  };
}

/** This process's control group in version 1, where the parent's limits also apply to child groups. */
function ownGroup(): string {
  return /^\d+:memory:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
}
