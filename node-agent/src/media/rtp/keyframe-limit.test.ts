import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyframeLimit } from './keyframe-limit.ts';

test('two at once, then the next as soon as the second has passed', () => {
  const limit = new KeyframeLimit();
  const ask = (nowMs: number) => {
    const waitMs = limit.request(nowMs);
    limit.onKeyframe();
    return waitMs;
  };
  expect(ask(0)).toBe(0);
  expect(ask(100)).toBe(0);
  expect(ask(400)).toBe(600);
  expect(ask(1_000)).toBe(0);
  expect(ask(1_050)).toBe(50);
});

test('a keyframe in the encoder also answers later requests', () => {
  const limit = new KeyframeLimit();
  expect(limit.request(0)).toBe(0);
  expect(limit.request(10)).toBeNull();
  limit.onKeyframe();
  expect(limit.request(40)).toBe(0);
});

test('an order that the encoder lost is repeated', () => {
  const limit = new KeyframeLimit();
  expect(limit.request(0)).toBe(0);
  expect(limit.request(249)).toBeNull();
  expect(limit.request(250)).toBe(0);
});

test('for any number of requests no second has more than two keyframes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.boolean()), { maxLength: 200 }),
      (asks) => {
        const limit = new KeyframeLimit();
        const made: number[] = [];
        let nowMs = 0;
        for (const [pauseMs, cameOut] of asks) {
          nowMs += pauseMs;
          if (cameOut) limit.onKeyframe();
          if (limit.request(nowMs) === 0) made.push(nowMs);
        }
        for (let i = 2; i < made.length; i++)
          expect((made[i] ?? 0) - (made[i - 2] ?? 0)).toBeGreaterThanOrEqual(1_000);
      },
    ),
  );
});
