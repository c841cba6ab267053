import { expect, test } from 'vitest';
import { ManualClock } from '../testing/index.ts';
import { boundHeapGrowth, heapGrowthPercent } from './heap-growth.ts';

test('a large fleet lets the heap grow less than a small one', () => {
  expect([0, 1_999, 2_000, 10_000].map(heapGrowthPercent)).toEqual([150, 150, 30, 30]);
});

test('the engine is told when the fleet grows and shrinks past the mark, and not in between', async () => {
  const clock = new ManualClock();
  let agents = 0;
  const told: number[] = [];
  boundHeapGrowth(
    () => agents,
    clock,
    (percent) => told.push(percent),
  );
  for (const now of [1_000, 2_000, 9_000, 1_500, 0]) {
    agents = now;
    await clock.pass(1_000);
  }
  expect(told).toEqual([150, 30, 150]);
});
