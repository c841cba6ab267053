/** Answers as lines of tables and fields. Pure. */
import { fieldLines, shownValue, tableLines } from './terminal-text.ts';

/** Rows as a table. @param columns fields, separated by blanks; a dot goes into an object */
export function rowLines(
  columns: string,
  rows: readonly unknown[],
  timeZone: string | undefined,
): readonly string[] {
  if (rows.length === 0) return ['None.'];
  const paths = columns.split(' ');
  const headings = paths.map((path) => (path.split('.').at(-1) ?? path).replaceAll('_', ' ').toUpperCase());
  return tableLines(
    headings,
    rows.map((row) => paths.map((path) => shownValue(valueAt(row, path), timeZone))),
  );
}

const valueAt = (row: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], row);

/** An answer as names and values. If it only contains one object, that object is shown. */
export function answerLines(body: unknown, timeZone: string | undefined): readonly string[] {
  if (body === undefined || body === null) return ['Done.'];
  if (typeof body !== 'object') return [String(body)];
  const entries = Object.entries(body);
  const [, inner] = entries[0] ?? [];
  if (entries.length === 1 && typeof inner === 'object' && inner !== null && !Array.isArray(inner))
    return answerLines(inner, timeZone);
  const lists = entries.filter(([, value]) => isTableRows(value));
  const fields = entries
    .filter((entry) => !lists.includes(entry))
    .map(([name, value]) => [name, shownValue(value, timeZone)] as const);
  return [
    ...fieldLines(fields),
    ...lists.flatMap(([name, value]) => [
      '',
      `${name}:`,
      ...rowLines(simpleFieldsOf(value as readonly object[]), value as readonly object[], timeZone),
    ]),
  ];
}

/** The rows in an answer: its only list. */
export const rowsIn = (body: unknown): readonly unknown[] =>
  Object.values((body ?? {}) as object).find((value) => Array.isArray(value)) ?? [];

const isTableRows = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((row) => typeof row === 'object' && row !== null);

/** Fields whose values fit into cells. Lists without columns in the table of commands use them. */
export function simpleFieldsOf(rows: readonly object[]): string {
  const valuesOf = (name: string) => rows.map((row) => (row as Record<string, unknown>)[name]);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const simple = names.filter((name) =>
    valuesOf(name).every((value) => typeof value !== 'object' || value === null),
  );
  return (simple.length > 0 ? simple : names).join(' ');
}
