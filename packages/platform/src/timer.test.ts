import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from './testing/index.ts';
import { pause } from './timer.ts';

let clock: ManualClock;
let stop: AbortController;
let isOver: boolean;
beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
  isOver = false;
});

const begin = () =>
  void pause(clock, 1_000, stop.signal).then(() => {
    isOver = true;
  });
const held = () => [clock.pendingTimers, getEventListeners(stop.signal, 'abort').length];

describe('a pause', () => {
  test('lasts its time, and frees its timer and its listener', async () => {
    begin();
    await clock.pass(999);
    expect([isOver, held()]).toEqual([false, [1, 1]]);
    await clock.pass(1);
    expect([isOver, held()]).toEqual([true, [0, 0]]);
  });

  test('ends when its signal aborts, and frees its timer and its listener', async () => {
    begin();
    stop.abort();
    await clock.pass(0);
    expect([isOver, held()]).toEqual([true, [0, 0]]);
  });

  test('ends at once if its signal is already aborted', async () => {
    stop.abort();
    begin();
    await clock.pass(0);
    expect([isOver, held()]).toEqual([true, [0, 0]]);
  });
});
