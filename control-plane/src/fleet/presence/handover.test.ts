import { silentLogger } from '@footlight/platform';
import { beforeEach, describe, expect, test } from 'vitest';
import { createInProcessBus } from '../../platform/bus/in-process.ts';
import { ManualClock } from '../../testing/index.ts';
import { Handover } from './handover.ts';

const CHECK_MS = 2_000;

describe('a replica that does not reach the database', () => {
  let clock: ManualClock;
  let reaches: { one: boolean; other: boolean };
  let sentAway: number;
  let one: Handover;

  beforeEach(() => {
    clock = new ManualClock();
    reaches = { one: true, other: true };
    sentAway = 0;
    const bus = createInProcessBus({ clock, logger: silentLogger() });
    const platform = { bus, clock, logger: silentLogger() };
    one = new Handover(
      platform,
      async () => reaches.one,
      () => {
        sentAway += 1;
      },
    );
    const other = new Handover(
      platform,
      async () => reaches.other,
      () => undefined,
    );
    one.start();
    other.start();
  });
  const checks = (count: number) => clock.pass(count * CHECK_MS);

  test('sends its hosts away once, after three checks, and accepts none until it reaches the database again', async () => {
    reaches.one = false;
    await checks(2);
    expect([sentAway, one.isActive]).toEqual([0, false]);
    await checks(1);
    expect([sentAway, one.isActive]).toEqual([1, true]);
    await checks(5);
    expect([sentAway, one.isActive]).toEqual([1, true]);
    reaches.one = true;
    await checks(1);
    expect([sentAway, one.isActive]).toEqual([1, false]);
  });

  test('keeps them when checks fail now and then', async () => {
    for (let n = 0; n < 5; n += 1) {
      reaches.one = false;
      await checks(2);
      reaches.one = true;
      await checks(1);
    }
    expect([sentAway, one.isActive]).toEqual([0, false]);
  });

  test('keeps them when no other replica reaches it, until one does', async () => {
    reaches.one = false;
    reaches.other = false;
    await checks(10);
    expect([sentAway, one.isActive]).toEqual([0, false]);
    reaches.other = true;
    await checks(1);
    await checks(1);
    expect([sentAway, one.isActive]).toEqual([1, true]);
  });

  test('accepts hosts again when the other replica also loses the database', async () => {
    reaches.one = false;
    await checks(3);
    reaches.other = false;
    await checks(2);
    expect(one.isActive).toBe(false);
  });
});
