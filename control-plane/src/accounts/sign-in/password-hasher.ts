import { availableParallelism } from 'node:os';
import type { Random } from '@footlight/platform';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { createKeyedCount } from '../../platform/keyed-count.ts';
import { rateLimited } from '../../platform/limits.ts';

/** Cost of one new hash: memory in KiB, passes, lanes. */
export interface HashCost {
  memoryCost: number;
  timeCost: number;
  parallelism: number;
}

/**
 * argon2id with 64 MiB, three passes, two lanes, and the salt and key lengths that RFC 9106 recommends. Source: RFC
 * 9106, section 4.
 */
export const HASH_COST: HashCost = { memoryCost: 65_536, timeCost: 3, parallelism: 2 };
/** RFC 9106, 3.1 recommends at least 128 bits; 256 bits have no extra cost. */
const KEY_BYTES = 32;
/** RFC 9106, 3.1: 16 bytes are recommended for passwords. */
const SALT_BYTES = 16;

/**
 * Hash of an unknown random password at the cost above. A verification against it takes as long as one against a real
 * hash, so an unknown email is not answered faster than a known one.
 */
const DUMMY_HASH =
  '$argon2id$v=19$m=65536,t=3,p=2$PO2u2/EYkU7rG6Wf7fiDHg$AjnaQykvGpOrBT/9FrsgxlUusznlggOKJFLbzO9ieCQ';

/** Start of the hash of an account without a password. Salts of passwords are random, so none of them is zero. */
const NO_PASSWORD = `$argon2id$v=19$m=${HASH_COST.memoryCost},t=${HASH_COST.timeCost},p=${HASH_COST.parallelism}$${unpadded(Buffer.alloc(SALT_BYTES))}$`;

/** A hash that no known password matches. It is random and needs no hash computation. */
export function unusableHash(random: Random): string {
  return NO_PASSWORD + unpadded(random.bytes(KEY_BYTES));
}

/**
 * Whether the account has a password. The hash itself says so, because a release that does not know accounts without a
 * password may set one while replicas are upgraded.
 */
export const hasPassword = (storedHash: string): boolean => !storedHash.startsWith(NO_PASSWORD);

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

export interface HashQueueShape {
  /** Concurrent hashes; each hash needs 64 MiB and one core. */
  parallel: number;
  /** Maximum waiting hashes; a further request is refused. */
  waiting: number;
  /** Waiting places that only requests of known devices can use. */
  knownOnly: number;
  /** Maximum waiting requests of one address. */
  perAddress: number;
}

/**
 * One hash runs per core, and the queue is bounded. An address gets two places, so a few addresses cannot fill the
 * queue. Many addresses could fill it, so 16 places are reserved for known devices.
 */
const HASH_QUEUE: HashQueueShape = {
  parallel: availableParallelism(),
  waiting: 64,
  knownOnly: 16,
  perAddress: 2,
};

/** A request for a hash. */
export interface HashRequest {
  addressKey: string;
  /** The request comes from a signed-in device of its account. */
  knownDevice: boolean;
}

/** Hashes and verifies passwords through one bounded queue. */
export interface PasswordHasher {
  /** @returns a PHC string; @throws ApiError rate_limited when the queue is full */
  hash(password: string, request: HashRequest): Promise<string>;
  /** Computes a hash for the service itself without waiting in the queue. */
  hashOwn(password: string): Promise<string>;
  /**
   * @param storedHash null: verifies against the dummy hash and returns false
   * @throws ApiError rate_limited when the queue is full
   */
  verify(storedHash: string | null, password: string, request: HashRequest): Promise<boolean>;
}

export function createPasswordHasher(
  random: Random,
  shape: HashQueueShape = HASH_QUEUE,
  cost: HashCost = HASH_COST,
): PasswordHasher {
  const slots = pLimit(shape.parallel);
  /** Waiting requests by address. The queue's length bounds the number of keys. */
  const waiting = createKeyedCount();
  let strangers = 0;

  async function enqueue<T>(work: () => Promise<T>, { addressKey, knownDevice }: HashRequest): Promise<T> {
    // There is no await between check and use, so two callers cannot get the same last place.
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
