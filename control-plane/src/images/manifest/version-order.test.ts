import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isNewer } from './version-order.ts';

describe('the version of the catalog against the installed one', () => {
  test.each([
    ['1.10.0', '1.9.0', true, 'numbers are compared as numbers'],
    ['1.9.0', '1.10.0', false, 'an older one is no update'],
    ['1.2', '1.2.0', false, 'a missing number is zero'],
    ['v1.3', '1.2', true, 'a leading v is dropped'],
    ['v1.2', '1.2', false, 'and is no difference'],
    ['1.2.0', '1.2.0-rc.1', true, 'a pre-release sorts below its release'],
    ['1.2.0-rc.1', '1.2.0', false, 'and is no update of it'],
    ['1.2.0-rc.10', '1.2.0-rc.9', true, 'its numbers are numbers'],
    ['1.2.0-rc', '1.2.0-1', true, 'a number sorts below a word'],
    ['1.2.0-rc.1', '1.2.0-rc', true, 'more parts are newer'],
    ['1.2.0+b2', '1.2.0+b1', false, 'builds have no order'],
    ['1.2.18446744073709551617', '1.2.18446744073709551616', true, 'numbers of any length'],
    ['2026-11', '2026-10', true, 'a date reads as a pre-release'],
    ['trixie', 'bookworm', true, 'without a known form any difference counts'],
    ['bookworm', 'trixie', true, 'in both directions'],
    ['1.0', 'bookworm', true, 'also where only one has none'],
    ['bookworm', 'bookworm', false, 'and none is none'],
  ])('%s after %s: %s, because %s', (offered, installed, expected) => {
    expect(isNewer(offered, installed)).toBe(expected);
  });

  test('never calls two versions with a form newer than each other, and none newer than itself', () => {
    const numbers = fc.array(fc.nat(), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
    const version = fc
      .tuple(numbers, fc.constantFrom('', '-rc', '-rc.1', '-2'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(isNewer(a, b) && isNewer(b, a)).toBe(false);
        expect(isNewer(a, a)).toBe(false);
      }),
    );
  });
});
