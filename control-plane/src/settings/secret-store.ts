import type { Selectable } from 'kysely';
import type { Executor } from '../platform/database/index.ts';
import type { SecretsTable } from '../platform/database/tables/secrets.ts';

export type SecretRow = Selectable<SecretsTable>;

export async function loadSecrets(db: Executor): Promise<Map<string, SecretRow>> {
  const rows = await db.selectFrom('secrets').selectAll().execute();
  return new Map(rows.map((row) => [row.name, row]));
}

export async function findSecret(db: Executor, name: string): Promise<SecretRow | null> {
  return (await db.selectFrom('secrets').selectAll().where('name', '=', name).executeTakeFirst()) ?? null;
}

/** Inserts or replaces a value. */
export async function putSecret(db: Executor, row: SecretRow): Promise<void> {
  const { name, ...columns } = row;
  await db
    .insertInto('secrets')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
    .execute();
}

/** @returns false when nothing was stored under the name */
export async function deleteSecret(db: Executor, name: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('secrets').where('name', '=', name).executeTakeFirst();
  return numDeletedRows > 0n;
}
