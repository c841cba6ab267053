import { expect, test } from 'vitest';
import { batchWrites } from './batch-writes.ts';
import { Failed } from './individual-retry.ts';

test('calls of one turn of the event loop are one batch, and each gets its own result', async () => {
  const batches: number[][] = [];
  const call = batchWrites<number, string>(async (jobs) => {
    batches.push([...jobs]);
    return jobs.map((job) => (job === 2 ? new Failed(new Error('two is odd here')) : `done ${job}`));
  }, 3);
  const results = await Promise.allSettled([1, 2, 3, 4].map(call));
  expect(batches).toEqual([[1, 2, 3], [4]]);
  expect(results).toEqual([
    { status: 'fulfilled', value: 'done 1' },
    { status: 'rejected', reason: new Error('two is odd here') },
    { status: 'fulfilled', value: 'done 3' },
    { status: 'fulfilled', value: 'done 4' },
  ]);
});

test('an exception rejects all calls of its batch, and none of the next', async () => {
  let isAway = true;
  const call = batchWrites<number, number>(async (jobs) => {
    if (isAway) throw new Error('the database is away');
    return jobs;
  }, 3);
  const first = await Promise.allSettled([1, 2].map(call));
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isAway = false;
  expect(await call(3)).toBe(3);
});
