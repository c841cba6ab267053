import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** A `like` pattern with escape `\` for texts that contain the given one; `%`, `_` and `\` are literal. */
export const patternOf = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Whether one of the columns contains the text; case is ignored; `%`, `_` and `\` are literal.
 * @param columns column names with their tables, such as `users.email`
 */
export function containsText(columns: readonly string[], text: string): RawBuilder<SqlBool> {
  const pattern = patternOf(text.toLowerCase());
  const tests = columns.map((column) => sql`lower(${sql.ref(column)}) like ${pattern} escape '\\'`);
  return sql<SqlBool>`(${sql.join(tests, sql` or `)})`;
}
