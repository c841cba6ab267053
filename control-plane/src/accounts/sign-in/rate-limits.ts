import type { Clock } from '@footlight/platform';
import { type Limiter, LimiterKeys, rateLimited } from '../../platform/limits.ts';
import { createTally } from '../../platform/tally.ts';

export interface BucketShape {
  /** Size of the burst. */
  capacity: number;
  /** Refill time of one request. */
  refillEveryMs: number;
}

/** Register and login share one bucket per client address. */
export const SIGN_IN_BUCKET: BucketShape = { capacity: 10, refillEveryMs: 5_000 };

/** Bucket per user for measurements, and another for password changes. */
export const PER_USER_BUCKET: BucketShape = { capacity: 5, refillEveryMs: 10_000 };

/** Failed logins of one account name, from all addresses. */
export const FAILED_LOGIN_BUCKET: BucketShape = { capacity: 20, refillEveryMs: 60_000 };

/** Log lines per address about failed claims: one a minute. */
export const CLAIM_LOG_BUCKET: BucketShape = { capacity: 1, refillEveryMs: 60_000 };

export interface TokenBuckets extends Limiter {
  /** Takes one request. @returns 0: taken; otherwise nothing was taken and this many milliseconds remain */
  tryTake(key: string): number;
  /** Returns a taken request that shall not count. */
  giveBack(key: string): void;
}

/**
 * Exact token buckets. A bucket is stored as the time at which it will be full, so it needs no rounding and no timer;
 * an evicted key has a full bucket.
 */
export function createTokenBuckets(shape: BucketShape, clock: Pick<Clock, 'monotonicMs'>): TokenBuckets {
  const { capacity, refillEveryMs } = shape;
  /** Milliseconds until the next request passes. */
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

/** One login before its password is compared. */
interface LoginAttempt {
  /** The login did not fail: the password was right, or was not compared. */
  spare(): void;
}

export interface LoginGuesses {
  /** @throws ApiError rate_limited, unless the login comes from a known device */
  admit(accountName: string, knownDevice: boolean): LoginAttempt;
}

/**
 * Limits guesses of one password from many addresses. Every login counts as failed until its password is right, so
 * concurrent logins cannot exceed the limit. Unknown names are counted alike.
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
  /** Rejected tokens after which an address must pause. */
  maxRejected: number;
  /** The pause, counted from the last admitted attempt. */
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

/** State of an address. */
interface Rejected {
  count: number;
  /** Time of its last admitted attempt. */
  lastMs: number;
}

/** One admitted attempt to claim the instance. */
interface ClaimAttempt {
  /** The token was right: resets the address. */
  accepted(): void;
  /** The answer was sent. A second call does nothing. */
  done(): void;
}

export interface ClaimLimiter {
  /** @throws ApiError rate_limited; the decision does not read the token */
  admit(addressKey: string): ClaimAttempt;
}

/**
 * Limits guesses of the setup token. Every admitted attempt counts as rejected until its token is right, so
 * concurrent attempts cannot exceed the limit.
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
