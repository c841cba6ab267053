import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyframeLimit } from './keyframe-limit.ts';

test('two at once, then as soon as the second is over', () => {
  const limit = new KeyframeLimit();
  expect(limit.ask(0)).toBe(0);
  expect(limit.ask(100)).toBe(0);
  expect(limit.ask(400)).toBe(600);
  expect(limit.ask(1_000)).toBe(0);
  expect(limit.ask(1_050)).toBe(50);
});

test('however often somebody asks, no second has more than two', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 }), (pauses) => {
      const limit = new KeyframeLimit();
      const made: number[] = [];
      let nowMs = 0;
      for (const pause of pauses) {
        nowMs += pause;
        if (limit.ask(nowMs) === 0) made.push(nowMs);
      }
      for (let i = 2; i < made.length; i++)
        expect((made[i] ?? 0) - (made[i - 2] ?? 0)).toBeGreaterThanOrEqual(1_000);
    }),
  );
});
