import { type ChildProcess, spawn } from 'node:child_process';

/** A virtual display for tests; the server chooses its own number. */
export interface TestDisplay {
  /** Such as ":7". */
  name: string;
  close(): Promise<void>;
}

/** @throws when Xvfb does not come up within 10 s */
export function startTestDisplay(width: number, height: number): Promise<TestDisplay> {
  return new Promise((resolve, reject) => {
    const server: ChildProcess = spawn(
      'Xvfb',
      ['-displayfd', '3', '-screen', '0', `${width}x${height}x24`, '-nolisten', 'tcp', '-ac', '-noreset'],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
    );
    const exited = new Promise<void>((done) => server.once('exit', () => done()));
    const limit = setTimeout(() => {
      server.kill('SIGKILL');
      reject(new Error('Xvfb did not come up within 10 s'));
    }, 10_000);
    server.once('error', reject);
    let text = '';
    server.stdio[3]?.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('\n')) return;
      clearTimeout(limit);
      resolve({
        name: `:${text.trim()}`,
        close: async () => {
          server.kill('SIGTERM');
          await exited;
        },
      });
    });
  });
}
