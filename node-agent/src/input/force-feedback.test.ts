import { RUMBLE_MAX_MS } from '@footlight/protocol/input';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EffectMixer } from './force-feedback.ts';

const effect = (strong: number, weak: number, lengthMs: number, delayMs = 0) => ({
  strong,
  weak,
  lengthMs,
  delayMs,
});

describe('rumble orders', () => {
  test('a played effect gives one order, for its length', () => {
    const mixer = new EffectMixer();
    mixer.upload(0, effect(100, 50, 300));
    expect(mixer.order(0)).toBeNull();
    mixer.play(0, 1, 0);
    expect(mixer.order(0)).toEqual({ strong: 100, weak: 50, durationMs: 300 });
    expect(mixer.order(100)).toBeNull();
    expect(mixer.order(300)).toEqual({ strong: 0, weak: 0, durationMs: 0 });
    expect(mixer.order(310)).toBeNull();
  });

  test('a stopped effect is a stop', () => {
    const mixer = new EffectMixer();
    mixer.upload(0, effect(100, 50, 300));
    mixer.play(0, 1, 0);
    mixer.order(0);
    mixer.play(0, 0, 10);
    expect(mixer.order(10)).toEqual({ strong: 0, weak: 0, durationMs: 0 });
  });

  test('an erased effect stops', () => {
    const mixer = new EffectMixer();
    mixer.upload(0, effect(100, 50, 0));
    mixer.play(0, 1, 0);
    mixer.order(0);
    mixer.erase(0);
    expect(mixer.order(10)?.durationMs).toBe(0);
  });

  test('an endless effect is ordered for 5 s and renewed before they are over', () => {
    const mixer = new EffectMixer();
    mixer.upload(0, effect(7, 8, 0));
    mixer.play(0, 1, 0);
    expect(mixer.order(0)?.durationMs).toBe(RUMBLE_MAX_MS);
    expect(mixer.order(4_499)).toBeNull();
    expect(mixer.order(4_500)).toEqual({ strong: 7, weak: 8, durationMs: RUMBLE_MAX_MS });
  });

  test('repeats and delays are included', () => {
    const mixer = new EffectMixer();
    mixer.upload(1, effect(1, 1, 100, 50));
    mixer.play(1, 3, 0);
    expect(mixer.order(40)).toBeNull();
    expect(mixer.order(50)?.durationMs).toBe(300);
  });

  test('strengths of several effects add up, to the strongest at most', () => {
    const mixer = new EffectMixer();
    mixer.upload(0, effect(0xf000, 1, 100));
    mixer.upload(1, effect(0xf000, 2, 200));
    mixer.play(0, 1, 0);
    mixer.play(1, 1, 0);
    expect(mixer.order(0)).toEqual({ strong: 0xffff, weak: 3, durationMs: 200 });
    expect(mixer.order(100)).toEqual({ strong: 0xf000, weak: 2, durationMs: 100 });
  });

  test('gain scales all effects', () => {
    const mixer = new EffectMixer();
    mixer.upload(0, effect(1000, 500, 100));
    mixer.setGain(0x8000);
    mixer.play(0, 1, 0);
    expect(mixer.order(0)).toMatchObject({ strong: 500, weak: 250 });
  });

  test('for any requests of apps orders stay in range, and the last one of a silent pad is a stop', () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('upload' as const),
        id: fc.nat(3),
        strong: fc.nat(0xffff),
        length: fc.nat(0xffff),
      }),
      fc.record({ do: fc.constant('play' as const), id: fc.nat(3), times: fc.integer({ min: -2, max: 3 }) }),
      fc.record({ do: fc.constant('erase' as const), id: fc.nat(3) }),
      fc.record({ do: fc.constant('gain' as const), gain: fc.integer({ min: -9, max: 99_999 }) }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat(3_000))), (steps) => {
        const mixer = new EffectMixer();
        let nowMs = 0;
        let last = 0;
        const look = () => {
          const order = mixer.order(nowMs);
          if (!order) return;
          last = order.durationMs;
          expect(order.strong).toBeLessThanOrEqual(0xffff);
          expect(order.strong).toBeGreaterThanOrEqual(0);
          expect(order.durationMs).toBeLessThanOrEqual(RUMBLE_MAX_MS);
          expect(order.durationMs === 0).toBe(order.strong === 0 && order.weak === 0);
        };
        for (const [next, waitMs] of steps) {
          if (next.do === 'upload') mixer.upload(next.id, effect(next.strong, next.strong, next.length));
          else if (next.do === 'play') mixer.play(next.id, next.times, nowMs);
          else if (next.do === 'erase') mixer.erase(next.id);
          else mixer.setGain(next.gain);
          nowMs += waitMs;
          look();
        }
        for (const id of [0, 1, 2, 3]) mixer.erase(id);
        look();
        expect(last).toBe(0);
      }),
    );
  });
});
