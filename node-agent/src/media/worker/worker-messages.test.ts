import { expect, test } from 'vitest';
import { workerMessage } from './worker-messages.ts';

test.each([
  ['a trace event', { type: 'event', event: 'session.mood', ts: 1, payload: {} }],
  ['a trace event at no time', { type: 'event', event: 'app.exited', ts: 1.5, payload: {} }],
  ['a metric', { type: 'metrics', ts: 1, window_ms: 1_000, metrics: { mood: 1 } }],
  ['a failure', { type: 'failure', failure_code: 'app_crashed', error: '' }],
  ['a log event', { type: 'log', level: 'info', event: 'media.mood', fields: {} }],
])('a worker that someone took over cannot make up %s', (_what, message) => {
  expect(workerMessage.safeParse(message).success).toBe(false);
});
