import { createLogger } from '@footlight/platform';
import { expect, test } from 'vitest';
import { ManualClock } from '../../testing/index.ts';
import { readAfterGaps } from './after-gaps.ts';
import { createInProcessBus } from './in-process.ts';
import { withOtherReplicas } from './testing/other-replicas.ts';

/** @param failing number of reads that fail */
function open(failing: number) {
  const clock = new ManualClock();
  const { bus, gap, listeners } = withOtherReplicas(
    createInProcessBus({ clock, logger: createLogger('silent') }),
  );
  const errors: unknown[] = [];
  let reads = 0;
  const subscription = readAfterGaps(
    { bus, clock },
    async () => {
      reads += 1;
      if (reads <= failing) throw new Error(`read ${reads}`);
    },
    (error) => errors.push(error),
  );
  return { clock, gap, listeners, subscription, errors, reads: () => reads };
}

test('a read that fails is repeated each second until it succeeds', async () => {
  const { clock, gap, errors, reads } = open(2);
  gap();
  await clock.pass(0);
  await clock.pass(999);
  expect(reads()).toBe(1);
  await clock.pass(1);
  expect(reads()).toBe(2);
  await clock.pass(60_000);
  expect(reads()).toBe(3);
  expect(errors).toEqual([new Error('read 1'), new Error('read 2')]);
});

test('each gap is read', async () => {
  const { clock, gap, reads } = open(0);
  gap();
  gap();
  await clock.pass(60_000);
  expect(reads()).toBe(2);
});

test('a caller that could not read lets it read in a second', async () => {
  const { clock, subscription, reads } = open(1);
  subscription.readLater();
  subscription.readLater();
  await clock.pass(999);
  expect(reads()).toBe(0);
  await clock.pass(1);
  expect(reads()).toBe(1);
  await clock.pass(60_000);
  expect(reads()).toBe(2);
});

test('after close nothing is read', async () => {
  const { clock, gap, listeners, subscription, reads } = open(Number.POSITIVE_INFINITY);
  gap();
  await clock.pass(0);
  gap();
  subscription.close();
  subscription.readLater();
  await clock.pass(60_000);
  expect(reads()).toBe(2);
  expect(listeners.size).toBe(0);
});
