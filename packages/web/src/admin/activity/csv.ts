/**
 * Characters with which spreadsheets begin a formula, those of full width among them. Source: OWASP, "CSV Injection".
 */
const SIGN = String.raw`[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]`;
const AT_START = new RegExp(String.raw`^(?=\s*${SIGN}|[\t\r])`);
/**
 * What some spreadsheets take for the end of a cell, as a German Excel does with semicolons: the quotes of all cells but the
 * first of a line are no quotes to it then.
 */
const BEHIND_A_CELL = new RegExp(String.raw`([;|\t\r\n])(?=\s*${SIGN})`, 'g');

/**
 * Rows as a file that spreadsheets open. Pure. Each value is quoted, and what would be a formula begins with an
 * apostrophe: names of people and apps come from others.
 * Source: RFC 4180.
 */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string): string {
  const harmless = value.replace(BEHIND_A_CELL, "$1'").replace(AT_START, "'");
  return `"${harmless.replaceAll('"', '""')}"`;
}
