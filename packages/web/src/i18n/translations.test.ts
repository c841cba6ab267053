import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { catalogFiles, keyOf, tableOf, textsIn, textsOf, updated } from '../../build/catalogs.ts';

const placesOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();

describe.each(catalogFiles)('the catalogue $file', ({ area, file }) => {
  const catalog = readFileSync(file, 'utf8');
  const table = tableOf(catalog);

  test('has the texts of the sources; `./scripts/pnpm --filter @footlight/web texts` writes them', () => {
    expect(Object.keys(table).sort()).toEqual(textsOf(area).map(keyOf).sort());
  });

  test('has a translation of each text, with the same placeholders', () => {
    for (const [english, translated] of Object.entries(table)) {
      for (const form of typeof translated === 'string' ? [translated] : Object.values(translated)) {
        expect(form, english).not.toBe('');
        expect(placesOf(form), english).toEqual(placesOf(english));
      }
    }
  });
});

describe('a catalogue', () => {
  const HEAD =
    'msgid ""\nmsgstr ""\n"Language: pl\\n"\n"Plural-Forms: nplurals=4; plural=(n==1 ? 0 : n%10>=2 ? 1 : n!=1 ? 2 : 3);\\n"\n';

  test('gets new texts, loses unused ones, and keeps translations', () => {
    const texts = textsIn(
      "t('New'); plural(n, '{n} \\'app\\'', \"{n} 'apps'\"); msg('A \\u201cword\\u201d')",
    ).map((text) => ({ ...text, files: ['a.ts'] }));
    const before = `${HEAD}\nmsgid "Old"\nmsgstr "Stary"\n\nmsgid "New"\nmsgstr "Nowy"\n`;
    expect(tableOf(updated(before, texts))).toEqual({
      New: 'Nowy',
      'A “word”': '',
      "{n} 'apps'": { one: '', few: '', many: '', other: '' },
    });
  });
});
