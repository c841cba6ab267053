import { randomUUID } from 'node:crypto';
import { ManualClock } from '@footlight/platform/testing';
import type { CaptureResult, SessionTraceEvent } from '@footlight/protocol/agent';
import { describe, expect, test } from 'vitest';
import { TraceEvents } from '../reports/trace-events.ts';
import { Captures, type CapturesOptions } from './captures.ts';

function session(options: Partial<CapturesOptions> = {}) {
  const clock = new ManualClock();
  const end = new AbortController();
  const events: { event: string; payload: CaptureResult }[] = [];
  const link = {
    report: ({ event, payload }: SessionTraceEvent) =>
      events.push({ event, payload: payload as CaptureResult }),
    event: () => undefined,
  };
  const asked: unknown[] = [];
  const it = new Captures({
    clock,
    events: new TraceEvents('the-session', link as never, clock),
    ended: end.signal,
    has: () => true,
    capture: async (order, limitMs) => {
      asked.push([order, limitMs]);
      return { text: 'a\nb\n', contentType: 'text/plain', keeps: 'newest' };
    },
    ...options,
  });
  const begin = (kind = 'log_tail', more: object = {}) =>
    it.begin({
      capture_id: randomUUID(),
      kind,
      budget: { max_bytes: 262_144, max_ms: 10_000 },
      params: {},
      ...more,
    });
  return { begin, clock, end, events, asked };
}

/** A capture that never ends. */
const never = { capture: () => new Promise<never>(() => undefined) };

describe('a capture', () => {
  test('ends in one event with its result', async () => {
    const { begin, events } = session();
    const capture_id = randomUUID();
    expect(begin('log_tail', { capture_id })).toEqual({ ok: true });
    await expect.poll(() => events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      event: 'diag.log_tail',
      payload: { capture_id, kind: 'log_tail', encoding: 'gzip+base64', bytes: 4, truncated: false },
    });
    expect(events[0]?.payload).not.toHaveProperty('error');
  });

  test.each([
    ['log_tail', { lines: 5_000 }, 10_000, { kind: 'log_tail', lines: 1_000 }, 11_000],
    [
      'burst_stats',
      { windows: 40, window_ms: 1_000 },
      90_000,
      { kind: 'burst_stats', windows: 30, window_ms: 1_000 },
      31_000,
    ],
    ['burst_stats', { windows: 40, window_ms: 1_000 }, 0, { windows: 1, window_ms: 1_000 }, 1_000],
    ['pipeline_dot', { lines: 5 }, 10_000, { kind: 'pipeline_dot' }, 11_000],
  ])('of %s with %j in %d ms is clamped', async (kind, params, max_ms, order, limitMs) => {
    const { begin, asked } = session();
    begin(kind, { params, budget: { max_bytes: 1e9, max_ms } });
    await expect.poll(() => asked).toMatchObject([[order, limitMs]]);
  });

  test('keeps to its budget of bytes', async () => {
    const { begin, events } = session();
    begin('log_tail', { budget: { max_bytes: 5, max_ms: 10_000 } });
    await expect.poll(() => events[0]?.payload.error).toBe('nothing of it fits 5 bytes');
  });

  test('that fails ends in one event with the error', async () => {
    const { begin, events } = session({ capture: () => Promise.reject(new Error('no pipeline')) });
    begin();
    await expect.poll(() => events.map(({ payload }) => payload.error)).toEqual(['no pipeline']);
  });

  test('that takes too long ends in one event with the error', async () => {
    const { begin, clock, events } = session(never);
    begin();
    await clock.pass(10_999);
    expect(events).toEqual([]);
    await clock.pass(1);
    expect(events[0]?.payload).toMatchObject({ error: 'it took longer than 11000 ms', duration_ms: 11_000 });
    await clock.pass(60_000);
    expect(events).toHaveLength(1);
  });

  test('ends with its session', async () => {
    const { begin, end, events } = session(never);
    begin();
    end.abort();
    await expect.poll(() => events.map(({ payload }) => payload.error)).toEqual(['the session ended']);
  });
});

describe('refusals', () => {
  test('a kind of a newer version, even while another capture runs', () => {
    const { begin } = session(never);
    begin();
    expect(begin('screenshot')).toMatchObject({ ok: false, code: 'unknown_kind' });
  });

  test('a second one before the end of the first', async () => {
    const { begin, clock, events } = session(never);
    begin();
    expect(begin()).toMatchObject({ ok: false, code: 'busy' });
    await clock.pass(11_000);
    expect(events).toHaveLength(1);
    expect(begin()).toEqual({ ok: true });
  });

  test('a kind that is not available now', () => {
    const { begin } = session({ has: (kind) => kind === 'log_tail' });
    expect(begin('pipeline_dot')).toMatchObject({ ok: false, code: 'unsupported' });
    expect(begin('log_tail')).toEqual({ ok: true });
  });

  test('not for a repeat, which has no second effect', async () => {
    const { begin, events } = session();
    const capture_id = randomUUID();
    begin('log_tail', { capture_id });
    expect(begin('log_tail', { capture_id })).toEqual({ ok: true });
    await expect.poll(() => events).toHaveLength(1);
    expect(begin('log_tail', { capture_id })).toEqual({ ok: true });
    expect(begin('log_tail')).toEqual({ ok: true });
    await expect.poll(() => events).toHaveLength(2);
  });
});
