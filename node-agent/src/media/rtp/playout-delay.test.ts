import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PlayoutDelay } from './playout-delay.ts';

const GOOD = { rttMs: 15, jitterMs: 5 };

describe('playout delay', () => {
  test('0 on a good path, the stream’s own delay on any other', () => {
    const delay = new PlayoutDelay(100);
    expect(delay.maxMs).toBe(0);
    expect(delay.onReport(GOOD, 0)).toBeNull();
    expect(delay.onReport({ rttMs: 16, jitterMs: 5 }, 1)).toEqual({ fromMs: 0, toMs: 100, reason: 'path' });
    expect(delay.onReport({ rttMs: null, jitterMs: 6 }, 2)).toBeNull();
    expect(delay.onReport(GOOD, 3)).toBeNull();
    expect(delay.onReport(GOOD, 2_001)).toBeNull();
    expect(delay.onReport(GOOD, 2_002)).toMatchObject({ fromMs: 100, toMs: 0 });
  });

  test('reports that alternate between good and bad change it once', () => {
    const delay = new PlayoutDelay(100);
    const changes = Array.from({ length: 1_000 }, (_, ms) =>
      delay.onReport({ rttMs: 1, jitterMs: ms % 2 ? 100 : 0 }, ms * 10),
    );
    expect(changes.filter(Boolean)).toEqual([{ fromMs: 0, toMs: 100, reason: 'path' }]);
  });

  test('one freeze disables 0/0 for 30 s', () => {
    const delay = new PlayoutDelay(50);
    expect(delay.onFreeze(0)).toMatchObject({ toMs: 50, reason: 'freeze' });
    expect(delay.onTick(29_999)).toBeNull();
    expect(delay.onTick(30_000)).toMatchObject({ fromMs: 50, toMs: 0, reason: 'calm' });
  });

  test('two freezes within 10 s add a step, at most three; 30 s without a freeze remove one', () => {
    const delay = new PlayoutDelay(10);
    for (let freeze = 0; freeze < 6; freeze++) delay.onFreeze(freeze * 1000);
    expect(delay.maxMs).toBe(10 + 3 * 25);
    expect(delay.onTick(34_999)).toBeNull();
    expect(delay.onTick(35_000)).toMatchObject({ toMs: 10 + 2 * 25 });
    expect(delay.onTick(65_000)).toMatchObject({ toMs: 10 + 25 });
    expect(delay.onTick(95_000)).toMatchObject({ toMs: 0 });
  });

  test('freezes further apart add no step', () => {
    const delay = new PlayoutDelay(40);
    delay.onFreeze(0);
    delay.onFreeze(10_001);
    expect(delay.maxMs).toBe(40);
  });

  test('never above three steps, never below zero', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2000 }),
        fc.array(fc.tuple(fc.constantFrom('freeze', 'tick', 'report'), fc.nat(20_000), fc.nat(40)), {
          maxLength: 60,
        }),
        (baseMs, steps) => {
          const delay = new PlayoutDelay(baseMs);
          let nowMs = 0;
          for (const [kind, passedMs, value] of steps) {
            nowMs += passedMs;
            if (kind === 'freeze') delay.onFreeze(nowMs);
            else if (kind === 'tick') delay.onTick(nowMs);
            else delay.onReport({ rttMs: value, jitterMs: value / 4 }, nowMs);
            expect(delay.maxMs).toBeGreaterThanOrEqual(0);
            expect(delay.maxMs).toBeLessThanOrEqual(baseMs + 3 * Math.max(baseMs, 25));
          }
        },
      ),
    );
  });
});
