import type { Clock } from '@footlight/platform';
import { type Limiter, LimiterKeys, rateLimited } from '../limits.ts';
import { type BucketShape, bucketWaitMs, judgeRequest } from './bucket-rules.ts';

export interface TokenBuckets extends Limiter {
  /**
   * Takes one token for a request. @returns 0: accepted; otherwise the milliseconds until a retry can succeed, and no
   * token was taken
   */
  tryTake(key: string): number;
  /** Undoes one `tryTake`, for a request that must not count. */
  giveBack(key: string): void;
}

/** Exact token buckets; an evicted key starts again with a full bucket. */
export function createTokenBuckets(shape: BucketShape, clock: Pick<Clock, 'monotonicMs'>): TokenBuckets {
  const fullAt = new LimiterKeys<number>((fullAtMs, nowMs) => bucketWaitMs(shape, fullAtMs, nowMs) > 0);

  function tryTake(key: string): number {
    const nowMs = clock.monotonicMs();
    const verdict = judgeRequest(shape, fullAt.get(key, nowMs), nowMs);
    if ('waitMs' in verdict) return verdict.waitMs;
    fullAt.set(key, verdict.next, nowMs);
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
      if (fullAtMs !== undefined) fullAt.set(key, fullAtMs - shape.refillEveryMs, nowMs);
    },
  };
}
