/**
 * Texts for a terminal. Names of hosts and apps come from other machines, so an escape sequence in one could hide lines
 * or change the terminal. Pure.
 */

/**
 * Control characters except line feed, and the characters that change the direction of text. Tabs are included, because
 * they break the columns of a table.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject here
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The text with each unsafe character as `\u` and its number, so that it stays visible. JSON stays the same JSON. */
export function safeText(text: string): string {
  return text.replace(UNSAFE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A text for one cell or one line; a line break is shown as `\n`. */
export const oneLine = (text: string): string => safeText(text.replaceAll('\n', '\\n'));

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** A value of an answer as text. Times are shown in the time zone of the terminal. */
export function shownValue(value: unknown, timeZone: string | undefined): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value);
  return DATE_TIME.test(text) ? localTime(Date.parse(text), timeZone) : text;
}

/** A time as `2026-06-02 14:00`. @param timeZone undefined: the zone of the machine */
export function localTime(atMs: number, timeZone: string | undefined): string {
  // The Swedish format is ISO 8601 with a space.
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone });
  return format.format(atMs);
}

/** Rows below headings, in aligned columns. Lengths are counted in code points. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [headings, ...rows].map((row) => row.map(oneLine));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => lengthOf(row[column] ?? ''))));
  return cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

const lengthOf = (text: string): number => [...text].length;

/** Names with their values, one per line; further lines of a value are indented. */
export function fieldLines(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(0, ...fields.map(([name]) => lengthOf(oneLine(name))));
  return fields.flatMap(([name, value]) => {
    const [first = '', ...rest] = value.split('\n').map(safeText);
    const shown = oneLine(name);
    return [
      `${shown}${' '.repeat(width - lengthOf(shown))}  ${first}`.trimEnd(),
      ...rest.map((line) => `    ${line}`),
    ];
  });
}
