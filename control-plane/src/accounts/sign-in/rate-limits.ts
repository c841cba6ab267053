import type { Clock } from '@footlight/platform';
import { type Limiter, LimiterKeys, rateLimited } from '../../platform/limits.ts';
import { createTally } from '../../platform/tally.ts';

export interface BucketShape {
  /** Requests that may come at once. */
  capacity: number;
  /** One more becomes free in this time. */
  refillEveryMs: number;
}

/** Register and login share one bucket per client address. */
export const SIGN_IN_BUCKET: BucketShape = { capacity: 10, refillEveryMs: 5_000 };

/** Posting a measurement and changing the password: each a bucket per user. */
export const PER_USER_BUCKET: BucketShape = { capacity: 5, refillEveryMs: 10_000 };

/** Failed logins of one account name, from wherever they come. */
export const FAILED_LOGIN_BUCKET: BucketShape = { capacity: 20, refillEveryMs: 60_000 };

/** The log says of one address once a minute that it tries to claim the instance. */
export const CLAIM_LOG_BUCKET: BucketShape = { capacity: 1, refillEveryMs: 60_000 };

export interface TokenBuckets extends Limiter {
  /** Takes one request. @returns milliseconds until the next one passes, and takes nothing then; 0: taken */
  tryTake(key: string): number;
  /** Gives back what was taken: the request does not count after all. */
  giveBack(key: string): void;
}

/**
 * Exact token buckets. A bucket is remembered as the instant at which it will be full again, which needs no rounding
 * and no timer; a key that was forgotten has a full bucket.
 */
export function createTokenBuckets(shape: BucketShape, clock: Pick<Clock, 'monotonicMs'>): TokenBuckets {
  const { capacity, refillEveryMs } = shape;
  /** Milliseconds until one more request passes. */
  const waitMs = (fullAtMs: number, nowMs: number): number =>
    Math.max(fullAtMs, nowMs) - nowMs - (capacity - 1) * refillEveryMs;
  const fullAt = new LimiterKeys<number>((fullAtMs, nowMs) => waitMs(fullAtMs, nowMs) > 0);

  function tryTake(key: string): number {
    const nowMs = clock.monotonicMs();
    const fullAtMs = fullAt.get(key, nowMs) ?? nowMs;
    const refusedForMs = waitMs(fullAtMs, nowMs);
    if (refusedForMs > 0) return refusedForMs;
    fullAt.set(key, Math.max(nowMs, fullAtMs) + refillEveryMs, nowMs);
    return 0;
  }

  return {
    tryTake,
    take(key) {
      const refusedForMs = tryTake(key);
      if (refusedForMs > 0) throw rateLimited(refusedForMs);
    },
    giveBack(key) {
      const nowMs = clock.monotonicMs();
      const fullAtMs = fullAt.get(key, nowMs);
      if (fullAtMs !== undefined) fullAt.set(key, fullAtMs - refillEveryMs, nowMs);
    },
  };
}

/** One login whose password will be compared. */
interface LoginAttempt {
  /** It did not fail: the password was right, or it was not compared at all. */
  spare(): void;
}

export interface LoginGuesses {
  /** @throws ApiError rate_limited, unless the login comes from a device that the account knows */
  admit(accountName: string, knownDevice: boolean): LoginAttempt;
}

/**
 * Slows down guessing of one password from many addresses. Every login counts as failed until it is known to be right,
 * so that logins running at once cannot exceed the limit together. Names that have no account are counted alike.
 */
export function createLoginGuesses(shape: BucketShape, clock: Pick<Clock, 'monotonicMs'>): LoginGuesses {
  const buckets = createTokenBuckets(shape, clock);
  return {
    admit(accountName, knownDevice) {
      const refusedForMs = buckets.tryTake(accountName);
      if (refusedForMs > 0 && !knownDevice) throw rateLimited(refusedForMs);
      return { spare: () => refusedForMs === 0 && buckets.giveBack(accountName) };
    },
  };
}

export interface ClaimLimits {
  /** Rejected tokens after which an address waits. */
  maxRejected: number;
  /** How long it waits, counted from its last admitted attempt. */
  pauseMs: number;
  inFlightPerAddress: number;
  inFlightTotal: number;
}

export const CLAIM_LIMITS: ClaimLimits = {
  maxRejected: 10,
  pauseMs: 60_000,
  inFlightPerAddress: 10,
  inFlightTotal: 256,
};

/** What is remembered of an address. */
interface Rejected {
  count: number;
  /** Of its last admitted attempt. */
  lastMs: number;
}

/** One admitted attempt to claim the instance. */
interface ClaimAttempt {
  /** The token was right: the address starts afresh. */
  accepted(): void;
  /** The answer is out, whatever it was. Calling it again does nothing. */
  done(): void;
}

export interface ClaimLimiter {
  /** @throws ApiError rate_limited; the decision never looks at the presented token */
  admit(addressKey: string): ClaimAttempt;
}

/**
 * Slows down guessing of the setup token. Every admitted attempt counts as rejected until it is known to be right, so
 * that attempts running beside each other cannot exceed the limit together.
 */
export function createClaimLimiter(limits: ClaimLimits, clock: Pick<Clock, 'monotonicMs'>): ClaimLimiter {
  const pauseLeftMs = ({ count, lastMs }: Rejected, nowMs: number): number =>
    count < limits.maxRejected ? 0 : Math.max(0, lastMs + limits.pauseMs - nowMs);
  const rejected = new LimiterKeys<Rejected>((entry, nowMs) => pauseLeftMs(entry, nowMs) > 0);
  // Bounded by inFlightTotal.
  const inFlight = createTally();

  return {
    admit(addressKey) {
      const nowMs = clock.monotonicMs();
      const running = inFlight.of(addressKey);
      if (running >= limits.inFlightPerAddress || inFlight.total >= limits.inFlightTotal)
        throw rateLimited(1);
      const known = rejected.get(addressKey, nowMs);
      const refusedForMs = known === undefined ? 0 : pauseLeftMs(known, nowMs);
      if (refusedForMs > 0) throw rateLimited(refusedForMs);
      const expired = known === undefined || nowMs - known.lastMs >= limits.pauseMs;
      rejected.set(addressKey, { count: expired ? 1 : known.count + 1, lastMs: nowMs }, nowMs);
      return {
        accepted() {
          rejected.delete(addressKey);
        },
        done: inFlight.begin(addressKey),
      };
    },
  };
}
