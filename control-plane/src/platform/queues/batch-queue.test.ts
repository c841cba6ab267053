import { expect, test } from 'vitest';
import { BatchQueue } from './batch-queue.ts';

/** A queue of numbers whose batches end only when the test ends them. */
function setUp() {
  const batches: number[][] = [];
  const ends: (() => void)[] = [];
  const queue = new BatchQueue<number>(
    (jobs) => {
      batches.push([...jobs]);
      return new Promise((resolve) => ends.push(resolve));
    },
    { max: 64 },
  );
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return {
    batches,
    queue,
    turn,
    add: (...jobs: number[]) => {
      for (const job of jobs) queue.add(job);
    },
    end: () => {
      ends.shift()?.();
      return turn();
    },
  };
}

test('jobs of one turn form a batch, in the order in which they came', async () => {
  const { add, batches, turn } = setUp();
  add(1, 2, 3);
  await turn();
  expect(batches).toEqual([[1, 2, 3]]);
});

test('jobs that come during a batch form the next one', async () => {
  const { add, batches, end, turn } = setUp();
  add(1, 2);
  await turn();
  add(3);
  await turn();
  add(4);
  expect(batches).toEqual([[1, 2]]);
  await end();
  expect(batches).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test('a batch has at most the given number of jobs', async () => {
  const { add, batches, end, turn } = setUp();
  add(...Array.from({ length: 70 }, (_, n) => n));
  await turn();
  await end();
  expect(batches.map((jobs) => jobs.length)).toEqual([64, 6]);
});

test('a job after a pause is handled, and the queue is idle when its batch has ended', async () => {
  const { add, batches, end, queue, turn } = setUp();
  add(1);
  await turn();
  await end();
  await queue.idle();
  add(1);
  await turn();
  expect(batches).toEqual([[1], [1]]);
});
