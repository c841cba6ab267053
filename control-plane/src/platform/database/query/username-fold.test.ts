import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldUsername } from './username-fold.ts';

describe('usernames that look equal', () => {
  test.each([
    ['alice', 'ALICE'],
    ['\uff41\uff4c\uff49\uff43\uff45', 'alice'],
    ['Stra\u00dfe', 'strasse'],
    ['\u1e9e', 'ss'],
    ['\u03c3\u03c2', '\u03a3\u03a3'],
    ['\ufb01n', 'FIN'],
    ['\u212a', 'k'],
    ['cafe\u0301', 'caf\u00e9'],
    ['al\u034fice', 'alice'],
    ['alice\u3164', 'alice'],
    ['al\u115fice', 'alice'],
    ['alice\ufe0f', 'alice'],
    ['alice\u2800', 'alice'],
  ])('%j and %j', (one, other) => expect(foldUsername(one)).toBe(foldUsername(other)));

  test.each([
    ['alice', 'alicia'],
    ['\u0131lker', 'ilker'],
    ['\u0430lice', 'alice'],
  ])('%j and %j are two names', (one, other) => expect(foldUsername(one)).not.toBe(foldUsername(other)));

  test('fold idempotently, and letters that match in case-insensitive regular expressions fold alike', () => {
    const letter = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 });
    fc.assert(
      fc.property(letter, (one) => {
        const folded = foldUsername(one);
        expect(foldUsername(folded)).toBe(folded);
        if (one !== '\u0131' && one !== '\u0130') expect(foldUsername(one.toUpperCase())).toBe(folded);
      }),
    );
  });
});
