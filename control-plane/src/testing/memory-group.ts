import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';

const ROOT = '/sys/fs/cgroup';
/** Less than anything needs that goes on. */
const LIMIT_BYTES = 64 * 1024;

/** A control group that leaves its processes no more memory than they had when they came. */
export interface MemoryGroup {
  add(pid: number): void;
  /** Processes that the kernel killed for their memory (count). */
  kills(): number;
  remove(): Promise<void>;
}

/** @returns null: this machine lets us make none */
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
    // The kernel counts a process as a member for a moment after it was reaped.
    remove: () => vi.waitFor(() => rmdirSync(directory)),
  };
}

/** This process's group of v1, where limits of its own parent still hold for what is below it. */
function ownGroup(): string {
  return /^\d+:memory:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
}
