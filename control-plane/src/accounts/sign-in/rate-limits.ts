import type { Clock } from '@footlight/platform';
import type { BucketShape } from '../../platform/buckets/bucket-rules.ts';
import { createTokenBuckets } from '../../platform/buckets/token-buckets.ts';
import { createKeyedCount } from '../../platform/keyed-count.ts';
import { LimiterKeys, rateLimited } from '../../platform/limits.ts';
import { type ClaimLimits, claimPauseMs, judgeClaim, type Rejected } from './limit-rules.ts';

/** Register and login share one bucket per client address. */
export const SIGN_IN_BUCKET: BucketShape = { capacity: 10, refillEveryMs: 5_000 };

/** One bucket per user for posted measurements, and a second one for password changes. */
export const PER_USER_BUCKET: BucketShape = { capacity: 5, refillEveryMs: 10_000 };

/** Bucket for failed logins of one account name, counted over all addresses. */
export const FAILED_LOGIN_BUCKET: BucketShape = { capacity: 20, refillEveryMs: 60_000 };

/** Bucket for log lines about failed claims: one per minute and address. */
export const CLAIM_LOG_BUCKET: BucketShape = { capacity: 1, refillEveryMs: 60_000 };

/** One login whose password is not compared yet. */
interface LoginAttempt {
  /** Returns the token to the bucket, because the password was right or was not compared. */
  spare(): void;
}

export interface LoginAttempts {
  /** @throws ApiError rate_limited, unless the login comes from a known device */
  admit(accountName: string, knownDevice: boolean): LoginAttempt;
}

/**
 * Limits guesses of one password from many addresses. Every login counts as failed until its password is right, so
 * concurrent logins cannot exceed the limit. Unknown account names are counted in the same way.
 */
export function createLoginAttempts(shape: BucketShape, clock: Pick<Clock, 'monotonicMs'>): LoginAttempts {
  const buckets = createTokenBuckets(shape, clock);
  return {
    admit(accountName, knownDevice) {
      const refusedForMs = buckets.tryTake(accountName);
      if (refusedForMs > 0 && !knownDevice) throw rateLimited(refusedForMs);
      return { spare: () => refusedForMs === 0 && buckets.giveBack(accountName) };
    },
  };
}

export const CLAIM_LIMITS: ClaimLimits = {
  maxRejected: 10,
  pauseMs: 60_000,
  inFlightPerAddress: 10,
  inFlightTotal: 256,
};

/** One admitted attempt to claim the instance. */
interface ClaimAttempt {
  /** The token was right; resets the count of the address. */
  accepted(): void;
  /** The answer was sent. A second call does nothing. */
  done(): void;
}

export interface ClaimLimiter {
  /** @throws ApiError rate_limited; the decision does not read the token */
  admit(addressKey: string): ClaimAttempt;
}

/** Limits guesses of the setup token. */
export function createClaimLimiter(limits: ClaimLimits, clock: Pick<Clock, 'monotonicMs'>): ClaimLimiter {
  const rejected = new LimiterKeys<Rejected>((entry, nowMs) => claimPauseMs(limits, entry, nowMs) > 0);
  // inFlightTotal bounds the number of keys.
  const inFlight = createKeyedCount();

  return {
    admit(addressKey) {
      const nowMs = clock.monotonicMs();
      const running = { address: inFlight.of(addressKey), total: inFlight.total };
      const verdict = judgeClaim(limits, rejected.get(addressKey, nowMs), running, nowMs);
      if ('waitMs' in verdict) throw rateLimited(verdict.waitMs);
      rejected.set(addressKey, verdict.next, nowMs);
      return {
        accepted() {
          rejected.delete(addressKey);
        },
        done: inFlight.begin(addressKey),
      };
    },
  };
}
