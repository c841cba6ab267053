import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSameTitle, normaliseTitle } from './titles.ts';

describe('titles are compared', () => {
  test.each([
    ['Sample Quest', 'sample quest'],
    ['  Sample--Quest: The (Return)! ', 'sample quest the return'],
    ["Somebody's Quest", 'somebody s quest'],
    ['Sample Quest: Game of the Year Edition', 'sample quest'],
    ['Sample Quest - Game of the Year', 'sample quest'],
    ['Sample Quest – Definitive Edition', 'sample quest'],
    ['Sample Quest Complete Edition', 'sample quest'],
    ['Sample Quest (Enhanced Edition)', 'sample quest'],
    ['Sample Quest Remastered Edition', 'sample quest'],
    ['Sample Quest GOTY Edition', 'sample quest'],
    ['Sample Quest Remastered', 'sample quest'],
    ['Sample Quest [GOTY]', 'sample quest'],
    ['Sample Quest Remastered GOTY', 'sample quest remastered'],
    ['Remastered', 'remastered'],
    ['Goty Edition', 'goty edition'],
    ['Special Edition', 'special edition'],
    ['ＳＡＭＰＬＥ　Ｑｕｅｓｔ', 'sample quest'],
    ['見本クエスト', '見本クエスト'],
    ['™!?', ''],
  ])('%j as %j', (title, expected) => {
    expect(normaliseTitle(title)).toBe(expected);
  });

  test('by their words, not by what separates them', () => {
    expect(isSameTitle('Sample Quest: Remastered', 'SAMPLE QUEST')).toBe(true);
    expect(isSameTitle('Sample Quest 2', 'Sample Quest')).toBe(false);
    expect(isSameTitle('見本', '手本')).toBe(false);
  });

  test('and a title without any letter matches nothing, itself included', () => {
    expect(isSameTitle('!!!', '!!!')).toBe(false);
  });

  test('leaves letters, digits and single spaces only', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (title) => {
        expect(normaliseTitle(title)).toMatch(/^$|^[\p{L}\p{M}\p{N}]+( [\p{L}\p{M}\p{N}]+)*$/u);
      }),
    );
  });
});
