import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { ApiError } from '../platform/errors.ts';
import type { Random } from '../platform/random.ts';

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
}

/** As many at once as there are cores, and a bounded line behind them. */
const HASH_QUEUE: HashQueueShape = { parallel: availableParallelism(), waiting: 64 };

/** Hashes and verifies passwords through one bounded queue. */
export interface PasswordHasher {
  /** @returns a PHC string; @throws ApiError rate_limited when the queue is full */
  hash(password: string): Promise<string>;
  /**
   * @param storedHash null: verifies against the dummy, and answers false whatever came out
   * @throws ApiError rate_limited when the queue is full
   */
  verify(storedHash: string | null, password: string): Promise<boolean>;
}

export function createPasswordHasher(
  random: Random,
  shape: HashQueueShape = HASH_QUEUE,
  cost: HashCost = HASH_COST,
): PasswordHasher {
  const slots = pLimit(shape.parallel);

  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    // Both counts only change in turns of the event loop, so no two callers can take the same last place.
    if (slots.activeCount + slots.pendingCount >= shape.parallel + shape.waiting) {
      throw new ApiError('rate_limited', { retryAfterSecs: 1 });
    }
    return slots(work);
  }

  return {
    hash: async (password) =>
      enqueue(() => hash(password, { ...cost, outputLen: KEY_BYTES, salt: random.bytes(SALT_BYTES) })),
    verify: async (storedHash, password) => {
      const matches = await enqueue(() => verify(storedHash ?? DUMMY_HASH, password));
      return storedHash !== null && matches;
    },
  };
}
