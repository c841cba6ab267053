/** When a request to a token bucket must wait. Pure; token-buckets.ts keeps the states. */

export interface BucketShape {
  /** Size of the burst. */
  capacity: number;
  /** Refill time of one request. */
  refillEveryMs: number;
}

/** A refusal with the wait until it can pass, or the state after it passed. */
export type LimitVerdict<State> = { waitMs: number } | { next: State };

/**
 * Milliseconds until the next request passes; 0 or less: now.
 * @param fullAtMs time at which the bucket will be full, which is all its state: it needs no rounding and no timer
 */
export const bucketWaitMs = (
  { capacity, refillEveryMs }: BucketShape,
  fullAtMs: number,
  nowMs: number,
): number => Math.max(fullAtMs, nowMs) - nowMs - (capacity - 1) * refillEveryMs;

/** One request to a bucket. @param fullAtMs undefined: a full bucket */
export function judgeRequest(
  shape: BucketShape,
  fullAtMs: number | undefined,
  nowMs: number,
): LimitVerdict<number> {
  const full = fullAtMs ?? nowMs;
  const waitMs = bucketWaitMs(shape, full, nowMs);
  return waitMs > 0 ? { waitMs } : { next: Math.max(nowMs, full) + shape.refillEveryMs };
}
