import { EventEmitter, once } from 'node:events';
import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { batchReads, coalesceReads, MAX_WAIT_MS } from './batch-reads.ts';

const values = new Map([
  ['a', 1],
  ['b', 2],
]);

describe('look-ups of one turn', () => {
  test('share a query, each gets what its key names', async () => {
    const asked: (readonly string[])[] = [];
    const find = batchReads(async (keys: readonly string[]) => {
      asked.push(keys);
      return values;
    });
    expect(await Promise.all([find('a'), find('b'), find('a'), find('none')])).toEqual([1, 2, 1, undefined]);
    expect(asked).toEqual([['a', 'b', 'none']]);
  });

  test('see what was written before they were asked for, even while an earlier one is under way', async () => {
    let stored = 1;
    const slow = new EventEmitter();
    let reads = 0;
    const clock = new ManualClock();
    const find = batchReads(
      async () => {
        reads += 1;
        const seen = new Map([['a', stored]]);
        if (reads === 1) await once(slow, 'over');
        return seen;
      },
      { clock },
    );
    const early = find('a');
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    stored = 2;
    const late = find('a');
    clock.advance(MAX_WAIT_MS);
    expect(await late).toBe(2);
    slow.emit('over');
    expect(await early).toBe(1);
  });

  test('fail together with their query, and the next one is asked again', async () => {
    let broken = true;
    const find = batchReads(async () => {
      if (broken) throw new Error('away');
      return values;
    });
    const both = await Promise.allSettled([find('a'), find('b')]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    broken = false;
    expect(await find('b')).toBe(2);
  });

  test('gather behind a query that is under way', async () => {
    const slow = new EventEmitter();
    const asked: (readonly string[])[] = [];
    const find = batchReads(
      async (keys: readonly string[]) => {
        asked.push(keys);
        if (asked.length === 1) await once(slow, 'over');
        return new Map(keys.map((key) => [key, key]));
      },
      { clock: new ManualClock() },
    );
    const found: Promise<string | undefined>[] = [];
    for (const key of ['a', 'b', 'c', 'd', 'c']) {
      found.push(find(key));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(asked).toEqual([['a']]);
    slow.emit('over');
    expect(await Promise.all(found)).toEqual(['a', 'b', 'c', 'd', 'c']);
    expect(asked).toEqual([['a'], ['b', 'c', 'd']]);
  });

  test('are cut into queries of at most 256 keys', async () => {
    const sizes: number[] = [];
    const find = batchReads(async (keys: readonly number[]) => {
      sizes.push(keys.length);
      return new Map(keys.map((key) => [key, key]));
    });
    const found = await Promise.all(Array.from({ length: 600 }, (_, key) => find(key)));
    expect(found).toEqual(Array.from({ length: 600 }, (_, key) => key));
    expect(sizes).toEqual([256, 256, 88]);
  });

  test('without a key share one read, and those after it make another', async () => {
    let reads = 0;
    const read = coalesceReads(async () => {
      reads += 1;
      return reads;
    });
    expect(await Promise.all([read(), read()])).toEqual([1, 1]);
    expect(await read()).toBe(2);
  });
});
