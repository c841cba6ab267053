import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import type { SessionMetrics } from '@footlight/protocol/agent';
import type { AgentEventType } from '@footlight/protocol/telemetry';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { TraceEvents } from './trace-events.ts';
import { WorkerReports } from './worker-reports.ts';

const SESSION = '00000000-0000-4000-8000-000000000001';

let clock: ManualClock;
/** Messages sent to the link, by kind. */
let sent: Record<'report' | 'event' | 'metrics' | 'signaling', unknown[]>;
let warnings: unknown[];
let reports: WorkerReports;

beforeEach(() => {
  clock = new ManualClock();
  sent = { report: [], event: [], metrics: [], signaling: [] };
  warnings = [];
  const link = {
    report: (message: unknown) => sent.report.push(message),
    event: (message: unknown) => void sent.event.push(message),
    metrics: (message: unknown) => void sent.metrics.push(message),
    signaling: (message: unknown) => void sent.signaling.push(message),
  };
  const logger = silentLogger();
  vi.spyOn(logger, 'warn').mockImplementation((fields: unknown) => void warnings.push(fields));
  const events = new TraceEvents(SESSION, link, clock);
  reports = new WorkerReports({ sessionId: SESSION, link, events, clock, logger });
});

const event = (name: AgentEventType) => ({ type: 'event' as const, event: name, ts: 1, payload: {} });
const starting = () => ({ app_launch_state: 'starting' as const });
const metrics = (entries: SessionMetrics['metrics']) => ({
  type: 'metrics' as const,
  ts: 1,
  window_ms: 1_000,
  metrics: entries,
});

describe('a worker that a hostile viewer floods', () => {
  test('a thousand playout changes a second: a burst passes, then ten a second, and drops are logged', () => {
    for (let ms = 0; ms < 10_000; ms++) {
      clock.advance(1);
      reports.event(event('playout.changed'));
    }
    expect(sent.event.length).toBeLessThanOrEqual(128 + 100);
    reports.close();
    const dropped = (warnings as { dropped: { lossy_event: number } }[]).map(
      (entry) => entry.dropped.lossy_event,
    );
    expect(dropped.reduce((sum, count) => sum + count)).toBe(10_000 - sent.event.length);
    expect(dropped.length).toBeLessThanOrEqual(3);
  });

  test('it cannot report recordings, which only the agent writes', () => {
    reports.event(event('session.recording'));
    expect(sent.report).toEqual([]);
  });

  test('its reliable events still arrive', () => {
    for (let count = 0; count < 1_000; count++) reports.event(event('abr.retarget'));
    reports.event(event('caps.negotiated'));
    expect(sent.report).toHaveLength(1);
  });

  test.each([
    ['reliable events', () => reports.event(event('host.xid')), 64],
    ['metrics', () => reports.metrics(metrics({ fps: 1 }), starting), 10],
    [
      'signaling',
      () => reports.signal({ type: 'signal', conn: 1, msg: { type: 'resumed', pc_id: SESSION } }),
      200,
    ],
  ] as const)('%s are limited as well', (_name, say, burst) => {
    for (let count = 0; count < 1_000; count++) say();
    expect(Object.values(sent).flat()).toHaveLength(burst);
  });
});

test('of a log line that is too long, only the length is written', () => {
  reports.log(
    { type: 'log', level: 'warn', event: 'media.webrtc', fields: { message: 'x'.repeat(100_000) } },
    7,
  );
  expect(warnings).toEqual([{ oversize_bytes: 100_014, worker: 7 }]);
});

test('of an endless list of input devices, 32 are looked up', () => {
  const taken = Array.from({ length: 1_000 }, () => reports.takeInputDevice());
  expect(taken.filter(Boolean)).toHaveLength(32);
});

test('the launch state is computed only for forwarded samples', () => {
  let looks = 0;
  const look = () => {
    looks++;
    return starting();
  };
  for (let count = 0; count < 1_000; count++) reports.metrics(metrics({ fps: 1 }), look);
  expect(looks).toBe(10);
});

test('a long text as a metric, which the control plane would count as malformed, is not forwarded', () => {
  reports.metrics(metrics({ abr_mode: 'x'.repeat(65) }), starting);
  expect(sent.metrics).toEqual([]);
});
