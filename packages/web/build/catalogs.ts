/**
 * Translations in PO files, the format of gettext, which programs for translators read. The English text of the sources
 * is the key. A catalogue has the texts of one area of the web app in one language.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import PO from 'pofile';
import type { Plugin } from 'vite';
import type { Forms, Table } from '../src/i18n/translate.ts';

const SRC = path.resolve(import.meta.dirname, '../src');

/**
 * Catalogues by area, files below `src`: one for each language. The server sends the files of administrators to
 * administrators only. Their pages load both catalogues, so theirs does not repeat texts of the other.
 */
const CATALOGS = { users: ['i18n/de.po'], admin: ['admin/i18n/de.po'] } as const;
export type Area = keyof typeof CATALOGS;

/** A text of the sources. `plural` is the English form for other counts than one; null: the text has no count. */
export interface SourceText {
  english: string;
  plural: string | null;
  files: string[];
}

const LITERAL = String.raw`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"`;
const TEXT = new RegExp(String.raw`(?<![\w.])(?:t|msg|rich)\(\s*(${LITERAL})`, 'g');
const COUNTED = new RegExp(String.raw`(?<![\w.])plural\([^'"]*?(${LITERAL}),\s*(${LITERAL})`, 'g');
/** Plural categories in the order of a PO file (CLDR). */
const CATEGORIES = ['zero', 'one', 'two', 'few', 'many', 'other'] as const;

/** Makes a PO file importable: its default export is the table of its translations. */
export function catalogs(): Plugin {
  return {
    name: 'footlight:catalogs',
    transform: (code, id) =>
      id.endsWith('.po') ? { code: `export default ${JSON.stringify(tableOf(code))};`, map: null } : null,
  };
}

/** The translations of a catalogue. A counted text has its plural form as key. */
export function tableOf(catalog: string): Table {
  const { items, headers } = PO.parse(catalog);
  const known = new Intl.PluralRules(headers.Language).resolvedOptions().pluralCategories;
  const categories = CATEGORIES.filter((category) => known.includes(category));
  return Object.fromEntries(
    items.map(({ msgid, msgid_plural: plural, msgstr }): [string, string | Forms] => {
      // The library has null instead of its declared undefined.
      if (plural == null) return [msgid, msgstr[0] ?? ''];
      const forms = categories.map((category, n) => [category, msgstr[n] ?? '']);
      return [plural, { other: '', ...Object.fromEntries(forms) }];
    }),
  );
}

/** A catalogue with the texts of its sources: new texts are not translated yet, and unused texts are removed. */
export function updated(catalog: string, texts: readonly SourceText[]): string {
  const po = PO.parse(catalog);
  const before = new Map(po.items.map((item) => [item.msgid_plural ?? item.msgid, item]));
  const forms = Number(/nplurals=(\d)/.exec(po.headers['Plural-Forms'] ?? '')?.[1] ?? 1);
  po.items = texts.map((text) => {
    const known = before.get(keyOf(text));
    const item = known ?? new PO.Item();
    item.msgid = text.english;
    if (text.plural !== null) item.msgid_plural = text.plural;
    if (known === undefined) item.msgstr = Array.from({ length: text.plural === null ? 1 : forms }, () => '');
    item.references = text.files;
    return item;
  });
  return po.toString();
}

/** The texts of an area's catalogue, sorted. @throws when two counted texts have the same plural form */
export function textsOf(area: Area): SourceText[] {
  const ofUsers = textsWhere((file) => !isAdmin(file));
  if (area === 'users') return ofUsers;
  const known = new Set(ofUsers.map(keyOf));
  return textsWhere(isAdmin).filter((text) => !known.has(keyOf(text)));
}

/** The key of a text in a table. */
export const keyOf = ({ english, plural }: Omit<SourceText, 'files'>): string => plural ?? english;

function textsWhere(isInArea: (file: string) => boolean): SourceText[] {
  const texts = new Map<string, SourceText>();
  for (const file of readdirSync(SRC, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!/(?<!\.test|\.gen)\.tsx?$/.test(file) || file.startsWith('i18n/') || !isInArea(file)) continue;
    for (const text of textsIn(readFileSync(path.join(SRC, file), 'utf8'))) {
      const known = texts.get(keyOf(text));
      if (known === undefined) texts.set(keyOf(text), { ...text, files: [file] });
      else if (known.english !== text.english)
        throw new Error(`"${keyOf(text)}" is the plural of two texts.`);
      else if (known.files.at(-1) !== file) known.files.push(file);
    }
  }
  return [...texts.values()].sort((a, b) => (a.english < b.english ? -1 : 1));
}

/** The texts of one source file. */
export function textsIn(source: string): Omit<SourceText, 'files'>[] {
  return [
    ...[...source.matchAll(TEXT)].map(([, text]) => ({ english: unquoted(text), plural: null })),
    ...[...source.matchAll(COUNTED)].map(([, one, other]) => ({
      english: unquoted(one),
      plural: unquoted(other),
    })),
  ];
}

/** All catalogues, with the paths of their files. */
export const catalogFiles = (['users', 'admin'] as const).flatMap((area) =>
  CATALOGS[area].map((file) => ({ area, file: path.join(SRC, file) })),
);

function isAdmin(file: string): boolean {
  return /^(admin\/|entry\/admin|routes\/admin)/.test(file);
}

function unquoted(literal = ''): string {
  return literal
    .slice(1, -1)
    .replace(/\\u([0-9a-f]{4})/gi, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/\\(.)/g, '$1');
}
