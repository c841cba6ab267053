import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvOf } from './csv.ts';

test.each([
  ['plain', '"plain"'],
  ['say "hi", twice', '"say ""hi"", twice"'],
  ['two\nlines', '"two\nlines"'],
  ['=HYPERLINK("http://evil")', `"'=HYPERLINK(""http://evil"")"`],
  ['+1', `"'+1"`],
  ['-1', `"'-1"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['\t=1', `"'\t=1"`],
  // Some spreadsheets drop the spaces before a formula.
  ['  =1', `"'  =1"`],
])('%j is written as %s', (value, written) => {
  expect(csvOf([[value]])).toBe(`${written}\r\n`);
});

test('no text of others begins a formula or leaves its cell', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const line = csvOf([[value, 'end']]);
      expect(line).not.toMatch(/^"\s*[=+\-@]/);
      const inner = line.slice(1, line.length - '","end"\r\n'.length);
      expect(inner.replaceAll('""', '')).not.toContain('"');
    }),
  );
});
