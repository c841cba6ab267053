import { createHash } from 'node:crypto';
import { systemRandom } from '@footlight/platform';
import { describe, expect, it, test } from 'vitest';
import {
  clearedPageCookie,
  mintHexSecret,
  mintToken,
  pageCookie,
  pageValue,
  readPageCookie,
} from './tokens.ts';

it('mints 43 characters of base64url for people and 64 of hex for the set-up', () => {
  expect(mintToken(systemRandom)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(mintHexSecret(systemRandom)).toMatch(/^[0-9a-f]{64}$/);
});

describe('the page cookie', () => {
  it('holds a value that follows from the token and does not show it', () => {
    const expected = createHash('sha256').update('page:token').digest('base64url');
    expect(pageValue('token')).toBe(expected);
    expect(pageCookie('token', 90_999, 0, true)).toBe(
      `service_page=${expected}; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=90; Secure`,
    );
    expect(pageCookie('token', 1_000, 0, false)).not.toContain('Secure');
    expect(clearedPageCookie(false)).toBe('service_page=; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=0');
  });

  const value = 'A'.repeat(43);
  test.each([
    [undefined, null],
    ['', null],
    [`service_page=${value}`, value],
    [`a=b; service_page=${value}; c=d`, value],
    ['service_page=', null],
    [`service_page=${value}x`, null],
    [`xservice_page=${value}`, null],
    [`service_page="${value}"`, null],
  ])('is read from %s', (header, expected) => {
    expect(readPageCookie(header)).toBe(expected);
  });
});
