import type { Database } from '../platform/database/index.ts';

/** Every row of every table as text, for comparing before and after, or looking for what must not be there. */
export async function dumpDatabase({ db }: Pick<Database, 'db'>): Promise<string> {
  const tables = (await db.introspection.getTables()).map(({ name }) => name).sort();
  const lines: string[] = [];
  for (const table of tables) {
    // The names come from the database itself, so the schema's types know nothing of them.
    const rows = await db
      .selectFrom(table as 'users')
      .selectAll()
      .execute();
    lines.push(...rows.map((row) => `${table} ${JSON.stringify(row)}`).sort());
  }
  return lines.join('\n');
}
