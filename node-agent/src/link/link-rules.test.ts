import { rootCertificates } from 'node:tls';
import { ManualClock } from '@footlight/platform/testing';
import { backoffMs } from '@footlight/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AckStore } from './ack-store.ts';
import { decideCredential, decideRedial, retryAfterMs } from './backoff.ts';
import { ClockPairs } from './clock-pairs.ts';
import { isPlainRemote, trustedCertificates } from './dial.ts';
import { WindowCounter } from './window-counter.ts';

describe('when to dial again', () => {
  test('0.5 s doubling to 4 s, between half and the whole of it', () => {
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

describe('what to show', () => {
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

describe('stored acks', () => {
  test('one effect per id, also while it is being decided', async () => {
    const store = new AckStore(new ManualClock());
    let effects = 0;
    const decide = async () => {
      effects += 1;
      return { ok: true } as const;
    };
    await Promise.all([store.once('a', decide), store.once('a', decide)]);
    await store.once('a', decide);
    expect(effects).toBe(1);
  });

  test('512 of them, for ten minutes', async () => {
    const clock = new ManualClock();
    const store = new AckStore(clock);
    for (let count = 0; count < 600; count++) await store.once(String(count), async () => ({ ok: true }));
    expect(store.size).toBe(512);
    clock.advance(600_001);
    await store.once('new', async () => ({ ok: true }));
    expect(store.size).toBe(1);
  });
});

describe('clock pairs', () => {
  test('the smallest round trip of the last twelve', () => {
    const pairs = new ClockPairs();
    expect(pairs.best()).toBeNull();
    pairs.add(1_000, 2_005, 1_010);
    expect(pairs.best()).toEqual({ offset_ms: 1_000, rtt_ms: 10 });
    for (let count = 0; count < 12; count++) pairs.add(0, 50, 40);
    expect(pairs.best()).toEqual({ offset_ms: 30, rtt_ms: 40 });
  });

  test('a clock that was set back gives no pair', () => {
    const pairs = new ClockPairs();
    pairs.add(1_000, 1_000, 900);
    expect(pairs.best()).toBeNull();
  });
});

test('twenty malformed messages within a minute are too many; spread out they are not', () => {
  const clock = new ManualClock();
  const counter = new WindowCounter(clock, 20, 60_000);
  const hits = Array.from({ length: 20 }, () => counter.hit());
  expect(hits.indexOf(true)).toBe(19);
  const slow = new WindowCounter(clock, 20, 60_000);
  const spread = Array.from({ length: 60 }, () => {
    clock.advance(4_000);
    return slow.hit();
  });
  expect(spread).not.toContain(true);
});

test.each([
  ['http://control.example:8080', true],
  ['http://10.0.0.7:8080', true],
  ['http://127.0.0.1:8080', false],
  ['http://[::1]:8080', false],
  ['http://localhost:8080', false],
  ['https://control.example:8443', false],
])('%s is plain and remote: %s', (url, remote) => {
  expect(isPlainRemote(new URL(url))).toBe(remote);
});

test('a certificate is trusted for Node’s own list, the system’s and SERVICE_CONTROL_CA', () => {
  expect(trustedCertificates('ours', 'the system’s')).toEqual([...rootCertificates, 'the system’s', 'ours']);
  expect(trustedCertificates(null, null)).toEqual(rootCertificates);
});
