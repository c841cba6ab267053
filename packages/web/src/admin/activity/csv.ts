/**
 * Characters with which a formula begins in spreadsheets, and their full-width forms. Source: OWASP, "CSV Injection".
 */
const SIGN = String.raw`[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]`;
const AT_START = new RegExp(String.raw`^(?=\s*${SIGN}|[\t\r])`);
/**
 * Characters that some spreadsheets treat as the end of a cell, for example the semicolon in a German Excel. In these
 * spreadsheets, the quotes around cells are ordinary characters, except around the first cell of a line.
 */
const BEHIND_A_CELL = new RegExp(String.raw`([;|\t\r\n])(?=\s*${SIGN})`, 'g');

/**
 * Rows as a file for spreadsheets. Pure. Each value is quoted. Values that would be formulas get an apostrophe in
 * front, because other people choose the names of accounts and apps and could attack the reader. Source: RFC 4180.
 */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string): string {
  const harmless = value.replace(BEHIND_A_CELL, "$1'").replace(AT_START, "'");
  return `"${harmless.replaceAll('"', '""')}"`;
}
