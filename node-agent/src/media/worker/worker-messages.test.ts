import { expect, test } from 'vitest';
import { workerMessage } from './worker-messages.ts';

test.each([
  ['a trace event', { type: 'event', event: 'session.mood', ts: 1, payload: {} }],
  ['a trace event without a valid time', { type: 'event', event: 'app.exited', ts: 1.5, payload: {} }],
  ['a metric', { type: 'metrics', ts: 1, window_ms: 1_000, metrics: { mood: 1 } }],
  ['a failure', { type: 'failure', failure_code: 'app_crashed', error: '' }],
  ['a log event', { type: 'log', level: 'info', event: 'media.mood', fields: {} }],
])('an exploited worker cannot fake %s', (_what, message) => {
  expect(workerMessage.safeParse(message).success).toBe(false);
});

/** Deeply nested lists. The text is short, but serializing it again would overflow the agent's stack. */
const nested = (depth: number): object => JSON.parse(`{"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`);
const EVENT = { type: 'event', event: 'app.exited', ts: 1 };
const LINE = { type: 'log', level: 'info', event: 'media.no_gamepads' };

test.each([
  ['event', (free: object) => ({ ...EVENT, payload: free })],
  ['log line', (free: object) => ({ ...LINE, fields: free })],
])('an %s that is nested too deep to be serialized is refused', (_what, message) => {
  expect(workerMessage.safeParse(message(nested(10))).success).toBe(true);
  const deep = message(nested(100_000));
  expect(() => JSON.stringify(deep)).toThrow(RangeError);
  expect(workerMessage.safeParse(deep).success).toBe(false);
});
