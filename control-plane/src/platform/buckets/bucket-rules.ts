/** Decides when a request to a token bucket must wait. Pure; token-buckets.ts stores the states. */

export interface BucketShape {
  /** Maximum requests in a burst. */
  capacity: number;
  /** Time after which one more request is allowed. */
  refillEveryMs: number;
}

/** A refusal with the wait until a retry can succeed, or the state after an accepted request. */
export type LimitVerdict<State> = { waitMs: number } | { next: State };

/**
 * Milliseconds until the next request is accepted; 0 or less: now.
 * @param fullAtMs time at which the bucket will be full. A bucket stores nothing else, so it needs no rounding and no
 *   timer
 */
export const bucketWaitMs = (
  { capacity, refillEveryMs }: BucketShape,
  fullAtMs: number,
  nowMs: number,
): number => Math.max(fullAtMs, nowMs) - nowMs - (capacity - 1) * refillEveryMs;

/** Decides about one request to a bucket. @param fullAtMs undefined: the bucket is full */
export function judgeRequest(
  shape: BucketShape,
  fullAtMs: number | undefined,
  nowMs: number,
): LimitVerdict<number> {
  const full = fullAtMs ?? nowMs;
  const waitMs = bucketWaitMs(shape, full, nowMs);
  return waitMs > 0 ? { waitMs } : { next: Math.max(nowMs, full) + shape.refillEveryMs };
}
