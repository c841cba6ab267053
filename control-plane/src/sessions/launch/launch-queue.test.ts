import { expect, test } from 'vitest';
import { LaunchQueue } from './launch-queue.ts';

interface Job {
  n: number;
}

/** Adds jobs of these users, and settles each hand-out only when asked. */
function queueOf() {
  const handedOut: number[][] = [];
  const settled: (() => void)[] = [];
  const queue = new LaunchQueue<Job>((jobs) => {
    handedOut.push(jobs.map(({ n }) => n));
    return new Promise((resolve) => settled.push(resolve));
  });
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return {
    handedOut,
    turn,
    add: (...userIds: string[]) => {
      for (const n of userIds.keys()) queue.add({ n });
    },
    settle: () => {
      settled.shift()?.();
      return turn();
    },
  };
}

test('launches of one turn go together, in the order in which they came', async () => {
  const queue = queueOf();
  queue.add('a', 'b', 'c');
  await queue.turn();
  expect(queue.handedOut).toEqual([[0, 1, 2]]);
});

test('those of one user go together too, and what comes meanwhile goes next', async () => {
  const queue = queueOf();
  queue.add('a', 'a', 'b', 'a');
  await queue.turn();
  queue.add('a', 'c');
  await queue.settle();
  expect(queue.handedOut).toEqual([
    [0, 1, 2, 3],
    [0, 1],
  ]);
});

test('no more than 64 go together', async () => {
  const queue = queueOf();
  queue.add(...Array.from({ length: 70 }, (_, n) => `user${n}`));
  await queue.turn();
  await queue.settle();
  expect(queue.handedOut.map((jobs) => jobs.length)).toEqual([64, 6]);
});

test('what comes after a rest goes at once', async () => {
  const queue = queueOf();
  queue.add('a');
  await queue.turn();
  await queue.settle();
  queue.add('a');
  await queue.turn();
  expect(queue.handedOut).toEqual([[0], [0]]);
});
