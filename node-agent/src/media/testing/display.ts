import { type ChildProcess, spawn } from 'node:child_process';
import { removeDisplayFiles, reserveDisplay, socketMark } from '../../display/display-number.ts';

/** A virtual display for tests. Its number is reserved, so that no concurrent session uses it. */
export interface TestDisplay {
  /** X display such as ":7". */
  name: string;
  /** Process id of the server. */
  pid: number;
  close(): Promise<void>;
}

/** @throws when Xvfb does not start within 10 s */
export async function startTestDisplay(width: number, height: number): Promise<TestDisplay> {
  const reserved = await reserveDisplay();
  if (reserved === null) throw new Error('no display number is free');
  const { number } = reserved;
  return new Promise((resolve, reject) => {
    const server: ChildProcess = spawn(
      'Xvfb',
      [
        ...[`:${number}`, '-displayfd', '3', '-screen', '0', `${width}x${height}x24`],
        ...['-nolisten', 'tcp', '-nolisten', 'local', '-ac', '-noreset'],
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
    );
    const pid = server.pid ?? 0;
    const handedOver = reserved.handOver(pid);
    const exited = new Promise<void>((done) => server.once('exit', () => done())).then(async () => {
      await handedOver;
      await removeDisplayFiles({ number, pid, socket: await socketMark(number) });
      reserved.release();
    });
    const limit = setTimeout(() => {
      server.kill('SIGKILL');
      reject(new Error('Xvfb did not come up within 10 s'));
    }, 10_000);
    server.once('error', reject);
    server.stdio[3]?.once('data', () => {
      clearTimeout(limit);
      resolve({
        name: `:${number}`,
        pid,
        close: async () => {
          server.kill('SIGTERM');
          await exited;
        },
      });
    });
  });
}
