import type { Database } from '../platform/database/index.ts';

/** Returns all rows of all tables as text, to compare two states or to search for secrets. */
export async function dumpDatabase({ db }: Pick<Database, 'db'>): Promise<string> {
  const tables = (await db.introspection.getTables()).map(({ name }) => name).sort();
  const lines: string[] = [];
  for (const table of tables) {
    // The database lists the table names, so the schema's types do not cover them.
    const rows = await db
      .selectFrom(table as 'users')
      .selectAll()
      .execute();
    lines.push(...rows.map((row) => `${table} ${JSON.stringify(row)}`).sort());
  }
  return lines.join('\n');
}
