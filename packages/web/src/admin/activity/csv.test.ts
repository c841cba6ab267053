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
  ['\t=1', `"'\t'=1"`],
  // Some spreadsheets remove spaces before a formula.
  ['  =1', `"'  =1"`],
  // Also with semicolons, tabs and line breaks, which some spreadsheets treat as the end of a cell.
  ['a;=1+1', `"a;'=1+1"`],
  ['a; @SUM(A1);b', `"a;' @SUM(A1);b"`],
  ['a\t-1', `"a\t'-1"`],
  ['two\n+1', `"two\n'+1"`],
  ['＝1', `"'＝1"`],
  ['x=1, -1; a-b', '"x=1, -1; a-b"'],
])('%j is written as %s', (value, written) => {
  expect(csvOf([[value]])).toBe(`${written}\r\n`);
});

const SIGNS = [...'=+-@＝＋－＠;|,"a \t\r\n'];

test('no foreign text starts a formula or leaves its cell', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...SIGNS) })),
      (value) => {
        const line = csvOf([[value, 'end']]);
        expect(line).not.toMatch(/(^"|[;|\t\r\n])\s*[=+\-@＝＋－＠]/);
        const inner = line.slice(1, line.length - '","end"\r\n'.length);
        expect(inner.replaceAll('""', '')).not.toContain('"');
      },
    ),
  );
});
