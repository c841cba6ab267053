import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../platform/clock.ts';
import { ApiError } from '../platform/errors.ts';
import { CLAIM_LIMITS, createClaimLimiter, createTokenBuckets, SIGN_IN_BUCKET } from './rate-limits.ts';

/** A clock that only moves when told to; limits use nothing but its monotonic side. */
function handClock() {
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    setTimeout: () => ({ cancel() {} }),
    setInterval: () => ({ cancel() {} }),
  };
  return {
    clock,
    advance(ms: number) {
      nowMs += ms;
    },
  };
}

/** Seconds to wait, or 0 when the request passed. */
function refusal(work: () => unknown): number {
  try {
    work();
    return 0;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'rate_limited') throw error;
    return error.extras.retryAfterSecs ?? -1;
  }
}

describe('register and login share one bucket per client address', () => {
  it('passes ten at once, refuses the eleventh with Retry-After 5, and frees one per 5 s', () => {
    const { clock, advance } = handClock();
    const buckets = createTokenBuckets(SIGN_IN_BUCKET, clock);
    for (let i = 0; i < 10; i += 1) expect(refusal(() => buckets.take('a'))).toBe(0);
    expect(refusal(() => buckets.take('a'))).toBe(5);
    expect(refusal(() => buckets.take('b'))).toBe(0);
    advance(4_999);
    expect(refusal(() => buckets.take('a'))).toBe(1);
    advance(1);
    expect(refusal(() => buckets.take('a'))).toBe(0);
    expect(refusal(() => buckets.take('a'))).toBe(5);
    advance(1_000_000);
    for (let i = 0; i < 10; i += 1) expect(refusal(() => buckets.take('a'))).toBe(0);
    expect(refusal(() => buckets.take('a'))).toBe(5);
  });

  it('never passes more than the capacity plus what refilled, in any window of any schedule', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }), (pauses) => {
        const { clock, advance } = handClock();
        const buckets = createTokenBuckets(SIGN_IN_BUCKET, clock);
        const passed: number[] = [];
        for (const pauseMs of pauses) {
          advance(pauseMs);
          if (refusal(() => buckets.take('a')) === 0) passed.push(clock.monotonicMs());
        }
        for (const [first, from] of passed.entries()) {
          for (const [last, to] of passed.entries()) {
            if (last < first) continue;
            const allowed = SIGN_IN_BUCKET.capacity + Math.floor((to - from) / SIGN_IN_BUCKET.refillEveryMs);
            expect(last - first + 1).toBeLessThanOrEqual(allowed);
          }
        }
      }),
    );
  });

  it('forgets the least recently used of 4096 addresses, and only that one', () => {
    const { clock } = handClock();
    const buckets = createTokenBuckets({ capacity: 1, refillEveryMs: 5_000 }, clock);
    for (let i = 0; i < 4_096; i += 1) buckets.take(`a${i}`);
    expect(refusal(() => buckets.take('a0'))).toBe(5);
    buckets.take('one more');
    expect(refusal(() => buckets.take('a1'))).toBe(0);
    expect(refusal(() => buckets.take('a0'))).toBe(5);
  });
});

describe('claims are limited by rejected tokens per address', () => {
  it('blocks after ten rejected ones until 60 s pass without a further admitted attempt', () => {
    const { clock, advance } = handClock();
    const limiter = createClaimLimiter(CLAIM_LIMITS, clock);
    for (let i = 0; i < 10; i += 1) {
      limiter.admit('a').done();
      advance(1_000);
    }
    // The last admitted attempt was one second ago.
    expect(refusal(() => limiter.admit('a'))).toBe(59);
    advance(58_999);
    // A refused attempt does not prolong the block.
    expect(refusal(() => limiter.admit('a'))).toBe(1);
    advance(1);
    expect(refusal(() => limiter.admit('a').done())).toBe(0);
  });

  it('starts afresh with a correct token', () => {
    const { clock } = handClock();
    const limiter = createClaimLimiter(CLAIM_LIMITS, clock);
    for (let i = 0; i < 9; i += 1) limiter.admit('a').done();
    const right = limiter.admit('a');
    right.accepted();
    right.done();
    for (let i = 0; i < 10; i += 1) limiter.admit('a').done();
    expect(refusal(() => limiter.admit('a'))).toBe(60);
  });

  it('admits ten in flight per address and 256 in all, and counts a finished one once', () => {
    const { clock } = handClock();
    const limiter = createClaimLimiter({ ...CLAIM_LIMITS, maxRejected: 1_000 }, clock);
    const first = limiter.admit('a0');
    for (let i = 0; i < 9; i += 1) limiter.admit('a0');
    expect(refusal(() => limiter.admit('a0'))).toBe(1);
    first.done();
    first.done();
    limiter.admit('a0');
    expect(refusal(() => limiter.admit('a0'))).toBe(1);
    for (let i = 0; i < 246; i += 1) limiter.admit(`b${i}`);
    expect(refusal(() => limiter.admit('c'))).toBe(1);
  });
});
