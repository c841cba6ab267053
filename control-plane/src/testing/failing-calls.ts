import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/**
 * Makes system calls of a process and of its threads fail with EIO from now on.
 * @param calls list in strace's syntax
 * @returns null when strace is missing or not permitted to trace
 */
export async function failSystemCalls(pid: number, calls: string): Promise<{ end(): Promise<void> } | null> {
  if (spawnSync('strace', ['-o', '/dev/null', '-e', 'trace=none', 'true']).status !== 0) return null;
  const words = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`];
  const tracer = spawn('strace', [...words, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const gone = once(tracer, 'exit');
  // strace prints a line after it has attached to every thread.
  await once(tracer.stderr, 'data');
  return {
    async end() {
      tracer.kill('SIGINT');
      await gone;
    },
  };
}
