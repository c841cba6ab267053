import type { ReactNode } from 'react';

/** Forms of a counted text by plural category (CLDR); `other` is used for categories without a form. */
export type Forms = { readonly other: string } & { readonly [Rule in Intl.LDMLPluralRule]?: string };

/** Translations by their English text. A counted text has the `other` form of English as its key. */
export type Table = Readonly<Record<string, string | Forms>>;

/** Values for the `{name}` placeholders of a text. */
export type Values = Readonly<Record<string, string | number>>;

let table: Table = {};
let locale = 'en-GB';
/** Plural rules, created for the first counted text. */
let rules: Intl.PluralRules | null = null;

/**
 * Replaces the translations. Afterwards all pages must be rendered again.
 * @param tag BCP 47 tag for numbers, dates and plural rules
 */
export function putInForce(next: Table, tag: string): void {
  table = next;
  locale = tag;
  rules = null;
}

/** BCP 47 tag for dates and numbers. */
export function localeTag(): string {
  return locale;
}

/**
 * A text in the person's language. English is the source and the fallback, so it needs no table and no download. Never
 * call it while a module loads, because the language is not known then: use `msg` there.
 * @param english a string literal, so that the test of translations finds it
 */
export function t(english: string, values?: Values): string {
  const found = lookUp(english);
  return fill(typeof found === 'string' ? found : (found?.other ?? english), values);
}

/** Marks a text in a constant for translation; `t(text)` translates it where it is shown. */
export function msg<Text extends string>(english: Text): Text {
  return english;
}

/** A counted text; `{n}` stands for the count in the person's number format. */
export function plural(count: number, one: string, other: string, values?: Values): string {
  const forms = lookUp(other);
  rules ??= new Intl.PluralRules(locale);
  const english = count === 1 ? one : other;
  const text = typeof forms === 'object' ? (forms[rules.select(count)] ?? forms.other) : (forms ?? english);
  return fill(text, { ...values, n: count.toLocaleString(locale) });
}

/** A text whose placeholders are replaced by elements, as children of an element. */
export function rich(english: string, parts: Readonly<Record<string, ReactNode>>): ReactNode[] {
  return t(english)
    .split(/(\{\w+\})/)
    .map((piece) => (/^\{\w+\}$/.test(piece) ? (parts[piece.slice(1, -1)] ?? piece) : piece));
}

/** Finds a translation. Reads only own members, so that "constructor" is not found. */
function lookUp(english: string): string | Forms | undefined {
  return Object.hasOwn(table, english) ? table[english] : undefined;
}

function fill(text: string, values: Values | undefined): string {
  if (values === undefined) return text;
  return text.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}
