import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** A `like` pattern, with `\` as its escape, for what contains the text; `%`, `_` and `\` in it mean themselves. */
export const patternOf = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Whether one of the columns contains the text, whatever its case; `%`, `_` and `\` in it mean themselves.
 * @param columns names with their tables: `users.email`
 */
export function containsText(columns: readonly string[], text: string): RawBuilder<SqlBool> {
  const pattern = patternOf(text.toLowerCase());
  const tests = columns.map((column) => sql`lower(${sql.ref(column)}) like ${pattern} escape '\\'`);
  return sql<SqlBool>`(${sql.join(tests, sql` or `)})`;
}
