import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normaliseOrigin, parseOriginList } from './origins.ts';

describe('the normal form of an origin', () => {
  test.each([
    ['https://Example.com', 'https://example.com'],
    ['https://example.com:443', 'https://example.com'],
    ['http://example.com:80', 'http://example.com'],
    ['http://example.com:443', 'http://example.com:443'],
    ['https://example.com:8443', 'https://example.com:8443'],
    ['https://xn--bcher-kva.example', 'https://xn--bcher-kva.example'],
    ['https://[2001:DB8::0001]:8443', 'https://[2001:db8::1]:8443'],
    ['https://example.com.', 'https://example.com.'],
    ['null', null],
    ['', null],
    ['*', null],
    ['https://*.example.com', null],
    ['ftp://example.com', null],
    ['https://example.com/', null],
    ['https://example.com?x', null],
    ['https://example.com#x', null],
    ['https://user@example.com', null],
    ['https://bücher.example', null],
    ['https://ex%61mple.com', null],
    ['https://example.com:', null],
    ['https://example.com:0', null],
    ['https://example.com:65536', null],
    ['https://1.2.3.999', null],
    [' https://example.com', null],
    [`https://${'a'.repeat(505)}.example`, null],
  ])('%s → %s', (text, expected) => {
    expect(normaliseOrigin(text)).toBe(expected);
  });

  test('is its own normal form, and no text can make it throw', () => {
    const host = fc
      .array(fc.constantFrom('a', 'Z', '9', '-', '.', 'é', 'ß', 'xn--', '%41', '_', '[::1]'), {
        maxLength: 6,
      })
      .map((parts) => parts.join(''));
    const scheme = fc.constantFrom('https://', 'http://', 'HTTP://', 'ftp://', '');
    const tail = fc.constantFrom('', '/', ':80', ':443', ':8443', ':65536', '/path?query#hash');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.tuple(scheme, host, tail).map((parts) => parts.join('')),
        ),
        (text) => {
          const once = normaliseOrigin(text);
          if (once !== null) expect(normaliseOrigin(once)).toBe(once);
        },
      ),
    );
  });
});

describe('a list of origins', () => {
  test('drops blanks, collapses duplicates and names the position of a bad entry', () => {
    expect(parseOriginList([' https://A.example ', '', 'https://a.example:443'])).toEqual({
      kind: 'ok',
      origins: ['https://a.example'],
    });
    expect(parseOriginList(['https://a.example', '', '*'])).toEqual({
      kind: 'refused',
      position: 3,
      why: 'no_origin',
    });
  });

  test('takes 64 entries', () => {
    const many = Array.from({ length: 65 }, (_, i) => `https://h${i}.example`);
    expect(parseOriginList(many.slice(0, 64)).kind).toBe('ok');
    expect(parseOriginList(many)).toEqual({ kind: 'refused', position: 65, why: 'too_many' });
  });
});
