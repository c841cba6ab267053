import { systemRandom } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../platform/errors.ts';
import { createPasswordHasher, type HashRequest } from './password-hasher.ts';

/** Production parameters for a machine with one core. */
const ONE_CORE = { parallel: 1, waiting: 64, knownOnly: 16, perAddress: 2 };
const CHEAP = { memoryCost: 8, timeCost: 1, parallelism: 1 };
const password = 'a long enough one';

describe('the queue of hashes', () => {
  /** Sends all requests at the same time. @returns true for each request that got a place */
  async function placesOf(requests: readonly HashRequest[]): Promise<boolean[]> {
    const hasher = createPasswordHasher(systemRandom, ONE_CORE, CHEAP);
    const waits = requests.map((request) =>
      hasher.hash(password, request).then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'rate_limited', extras: { retryAfterSecs: 1 } });
          expect(error).toBeInstanceOf(ApiError);
          return false;
        },
      ),
    );
    return Promise.all(waits);
  }
  const from = (address: string, knownDevice = false): HashRequest => ({ addressKey: address, knownDevice });
  const many = (count: number, knownDevice: boolean, prefix: string) =>
    Array.from({ length: count }, (_, n) => from(`${prefix}${n}`, knownDevice));
  const granted = (places: readonly boolean[]): number => places.filter(Boolean).length;

  test('lets two of one address wait, with any account name', async () => {
    // The first request is hashed at once and needs no place in the queue.
    expect(await placesOf([from('z'), from('a'), from('a'), from('a'), from('b')])).toEqual([
      true,
      true,
      true,
      false,
      true,
    ]);
    expect(await placesOf([from('z'), from('a', true), from('a'), from('a', true)])).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('leaves 16 of its 64 places to known devices', async () => {
    const strangers = await placesOf([from('z'), ...many(100, false, 'a')]);
    expect(granted(strangers)).toBe(1 + 48);
    const places = await placesOf([from('z'), ...many(100, false, 'a'), ...many(40, true, 'b')]);
    expect(granted(places.slice(0, 101))).toBe(1 + 48);
    expect(granted(places.slice(101))).toBe(16);
  });

  test('has all 64 for known devices while no others wait', async () => {
    expect(granted(await placesOf([from('z'), ...many(100, true, 'a')]))).toBe(1 + 64);
  });

  test('frees each place when its hash begins', async () => {
    const hasher = createPasswordHasher(systemRandom, ONE_CORE, CHEAP);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([from('a'), from('a'), from('a')].map((request) => hasher.hash(password, request)));
    }
    const places = await placesOf([from('z'), ...many(48, false, 'a')]);
    expect(granted(places)).toBe(49);
  });
});
