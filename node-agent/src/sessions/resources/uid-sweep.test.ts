import { silentLogger } from '@footlight/platform';
import { ManualClock } from '@footlight/platform/testing';
import { beforeEach, expect, test } from 'vitest';
import { SWEEP_AGAIN_MS, SWEEP_WAIT_MS, UidSweep } from './uid-sweep.ts';

const PLACES = () => ({ keep: [], others: [] });

let clock: ManualClock;
let sweep: UidSweep;
/** Running searches, oldest first. The test ends each search and says whether the search was complete. */
let searches: { uid: number; end: (isComplete: boolean) => void; fail: () => void }[];
let freed: number[];

beforeEach(() => {
  clock = new ManualClock();
  searches = [];
  freed = [];
  const remove = (uid: number) =>
    new Promise<boolean>((end, fail) => searches.push({ uid, end, fail: () => fail(new Error('no find')) }));
  sweep = new UidSweep({ clock, logger: silentLogger(), openToAll: ['/tmp'], remove });
});

const settled = () => new Promise((resolve) => setImmediate(resolve));
const start = (uid: number) =>
  sweep.sweep(uid, PLACES, async () => {
    freed.push(uid);
  });

test('a quick search: the id is free at once', async () => {
  const swept = start(1);
  searches[0]?.end(true);
  expect(await swept).toBe(true);
  expect([freed, clock.pendingTimers]).toEqual([[], 0]);
});

test('a slow search delays the end of the session by a second, and holds the id until it is complete', async () => {
  const swept = start(1);
  clock.advance(SWEEP_WAIT_MS);
  expect(await swept).toBe(false);
  expect(freed).toEqual([]);
  searches[0]?.end(true);
  await settled();
  expect([freed, clock.pendingTimers]).toEqual([[1], 0]);
});

test('an incomplete or failed search is repeated until it is complete, one id after the other', async () => {
  const swept = [start(1), start(2)];
  searches[0]?.end(false);
  searches[1]?.fail();
  expect(await Promise.all(swept)).toEqual([false, false]);
  await settled();
  clock.advance(SWEEP_AGAIN_MS);
  await settled();
  expect(searches.map(({ uid }) => uid)).toEqual([1, 2, 1]);
  searches[2]?.end(false);
  await settled();
  expect(searches.map(({ uid }) => uid)).toEqual([1, 2, 1, 2]);
  searches[3]?.end(true);
  await settled();
  expect(freed).toEqual([2]);
  clock.advance(SWEEP_AGAIN_MS);
  await settled();
  searches[4]?.end(true);
  await settled();
  expect([freed, clock.pendingTimers]).toEqual([[2, 1], 0]);
});

test('no search starts after the end of the agent', async () => {
  const swept = start(1);
  searches[0]?.end(false);
  await swept;
  await settled();
  sweep.close();
  expect(clock.pendingTimers).toBe(0);
});
