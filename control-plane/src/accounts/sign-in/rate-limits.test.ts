import { ManualClock } from '@footlight/platform/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTokenBuckets } from '../../platform/buckets/token-buckets.ts';
import { ApiError } from '../../platform/errors.ts';
import { LimiterKeys } from '../../platform/limits.ts';
import {
  CLAIM_LIMITS,
  createClaimLimiter,
  createLoginAttempts,
  FAILED_LOGIN_BUCKET,
  SIGN_IN_BUCKET,
} from './rate-limits.ts';

/** Seconds to wait; 0: the request was accepted. */
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
  test('passes ten at once, refuses the eleventh with Retry-After 5, and frees one per 5 s', () => {
    const clock = new ManualClock();
    const buckets = createTokenBuckets(SIGN_IN_BUCKET, clock);
    for (let i = 0; i < 10; i += 1) expect(refusal(() => buckets.take('a'))).toBe(0);
    expect(refusal(() => buckets.take('a'))).toBe(5);
    expect(refusal(() => buckets.take('b'))).toBe(0);
    clock.advance(4_999);
    expect(refusal(() => buckets.take('a'))).toBe(1);
    clock.advance(1);
    expect(refusal(() => buckets.take('a'))).toBe(0);
    expect(refusal(() => buckets.take('a'))).toBe(5);
    clock.advance(1_000_000);
    for (let i = 0; i < 10; i += 1) expect(refusal(() => buckets.take('a'))).toBe(0);
    expect(refusal(() => buckets.take('a'))).toBe(5);
  });

  test('never passes more than the capacity plus what refilled, in any window of any schedule', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }), (pauses) => {
        const clock = new ManualClock();
        const buckets = createTokenBuckets(SIGN_IN_BUCKET, clock);
        const passed: number[] = [];
        for (const pauseMs of pauses) {
          clock.advance(pauseMs);
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

  test('forgets the least recently used of 4096 addresses that is not refused, and only that one', () => {
    const clock = new ManualClock();
    const buckets = createTokenBuckets({ capacity: 2, refillEveryMs: 5_000 }, clock);
    for (let i = 0; i < 2; i += 1) buckets.take('refused');
    for (let i = 0; i < 4_095; i += 1) buckets.take(`a${i}`);
    buckets.take('one more');
    // a0 was evicted before. Its new use stored a0 again and evicted a1.
    for (const key of ['a0', 'a0', 'a2']) expect(refusal(() => buckets.take(key))).toBe(0);
    for (const key of ['a0', 'a2', 'refused']) expect(refusal(() => buckets.take(key))).toBe(5);
  });

  test('keeps refusing an address during attempts from 10,000 others', () => {
    const clock = new ManualClock();
    const buckets = createTokenBuckets(SIGN_IN_BUCKET, clock);
    for (let i = 0; i < 10; i += 1) buckets.take('a');
    for (let i = 0; i < 10_000; i += 1) buckets.take(`b${i}`);
    expect(refusal(() => buckets.take('a'))).toBe(5);
  });

  test('gives new addresses one bucket together while all 4096 are refused', () => {
    const clock = new ManualClock();
    const buckets = createTokenBuckets({ capacity: 2, refillEveryMs: 5_000 }, clock);
    for (let i = 0; i < 4_096; i += 1) for (let taken = 0; taken < 2; taken += 1) buckets.take(`a${i}`);
    expect(['x', 'y', 'z'].map((key) => refusal(() => buckets.take(key)))).toEqual([0, 0, 5]);
    expect(refusal(() => buckets.take('a0'))).toBe(5);
    clock.advance(5_000);
    expect(['x', 'y', 'z'].map((key) => refusal(() => buckets.take(key)))).toEqual([0, 0, 0]);
  });

  test('frees no refused address that shares the last place, when another place becomes free', () => {
    const clock = new ManualClock();
    const keys = new LimiterKeys<number>((untilMs, nowMs) => untilMs > nowMs, 1);
    const refuse = (key: string) => keys.set(key, clock.monotonicMs() + 10_000, clock.monotonicMs());
    refuse('first');
    clock.advance(5_000);
    refuse('second');
    clock.advance(5_000);
    expect(keys.get('second', clock.monotonicMs())).toBeGreaterThan(clock.monotonicMs());
    clock.advance(5_000);
    expect(keys.get('second', clock.monotonicMs())).toBeUndefined();
  });

  test('never remembers more than 4096, and frees no refused address, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(20), fc.nat(4_000)), { maxLength: 300 }), (requests) => {
        const clock = new ManualClock();
        const keys = new LimiterKeys<number>((untilMs, nowMs) => untilMs > nowMs, 5);
        const until = new Map<number, number>();
        for (const [key, pauseMs] of requests) {
          clock.advance(pauseMs);
          const nowMs = clock.monotonicMs();
          const known = keys.get(String(key), nowMs);
          if ((until.get(key) ?? 0) > nowMs) expect(known).toBeGreaterThan(nowMs);
          // After half of the requests, the key is refused for ten seconds.
          const untilMs = pauseMs % 2 === 0 ? nowMs + 10_000 : 0;
          if (known !== undefined && known > nowMs) continue;
          keys.set(String(key), untilMs, nowMs);
          until.set(key, untilMs);
        }
      }),
    );
  });
});

