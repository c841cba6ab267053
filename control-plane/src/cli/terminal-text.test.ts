import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldLines, safeText, shownValue, tableLines } from './terminal-text.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject here
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

test('no text brings a control character into a table or a field', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, value) => {
      for (const line of [...tableLines([name], [[value]]), ...fieldLines([[name, value]])])
        expect(line).not.toMatch(CONTROLS);
    }),
  );
});

test('JSON stays the same JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(safeText(text))).toEqual(JSON.parse(text));
    }),
  );
});

test('columns are aligned by characters, not by UTF-16 units', () => {
  expect(
    tableLines(
      ['A', 'B'],
      [
        ['😀', 'x'],
        ['long', 'y'],
      ],
    ),
  ).toEqual(['A     B', '😀     x', 'long  y']);
});

test('values are shown for people: times in their zone, yes and no, and a dash for null', () => {
  expect(shownValue('2026-06-02T12:00:00.000Z', 'Europe/Berlin')).toBe('2026-06-02 14:00');
  expect([true, false, null, undefined, 7, [1]].map((value) => shownValue(value, 'UTC'))).toEqual([
    'yes',
    'no',
    '-',
    '-',
    '7',
    '[1]',
  ]);
});
