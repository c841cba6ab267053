import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import { ApiError } from '../platform/errors.ts';
import { createTally } from '../platform/tally.ts';

/** Keys that one limiter remembers; the least recently used is forgotten first. */
const MAX_KEYS = 4096;

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

/** Takes one request for a key, or refuses it. */
export interface TokenBuckets {
  /** @throws ApiError rate_limited with the whole seconds until the next request passes */
  take(key: string): void;
}

/**
 * Exact token buckets. A bucket is remembered as the instant at which it will be full again, which needs no rounding
 * and no timer; a key that was forgotten has a full bucket.
 */
export function createTokenBuckets(shape: BucketShape, clock: Clock): TokenBuckets {
  const { capacity, refillEveryMs } = shape;
  const fullAtMs = new LRUCache<string, number>({ max: MAX_KEYS });
  return {
    take(key) {
      const nowMs = clock.monotonicMs();
      const nextFullAtMs = Math.max(nowMs, fullAtMs.get(key) ?? nowMs) + refillEveryMs;
      const waitMs = nextFullAtMs - nowMs - capacity * refillEveryMs;
      if (waitMs > 0) throw limited(waitMs);
      fullAtMs.set(key, nextFullAtMs);
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
export function createClaimLimiter(limits: ClaimLimits, clock: Clock): ClaimLimiter {
  const rejected = new LRUCache<string, { count: number; lastMs: number }>({ max: MAX_KEYS });
  // Bounded by inFlightTotal.
  const inFlight = createTally();

  return {
    admit(addressKey) {
      const nowMs = clock.monotonicMs();
      const running = inFlight.of(addressKey);
      if (running >= limits.inFlightPerAddress || inFlight.total >= limits.inFlightTotal) throw limited(1);
      const known = rejected.get(addressKey);
      const expired = known === undefined || nowMs - known.lastMs >= limits.pauseMs;
      const count = expired ? 0 : known.count;
      if (!expired && count >= limits.maxRejected) throw limited(known.lastMs + limits.pauseMs - nowMs);
      rejected.set(addressKey, { count: count + 1, lastMs: nowMs });
      return {
        accepted() {
          rejected.delete(addressKey);
        },
        done: inFlight.begin(addressKey),
      };
    },
  };
}

function limited(waitMs: number): ApiError {
  return new ApiError('rate_limited', { retryAfterSecs: Math.max(1, Math.ceil(waitMs / 1000)) });
}
