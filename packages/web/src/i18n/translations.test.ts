import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import german from './de/index.ts';
import type { Table } from './translate.ts';

const src = path.resolve(import.meta.dirname, '..');
const LITERAL = String.raw`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"`;
const TEXT = new RegExp(String.raw`(?<![\w.])(?:t|msg|rich)\(\s*(${LITERAL})`, 'g');
const COUNTED = new RegExp(String.raw`(?<![\w.])plural\([^'"]*?(?:${LITERAL}),\s*(${LITERAL})`, 'g');

/** Texts that the sources of an area show: [text, file]. A counted text is named by its `other` form. */
function textsOf(isInArea: (file: string) => boolean): [string, string][] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test|\.gen)\.tsx?$/.test(file) && !/^(admin\/)?i18n\//.test(file))
    .filter(isInArea)
    .flatMap((file) => {
      const text = readFileSync(path.join(src, file), 'utf8');
      return [...text.matchAll(TEXT), ...text.matchAll(COUNTED)].map((match): [string, string] => [
        unquoted(match[1] ?? ''),
        file,
      ]);
    });
}

const unquoted = (literal: string) =>
  literal
    .slice(1, -1)
    .replace(/\\u([0-9a-f]{4})/gi, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/\\(.)/g, '$1');
const placesOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();
/** The administrators' pages are in English only. */
const isAdmin = (file: string) => /^(admin\/|entry\/admin|routes\/admin)/.test(file);

describe('the German of the user area', () => {
  const own: Table = german;
  const texts = textsOf((file) => !isAdmin(file));

  test('has each text of the sources', () => {
    expect(texts.filter(([text]) => !Object.hasOwn(own, text))).toEqual([]);
  });

  test('has no text that the sources no longer show', () => {
    const shown = new Set(texts.map(([text]) => text));
    expect(Object.keys(own).filter((text) => !shown.has(text))).toEqual([]);
  });

  test('has the same placeholders', () => {
    for (const [english, translated] of Object.entries(own)) {
      for (const form of typeof translated === 'string' ? [translated] : Object.values(translated))
        expect(placesOf(form), english).toEqual(placesOf(english));
    }
  });
});
