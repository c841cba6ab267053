import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editsOf } from './typed-edits.ts';

test.each([
  ['a letter', ' hell', ' hello', 0, 'o'],
  ['a word that is corrected', ' teh', ' the ', 2, 'he '],
  ['a composed character', ' zh', ' 中', 2, '中'],
  ['an emoji', ' ', ' 🎭', 0, '🎭'],
  ['a deleted emoji', ' 🎭', ' ', 1, ''],
  ['the place before all', ' ', '', 1, ''],
  ['nothing', ' a', ' a', 0, ''],
])('%s', (_what, before, after, backspaces, text) => {
  expect(editsOf(before, after)).toEqual({ backspaces, text });
});

test('an app that applies the edits has the field’s text', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'ü', '🎭', '中') });
  fc.assert(
    fc.property(word, word, (before, after) => {
      const { backspaces, text } = editsOf(before, after);
      const kept = Array.from(before).slice(0, Array.from(before).length - backspaces);
      expect(kept.join('') + text).toBe(after);
    }),
  );
});
