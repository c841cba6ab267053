import { describe, expect, test } from 'vitest';
import { CredentialLimits, TokenBucket, WindowCounter } from './limits.ts';

describe('a sliding window', () => {
  test('is full with the last of its events and has room again when the first one left it', () => {
    const counter = new WindowCounter(3, 1_000);
    expect([counter.add(0), counter.add(400), counter.add(800)]).toEqual([false, false, true]);
    expect(counter.isFull(999)).toBe(true);
    expect(counter.roomInMs(900)).toBe(100);
    expect(counter.isFull(1_000)).toBe(false);
    expect(counter.add(1_001)).toBe(true);
  });
});

describe('a token bucket', () => {
  test('lets a burst through, then its rate', () => {
    const bucket = new TokenBucket(10, 3, 0);
    expect([bucket.take(0), bucket.take(0), bucket.take(0), bucket.take(0)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(bucket.take(99)).toBe(false);
    expect(bucket.take(200)).toBe(true);
  });
});

describe('wrong node credentials', () => {
  const fail = (limits: CredentialLimits, times: number, address: string, name: (n: number) => string) => {
    for (let n = 0; n < times; n += 1) limits.failed(address, name(n), 0);
  };

  test('ten a minute of one address with one name are looked at, the next is not', () => {
    const limits = new CredentialLimits();
    fail(limits, 9, '192.0.2.1', () => 'node');
    expect(limits.waitMs('192.0.2.1', 'node', 1)).toBe(0);
    fail(limits, 1, '192.0.2.1', () => 'node');
    expect(limits.waitMs('192.0.2.1', 'node', 1)).toBe(59_999);
    expect(limits.waitMs('192.0.2.1', 'other', 1)).toBe(0);
    expect(limits.waitMs('192.0.2.2', 'node', 1)).toBe(0);
    expect(limits.waitMs('192.0.2.1', 'node', 60_000)).toBe(0);
  });

  test('a hundred a minute of one address shut out every name', () => {
    const limits = new CredentialLimits();
    fail(limits, 100, '192.0.2.1', (n) => `node-${n}`);
    expect(limits.waitMs('192.0.2.1', 'fresh', 1)).toBeGreaterThan(0);
    expect(limits.waitMs('192.0.2.2', 'fresh', 1)).toBe(0);
  });

  test('failures of thousands of other addresses do not free a refused one', () => {
    const limits = new CredentialLimits();
    fail(limits, 100, '192.0.2.1', (n) => `node-${n % 10}`);
    for (let n = 0; n < 5_000; n += 1) fail(limits, 1, `2001:db8::${n.toString(16)}`, () => 'node');
    expect(limits.waitMs('192.0.2.1', 'node-1', 1)).toBeGreaterThan(0);
    expect(limits.waitMs('192.0.2.1', 'fresh', 1)).toBeGreaterThan(0);
    expect(limits.waitMs('192.0.2.9', 'node', 1)).toBe(0);
  });
});
