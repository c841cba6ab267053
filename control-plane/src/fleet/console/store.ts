import type { Executor } from '../../platform/database/database.ts';

export async function appExists(db: Executor, id: string): Promise<boolean> {
  const row = await db.selectFrom('apps').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}

export async function userExists(db: Executor, id: string): Promise<boolean> {
  const row = await db.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}
