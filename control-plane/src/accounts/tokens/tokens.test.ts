import { createHash } from 'node:crypto';
import { systemRandom } from '@footlight/platform';
import { describe, expect, test } from 'vitest';
import {
  clearedPageCookie,
  mintHexSecret,
  mintToken,
  pageCookie,
  pageValue,
  readPageCookies,
} from './tokens.ts';

test('mints 43 characters of base64url for people and 64 of hex for the set-up', () => {
  expect(mintToken(systemRandom)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(mintHexSecret(systemRandom)).toMatch(/^[0-9a-f]{64}$/);
});

describe('the page cookie', () => {
  test('holds a value that follows from the token and does not show it', () => {
    const expected = createHash('sha256').update('page:token').digest('base64url');
    expect(pageValue('token')).toBe(expected);
    expect(pageCookie('token', 90_999, 0, true)).toBe(
      `service_page=${expected}; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=90; Secure`,
    );
    expect(pageCookie('token', 1_000, 0, false)).not.toContain('Secure');
    expect(clearedPageCookie(false)).toBe('service_page=; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=0');
  });

  const value = 'A'.repeat(43);
  const other = 'B'.repeat(43);
  const many = Array.from({ length: 40 }, (_, n) => String(n).padStart(43, 'C'));
  test.each([
    [undefined, []],
    ['', []],
    [`service_page=${value}`, [value]],
    [`a=b; service_page=${value}; c=d`, [value]],
    ['service_page=', []],
    [`service_page=${value}x`, []],
    [`xservice_page=${value}`, []],
    [`service_page="${value}"`, []],
    // A cookie that another service of the same host has set is sent too, and may come first.
    [`service_page=planted; service_page=${other}; service_page=${value}`, [other, value]],
    [`service_page=${value}; service_page=${value}`, [value]],
    [many.map((one) => `service_page=${one}`).join('; '), many.slice(0, 32)],
  ])('is read from %s', (header, expected) => {
    expect(readPageCookies(header)).toEqual(expected);
  });
});
