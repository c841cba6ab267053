import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/**
 * From now on these system calls of a process, and of its threads, fail with EIO and do nothing.
 * @param calls as strace takes them
 * @returns null: there is no strace, or it may not trace here
 */
export async function failSystemCalls(pid: number, calls: string): Promise<{ end(): Promise<void> } | null> {
  if (spawnSync('strace', ['-o', '/dev/null', '-e', 'trace=none', 'true']).status !== 0) return null;
  const words = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`];
  const tracer = spawn('strace', [...words, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const gone = once(tracer, 'exit');
  // It says so once it holds every thread.
  await once(tracer.stderr, 'data');
  return {
    async end() {
      tracer.kill('SIGINT');
      await gone;
    },
  };
}