describe('failed logins are limited per account name', () => {
  test('passes 20 at once and then one a minute, and counts only failed logins', () => {
    const clock = new ManualClock();
    const guesses = createLoginAttempts(FAILED_LOGIN_BUCKET, clock);
    for (let i = 0; i < 50; i += 1) guesses.admit('a', false).spare();
    for (let i = 0; i < 20; i += 1) guesses.admit('a', false);
    expect(refusal(() => guesses.admit('a', false))).toBe(60);
    expect(refusal(() => guesses.admit('b', false))).toBe(0);
    clock.advance(60_000);
    expect(refusal(() => guesses.admit('a', false))).toBe(0);
    expect(refusal(() => guesses.admit('a', false))).toBe(60);
  });

  test('always passes known devices, whose logins free no place for others', () => {
    const clock = new ManualClock();
    const guesses = createLoginAttempts(FAILED_LOGIN_BUCKET, clock);
    for (let i = 0; i < 20; i += 1) guesses.admit('a', true);
    for (let i = 0; i < 20; i += 1) guesses.admit('a', true).spare();
    expect(refusal(() => guesses.admit('a', false))).toBe(60);
  });
});

describe('claims are limited by rejected tokens per address', () => {
  test('blocks after ten rejected ones until 60 s pass without a further admitted attempt', () => {
    const clock = new ManualClock();
    const limiter = createClaimLimiter(CLAIM_LIMITS, clock);
    for (let i = 0; i < 10; i += 1) {
      limiter.admit('a').done();
      clock.advance(1_000);
    }
    // The last admitted attempt was one second ago.
    expect(refusal(() => limiter.admit('a'))).toBe(59);
    clock.advance(58_999);
    // A refused attempt does not prolong the block.
    expect(refusal(() => limiter.admit('a'))).toBe(1);
    clock.advance(1);
    expect(refusal(() => limiter.admit('a').done())).toBe(0);
  });

  test('starts afresh with a correct token', () => {
    const clock = new ManualClock();
    const limiter = createClaimLimiter(CLAIM_LIMITS, clock);
    for (let i = 0; i < 9; i += 1) limiter.admit('a').done();
    const right = limiter.admit('a');
    right.accepted();
    right.done();
    for (let i = 0; i < 10; i += 1) limiter.admit('a').done();
    expect(refusal(() => limiter.admit('a'))).toBe(60);
  });

  test('admits ten in flight per address and 256 in all, and counts a finished one once', () => {
    const clock = new ManualClock();
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
