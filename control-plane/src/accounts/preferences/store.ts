import type { JsonObject } from '@footlight/protocol';
import { type Executor, fromJson, type Tx } from '../../platform/database/index.ts';

/** The stored document; {} when the person has none. */
export async function loadUiPreferences(db: Executor, userId: string): Promise<JsonObject> {
  const row = await db
    .selectFrom('user_preferences')
    .select('ui_preferences')
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row === undefined ? {} : fromJson(row.ui_preferences);
}

/** Locks the document until the transaction ends; creates the row if missing. */
export async function lockUiPreferences(tx: Tx, userId: string): Promise<JsonObject> {
  await tx
    .insertInto('user_preferences')
    .values({ user_id: userId, ui_preferences: '{}' })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .execute();
  const query = tx.selectFrom('user_preferences').select('ui_preferences').where('user_id', '=', userId);
  return fromJson((await query.forNoKeyUpdate().executeTakeFirstOrThrow()).ui_preferences);
}

/** @param document JSON object */
export async function storeUiPreferences(tx: Tx, userId: string, document: string): Promise<void> {
  await tx
    .updateTable('user_preferences')
    .set({ ui_preferences: document })
    .where('user_id', '=', userId)
    .execute();
}
