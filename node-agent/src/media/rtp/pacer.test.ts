import type { Clock } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { Pacer } from './pacer.ts';

describe('pacing', () => {
  let sent: { item: number; atMs: number }[];
  let overflows: number;
  let clock: ManualClock;
  const make = (rateKbps: number) =>
    new Pacer<number>({
      rateKbps,
      clock,
      send: (item) => sent.push({ item, atMs: clock.monotonicMs() }),
      onOverflow: () => {
        overflows++;
      },
    });

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    overflows = 0;
  });

  test('an ordinary frame leaves at once, in order', () => {
    const pacer = make(8000);
    for (let index = 0; index < 14; index++) pacer.push(index, 1200);
    expect(sent.map(({ item }) => item)).toEqual(Array.from({ length: 14 }, (_, index) => index));
    expect(pacer.queuedBytes).toBe(0);
  });

  test('a large keyframe leaves at 1.5 times the rate', () => {
    const pacer = make(8000);
    for (let index = 0; index < 300; index++) pacer.push(index, 1200);
    clock.advance(1000);
    expect(sent).toHaveLength(300);
    const start = sent[0]?.atMs ?? 0;
    const spread = (sent.at(-1)?.atMs ?? 0) - start;
    // 360 kB minus the bucket's 60 kB, at 1500 bytes per millisecond.
    expect(spread).toBeGreaterThan(180);
    expect(spread).toBeLessThan(230);
  });

  test('a process that runs only every 100 ms still sends at the full rate, and its pictures do not wait', () => {
    const starved: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      setInterval: () => {
        throw new Error('the pacer has no interval');
      },
      setTimeout: (run, delayMs) => {
        const dueMs = Math.ceil((clock.monotonicMs() + delayMs) / 100) * 100;
        return clock.setTimeout(run, dueMs - clock.monotonicMs());
      },
    };
    const pacer = new Pacer<number>({
      rateKbps: 2_000,
      clock: starved,
      send: (item) => sent.push({ item, atMs: clock.monotonicMs() }),
      onOverflow: () => {
        overflows++;
      },
    });
    const startMs = clock.monotonicMs();
    // A keyframe of 60 kB, then packets at the stream's rate.
    for (let index = 0; index < 50; index++) pacer.push(startMs, 1_200);
    for (let slice = 0; slice < 50; slice++) {
      clock.advance(100);
      for (let index = 0; index < 20; index++) pacer.push(clock.monotonicMs(), 1_250);
    }
    expect(overflows).toBe(0);
    const newest = sent.filter(({ atMs }) => atMs > startMs + 4_000);
    expect(Math.max(...newest.map(({ item, atMs }) => atMs - item))).toBeLessThanOrEqual(100);
  });

  test('packets that cannot be sent within two seconds are dropped', () => {
    const pacer = make(500);
    for (let index = 0; index < 200; index++) pacer.push(index, 1200);
    expect(overflows).toBe(1);
    expect(pacer.queuedBytes).toBeLessThan(200 * 1200);
    pacer.clear();
    clock.advance(1000);
    expect(pacer.queuedBytes).toBe(0);
  });
});
