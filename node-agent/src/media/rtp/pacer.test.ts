import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Pacer } from './pacer.ts';

describe('pacing', () => {
  let sent: { item: number; atMs: number }[];
  let overflows: number;
  const make = (rateKbps: number) =>
    new Pacer<number>({
      rateKbps,
      monotonicMs: () => performance.now(),
      send: (item) => sent.push({ item, atMs: performance.now() }),
      onOverflow: () => {
        overflows++;
      },
    });

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    sent = [];
    overflows = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
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
    vi.advanceTimersByTime(1000);
    expect(sent).toHaveLength(300);
    const start = sent[0]?.atMs ?? 0;
    const spread = (sent.at(-1)?.atMs ?? 0) - start;
    // 360 kB less the bucket's 60 kB at 1500 bytes a millisecond.
    expect(spread).toBeGreaterThan(180);
    expect(spread).toBeLessThan(230);
  });

  test('what cannot be sent in two seconds is given up', () => {
    const pacer = make(500);
    for (let index = 0; index < 200; index++) pacer.push(index, 1200);
    expect(overflows).toBe(1);
    expect(pacer.queuedBytes).toBeLessThan(200 * 1200);
    pacer.clear();
    vi.advanceTimersByTime(1000);
    expect(pacer.queuedBytes).toBe(0);
  });
});
