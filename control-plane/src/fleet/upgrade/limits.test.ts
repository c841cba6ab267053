import { describe, expect, test } from 'vitest';
import { CredentialLimits } from './limits.ts';

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
