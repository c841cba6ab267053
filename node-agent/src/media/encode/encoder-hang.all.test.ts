import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { hangingEncoderPreload } from '../testing/codec-preload.ts';
import '../testing/hanging-encoder.ts';
import { TestHost } from '../testing/test-host.ts';

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.open({ width: 320, height: 240 }, hangingEncoderPreload());
});

afterEach(() => host.clear());
afterAll(() => host?.close());

test('a hanging encoder fails with encoder_failed after 5 s, and a stop still ends its worker', async () => {
  const session = await host.session();
  session.prepare({ codec: 'h265' }, { settings: {} });
  session.worker.send({ type: 'start' });
  expect(await session.first('failure')).toMatchObject({
    failure_code: 'encoder_failed',
    error: 'the encoder gave no output for 5 s',
  });
  expect(session.told('encoder.stall')).toMatchObject([{ phase: 'detected' }]);
  session.worker.send({ type: 'stop', reason: 'failed', grace_ms: 0 });
  await session.first('stopped');
  expect(await session.worker.exited).toEqual({ code: 0, signal: null });
});
