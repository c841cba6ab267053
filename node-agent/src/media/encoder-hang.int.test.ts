import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hangingEncoderPreload } from './testing/codec-preload.ts';
import './testing/hanging-encoder.ts';
import { startTestDisplay, type TestDisplay } from './testing/display.ts';
import { prepareMessage } from './testing/prepare.ts';
import type { WorkerMessage } from './worker-messages.ts';
import { createMediaWorkerPool, type MediaWorkerPool } from './worker-pool.ts';

let display: TestDisplay;
let scratch: string;
let pool: MediaWorkerPool;

beforeAll(async () => {
  display = await startTestDisplay(320, 240);
  scratch = mkdtempSync(join(tmpdir(), 'encoder-hang-'));
  pool = createMediaWorkerPool({ size: 1, env: { NODE_OPTIONS: hangingEncoderPreload() } });
});

afterAll(async () => {
  await pool?.close();
  await display?.close();
  rmSync(scratch, { recursive: true, force: true });
});

test('an encoder that hangs is encoder_failed after 5 s, and a stop is answered all the same', async () => {
  const worker = await pool.acquire();
  const failed = new Promise<WorkerMessage>((resolve) => void worker.on('failure', resolve));
  const stalls: unknown[] = [];
  worker.on('event', ({ event, payload }) => event === 'encoder.stall' && stalls.push(payload));
  worker.send(prepareMessage({ display: display.name, scratch }, { codec: 'h265' }));
  worker.send({ type: 'start' });
  expect(await failed).toMatchObject({
    failure_code: 'encoder_failed',
    error: 'the encoder gave no output for 5 s',
  });
  expect(stalls).toMatchObject([{ phase: 'detected' }]);
  const stopped = new Promise<void>((resolve) => void worker.on('stopped', () => resolve()));
  worker.send({ type: 'stop', reason: 'failed', grace_ms: 0 });
  await stopped;
  // Its own exit waits for the thread that hangs: whoever started it kills it.
  worker.kill();
  await worker.exited;
});
