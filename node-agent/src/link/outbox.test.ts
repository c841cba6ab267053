import type { SessionMetrics } from '@footlight/protocol/agent';
import type { AgentEventType } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LossyMessages, Outbox, type ReliableMessage } from './outbox.ts';

const SESSIONS = ['a', 'b', 'c'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`);

function state(session = SESSIONS[0] ?? '', detail = 'x'): ReliableMessage {
  return { type: 'session_state', session_id: session, ts: 1, state: 'running', detail };
}

function trace(event: AgentEventType = 'host.xid', size = 10): ReliableMessage {
  return {
    type: 'session_trace_event',
    session_id: SESSIONS[0] ?? '',
    ts: 1,
    event,
    payload: { text: 'x'.repeat(size) },
  };
}

function seqs(outbox: Outbox): number[] {
  const found: number[] = [];
  for (let next = outbox.next(0); next; next = outbox.next(next.seq))
    found.push((JSON.parse(next.frame) as { seq: number }).seq);
  return found;
}

describe('reliable reports', () => {
  test('are numbered from 1 and kept in order until they were seen', () => {
    const outbox = new Outbox();
    for (let count = 0; count < 4; count++) outbox.add(state());
    expect(seqs(outbox)).toEqual([1, 2, 3, 4]);
    outbox.seen(2);
    expect(seqs(outbox)).toEqual([3, 4]);
    outbox.seen(9);
    expect(outbox.size).toBe(0);
    expect(outbox.bytes).toBe(0);
  });

  test('trace events are dropped before capture results, and both before replaced states', () => {
    const outbox = new Outbox();
    outbox.add(state());
    outbox.add(trace('diag.log_tail'));
    for (let count = 0; count < 1_999; count++) outbox.add(trace());
    expect(seqs(outbox).slice(0, 3)).toEqual([1, 2, 4]);
    const states = new Outbox();
    states.add(state(SESSIONS[0], 'old'));
    states.add(state(SESSIONS[1], 'only one'));
    for (let count = 0; count < 1_999; count++) states.add(state(SESSIONS[0]));
    expect(seqs(states)[0]).toBe(2);
  });

  test('the limit in bytes applies too', () => {
    const outbox = new Outbox();
    for (let count = 0; count < 40; count++) outbox.add(trace('diag.log_tail', 400_000));
    expect(outbox.bytes).toBeLessThanOrEqual(8 * 1024 * 1024);
  });

  test('the newest state of every session is never dropped', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...SESSIONS), fc.constant(null)), { minLength: 1, maxLength: 400 }),
        (script) => {
          const outbox = new Outbox();
          const newest = new Map<string, number>();
          for (const session of script) {
            if (session === null) outbox.add(trace('diag.log_tail', 60_000));
            else newest.set(session, outbox.add(state(session)));
          }
          expect(seqs(outbox)).toEqual(expect.arrayContaining([...newest.values()]));
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('messages that may be lost', () => {
  const sample = (session_id: string, ts: number): SessionMetrics => ({
    type: 'session_metrics',
    session_id,
    ts,
    window_ms: 5_000,
    metrics: { fps: 30 },
  });
  const event = (session_id: string, ts: number) => ({
    type: 'session_trace_event' as const,
    session_id,
    ts,
    event: 'app.exited' as const,
    payload: {},
  });
  const takeAll = (lossy: LossyMessages) => {
    const all: ReturnType<LossyMessages['next']>[] = [];
    for (let next = lossy.next(); next; next = lossy.next()) all.push(next);
    return all;
  };

  test('24 samples a session, the oldest dropped', () => {
    const lossy = new LossyMessages();
    for (let ts = 0; ts < 30; ts++) lossy.addSample(sample('s', ts));
    const kept = takeAll(lossy);
    expect(kept).toHaveLength(24);
    expect(kept[0]).toMatchObject({ ts: 6 });
  });

  test('256 events a session, the oldest dropped and counted', () => {
    const lossy = new LossyMessages();
    for (let ts = 0; ts < 300; ts++) lossy.addEvent(event('s', ts));
    expect(lossy.takeDropped()).toBe(44);
    expect(lossy.takeDropped()).toBe(0);
    const kept = takeAll(lossy);
    expect(kept).toHaveLength(256);
    expect(kept[0]).toMatchObject({ ts: 44 });
  });

  test('samples are sent before events, and sessions alternate', () => {
    const lossy = new LossyMessages();
    for (const ts of [1, 2, 3]) lossy.addEvent(event('a', ts));
    lossy.addEvent(event('b', 4));
    lossy.addSample(sample('a', 5));
    expect(takeAll(lossy).map((message) => message?.ts)).toEqual([5, 1, 4, 2, 3]);
  });
});
