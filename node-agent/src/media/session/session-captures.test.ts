import { ManualClock } from '@footlight/platform/testing';
import { expect, test } from 'vitest';
import type { CaptureMade, EncoderProps } from '../worker/capture-messages.ts';
import { SessionCaptures, type SessionCapturesOptions } from './session-captures.ts';

function captures(options: Partial<SessionCapturesOptions> = {}) {
  const clock = new ManualClock();
  const answers: [number, CaptureMade][] = [];
  const it = new SessionCaptures({
    clock,
    graph: () => Promise.resolve('digraph {}'),
    encoderProps: () => ({ encoder_factory: 'x' }) as EncoderProps,
    rate: () => ({ abr_setpoint_kbps: 5_000 }),
    answer: (request, made) => answers.push([request, made]),
    ...options,
  });
  return { it, clock, answers };
}

test('graph and properties are answered at once', async () => {
  const { it, answers } = captures();
  it.take(1, { kind: 'pipeline_dot' });
  it.take(2, { kind: 'encoder_props' });
  await expect.poll(() => answers).toHaveLength(2);
  expect(answers.sort(([a], [b]) => a - b)).toEqual([
    [1, { kind: 'pipeline_dot', graph: 'digraph {}' }],
    [2, { kind: 'encoder_props', props: { encoder_factory: 'x' } }],
  ]);
});

test('a session without a pipeline has neither', async () => {
  const { it, answers } = captures({ graph: () => null, encoderProps: () => null });
  it.take(1, { kind: 'pipeline_dot' });
  it.take(2, { kind: 'encoder_props' });
  await expect.poll(() => answers.map(([, made]) => made.kind)).toEqual(['failed', 'failed']);
});

test('a burst measures frames for the requested number of windows', async () => {
  const { it, clock, answers } = captures();
  expect(it.burst).toBeNull();
  it.take(1, { kind: 'burst_stats', windows: 2, window_ms: 100 });
  it.burst?.encoded(clock.monotonicMs(), 100, 3);
  await clock.pass(199);
  expect(answers).toEqual([]);
  await clock.pass(1);
  expect(answers).toMatchObject([
    [
      1,
      { kind: 'burst_stats', window_ms: 100, windows: [{ fps: 10, abr_setpoint_kbps: 5_000 }, { fps: 0 }] },
    ],
  ]);
  expect(it.burst).toBeNull();
  await clock.pass(1_000);
  expect(answers).toHaveLength(1);
});

test('a newer burst replaces a running one, and the end ends it', async () => {
  const { it, clock, answers } = captures();
  it.take(1, { kind: 'burst_stats', windows: 2, window_ms: 100 });
  await clock.pass(150);
  it.take(2, { kind: 'burst_stats', windows: 1, window_ms: 100 });
  await clock.pass(500);
  expect(answers.map(([request]) => request)).toEqual([2]);
  it.take(3, { kind: 'burst_stats', windows: 1, window_ms: 100 });
  it.close();
  await clock.pass(500);
  expect(answers).toHaveLength(1);
});
