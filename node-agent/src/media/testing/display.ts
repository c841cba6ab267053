import { type ChildProcess, spawn } from 'node:child_process';
import { freeDisplay, reserveDisplay } from '../../display/xvfb.ts';

/** A virtual display for tests, with a number that no session beside them gets. */
export interface TestDisplay {
  /** Such as ":7". */
  name: string;
  /** The server's process. */
  pid: number;
  close(): Promise<void>;
}

/** @throws when Xvfb does not come up within 10 s */
export function startTestDisplay(width: number, height: number): Promise<TestDisplay> {
  return new Promise((resolve, reject) => {
    const number = reserveDisplay();
    const server: ChildProcess = spawn(
      'Xvfb',
      [
        ...[`:${number}`, '-displayfd', '3', '-screen', '0', `${width}x${height}x24`],
        ...['-nolisten', 'tcp', '-ac', '-noreset'],
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
    );
    const exited = new Promise<void>((done) => server.once('exit', () => done()));
    void exited.then(() => freeDisplay(number));
    const limit = setTimeout(() => {
      server.kill('SIGKILL');
      reject(new Error('Xvfb did not come up within 10 s'));
    }, 10_000);
    server.once('error', reject);
    server.stdio[3]?.once('data', () => {
      clearTimeout(limit);
      resolve({
        name: `:${number}`,
        pid: server.pid as number,
        close: async () => {
          server.kill('SIGTERM');
          await exited;
        },
      });
    });
  });
}
