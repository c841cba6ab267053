import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import { HomeLocks } from './home-locks.ts';

describe('one holder per home', () => {
  const never = new AbortController().signal;

  test('later sessions wait in order', async () => {
    const locks = new HomeLocks(new ManualClock());
    const first = locks.tryTake('h');
    const order: string[] = [];
    const second = locks.take('h', 30_000, never).then((release) => order.push('second') && release);
    const third = locks.take('h', 30_000, never).then((release) => order.push('third') && release);
    expect(locks.tryTake('h')).toBeNull();
    expect(locks.tryTake('other')).not.toBeNull();
    first?.();
    first?.();
    const release = await second;
    expect(order).toEqual(['second']);
    if (typeof release === 'function') release();
    await third;
    expect(order).toEqual(['second', 'third']);
  });

  test('a home inside or around a held one is found', () => {
    const locks = new HomeLocks(new ManualClock());
    const release = locks.tryTake('/homes/alice/games');
    for (const nested of ['/homes/alice', '/homes/alice/games/one'])
      expect(locks.nestedWith(nested)).toBe('/homes/alice/games');
    for (const apart of ['/homes/alice/games', '/homes/alice/games2', '/homes/bob'])
      expect(locks.nestedWith(apart)).toBeNull();
    release?.();
    expect(locks.nestedWith('/homes/alice')).toBeNull();
  });

  test('the wait ends after its limit, or when the session does', async () => {
    const clock = new ManualClock();
    const locks = new HomeLocks(clock);
    const release = locks.tryTake('h');
    const late = locks.take('h', 30_000, never);
    const gone = new AbortController();
    const stopped = locks.take('h', 60_000, gone.signal);
    clock.advance(30_000);
    expect(await late).toBeNull();
    gone.abort();
    expect(await stopped).toBeNull();
    expect(clock.pendingTimers).toBe(0);
    release?.();
    expect(locks.tryTake('h')).not.toBeNull();
  });
});
