/** Text that spreadsheets read as the beginning of a formula. Source: OWASP, "CSV Injection". */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * Rows as a file that spreadsheets open. Pure. Each value is quoted, and one that would be a formula begins with an
 * apostrophe: names of people and apps come from others.
 * Source: RFC 4180.
 */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string): string {
  const harmless = FORMULA.test(value.trimStart()) || FORMULA.test(value) ? `'${value}` : value;
  return `"${harmless.replaceAll('"', '""')}"`;
}
