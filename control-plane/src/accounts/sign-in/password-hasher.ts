import { availableParallelism } from 'node:os';
import type { Random } from '@footlight/platform';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { rateLimited } from '../../platform/limits.ts';
import { createTally } from '../../platform/tally.ts';

/** What one new hash costs: memory in KiB, passes over it, and lanes. */
export interface HashCost {
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/** argon2id with 64 MiB and three passes over two lanes. Source: RFC 9106; the salt and key lengths it recommends. */
export const HASH_COST: HashCost = { memoryCost: 65_536, timeCost: 3, parallelism: 2 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/**
 * Hash of a random password that nobody kept at the cost above. Verifying against it takes as long as
 * verifying against a real one, so that an unknown email answers no faster than a known one.
 */
const DUMMY_HASH =
  '$argon2id$v=19$m=65536,t=3,p=2$PO2u2/EYkU7rG6Wf7fiDHg$AjnaQykvGpOrBT/9FrsgxlUusznlggOKJFLbzO9ieCQ';

/** A hash like any other for which nobody knows a password, at no cost. */
export function hashOfNothing(random: Random): string {
  const { memoryCost, timeCost, parallelism } = HASH_COST;
  const [salt, key] = [SALT_BYTES, KEY_BYTES].map((bytes) =>
    random.bytes(bytes).toString('base64').replace(/=+$/, ''),
  );
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${salt}$${key}`;
}

export interface HashQueueShape {
  /** Hashes that run at once; each takes 64 MiB and a core. */
  parallel: number;
  /** Those that may wait; one more is refused. */
  waiting: number;
  /** Of the waiting places, those that only requests of known devices get. */
  knownOnly: number;
  /** How many requests of one address may wait. */
  perAddress: number;
}

/**
 * As many at once as there are cores, and a bounded queue behind them. One address gets two places, so that a few
 * addresses cannot fill it. Many addresses can, and leave 16 places to people who come from a device of theirs.
 */
const HASH_QUEUE: HashQueueShape = {
  parallel: availableParallelism(),
  waiting: 64,
  knownOnly: 16,
  perAddress: 2,
};

/** Who waits for a hash. */
export interface HashRequest {
  addressKey: string;
  /** The request comes from a device of the account that it is about, and that device is not signed out. */
  knownDevice: boolean;
}

/** Hashes and verifies passwords through one bounded queue. */
export interface PasswordHasher {
  /** @returns a PHC string; @throws ApiError rate_limited when there is no place for the request */
  hash(password: string, request: HashRequest): Promise<string>;
  /** The same for the service itself, which waits for nobody and is not refused. */
  hashOwn(password: string): Promise<string>;
  /**
   * @param storedHash null: verifies against the dummy, and answers false whatever came out
   * @throws ApiError rate_limited when there is no place for the request
   */
  verify(storedHash: string | null, password: string, request: HashRequest): Promise<boolean>;
}

export function createPasswordHasher(
  random: Random,
  shape: HashQueueShape = HASH_QUEUE,
  cost: HashCost = HASH_COST,
): PasswordHasher {
  const slots = pLimit(shape.parallel);
  /** Waiting requests by address. Bounded by the queue. */
  const waiting = createTally();
  let strangers = 0;

  async function enqueue<T>(work: () => Promise<T>, { addressKey, knownDevice }: HashRequest): Promise<T> {
    // The counts only change in turns of the event loop, so no two callers can take the same last place.
    if (slots.activeCount + slots.pendingCount < shape.parallel) return slots(work);
    if (
      waiting.total >= shape.waiting ||
      waiting.of(addressKey) >= shape.perAddress ||
      (!knownDevice && strangers >= shape.waiting - shape.knownOnly)
    ) {
      throw rateLimited(1_000);
    }
    const leave = waiting.begin(addressKey);
    if (!knownDevice) strangers += 1;
    return slots(() => {
      leave();
      if (!knownDevice) strangers -= 1;
      return work();
    });
  }

  const makeHash = (password: string): Promise<string> =>
    hash(password, { ...cost, outputLen: KEY_BYTES, salt: random.bytes(SALT_BYTES) });

  return {
    hash: (password, request) => enqueue(() => makeHash(password), request),
    hashOwn: makeHash,
    verify: async (storedHash, password, request) => {
      const matches = await enqueue(() => verify(storedHash ?? DUMMY_HASH, password), request);
      return storedHash !== null && matches;
    },
  };
}
