import { backoffMs } from '@footlight/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideCredential, decideRedial, retryAfterMs } from './backoff.ts';

describe('when to dial again', () => {
  test('the delay doubles from 0.5 s to 4 s, and jitter shortens it by at most half', () => {
    expect([0, 1, 2, 3, 4, 40].map((attempt) => backoffMs(attempt, 1))).toEqual([
      500, 1_000, 2_000, 4_000, 4_000, 4_000,
    ]);
    expect(backoffMs(3, 0)).toBe(2_000);
  });

  test.each([
    ['restarted control plane', { kind: 'closed', code: 1012, connectedMs: 9 }, 1_000, 0],
    ['no common version', { kind: 'closed', code: 4406, connectedMs: 9 }, 60_000, 0],
    ['identity in use', { kind: 'closed', code: 4409, connectedMs: 9 }, 60_000, 0],
    ['malformed', { kind: 'closed', code: 4400, connectedMs: 9 }, 3_000, 4],
    ['over the limits', { kind: 'closed', code: 4429, connectedMs: 9 }, 3_000, 4],
    ['deadline', { kind: 'closed', code: 4408, connectedMs: 9 }, 3_000, 4],
    ['lost after a minute', { kind: 'closed', code: 1006, connectedMs: 60_000 }, 375, 1],
    ['unreachable', { kind: 'unreachable' }, 3_000, 4],
    ['401', { kind: 'refused', status: 401, enrolling: false, retryAfterMs: null }, 3_000, 4],
    ['409 to Enroll', { kind: 'refused', status: 409, enrolling: true, retryAfterMs: null }, 60_000, 0],
    [
      'a Retry-After of 503',
      { kind: 'refused', status: 503, enrolling: false, retryAfterMs: 5_000 },
      5_250,
      4,
    ],
    [
      'a Retry-After shorter than the backoff',
      { kind: 'refused', status: 503, enrolling: false, retryAfterMs: 1_000 },
      3_000,
      4,
    ],
    [
      'a Retry-After of an hour',
      { kind: 'refused', status: 429, enrolling: false, retryAfterMs: 3_600_000 },
      60_000,
      4,
    ],
  ] as const)('%s', (_name, end, delayMs, attempt) => {
    expect(decideRedial(end, 3, 0.5)).toEqual({ delayMs, attempt });
  });

  test.each([
    ['7', 7_000],
    ['0', 0],
    [undefined, null],
    ['-1', null],
    ['soon', null],
    ['99999999999999999999', null],
  ])('Retry-After %s is %s ms', (header, ms) => {
    expect(retryAfterMs(header)).toBe(ms);
  });

  test('after an outage of any length an agent dials within 4 s of the first answer', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 120_000 }),
        fc.array(random, { minLength: 1, maxLength: 20 }),
        (outageMs, randoms) => {
          let [atMs, attempt, dials] = [0, 0, 0];
          while (atMs < outageMs) {
            const redial = decideRedial({ kind: 'unreachable' }, attempt, randoms[dials % randoms.length]!);
            atMs += redial.delayMs;
            attempt = redial.attempt;
            dials += 1;
          }
          expect(atMs - outageMs).toBeLessThanOrEqual(4_000);
        },
      ),
    );
  });
});

describe('the credential of the next attempt', () => {
  test.each([
    [{ hasSecret: false, hasToken: false, unauthorizedInRow: 0, sinceEnrollMs: null }, 'none'],
    [{ hasSecret: false, hasToken: true, unauthorizedInRow: 0, sinceEnrollMs: 5 }, 'enroll'],
    [{ hasSecret: true, hasToken: true, unauthorizedInRow: 2, sinceEnrollMs: null }, 'secret'],
    [{ hasSecret: true, hasToken: true, unauthorizedInRow: 3, sinceEnrollMs: null }, 'enroll'],
    [{ hasSecret: true, hasToken: true, unauthorizedInRow: 9, sinceEnrollMs: 59_999 }, 'secret'],
    [{ hasSecret: true, hasToken: true, unauthorizedInRow: 9, sinceEnrollMs: 60_000 }, 'enroll'],
    [{ hasSecret: true, hasToken: false, unauthorizedInRow: 9, sinceEnrollMs: null }, 'secret'],
  ] as const)('%j → %s', (facts, shown) => {
    expect(decideCredential(facts)).toBe(shown);
  });
});
