import type { Insertable } from 'kysely';
import type { Executor, Tx } from '../../platform/database/index.ts';
import type { FavouritesTable } from '../../platform/database/tables/catalog.ts';

/** Ids of the apps that the user has marked. */
export async function loadFavourites(db: Executor, userId: string): Promise<Set<string>> {
  const rows = await db.selectFrom('favourites').select('app_id').where('user_id', '=', userId).execute();
  return new Set(rows.map((row) => row.app_id));
}

/** @returns whether the mark is new; an existing mark keeps its time */
export async function insertFavourite(tx: Tx, mark: Insertable<FavouritesTable>): Promise<boolean> {
  const result = await tx
    .insertInto('favourites')
    .values(mark)
    .onConflict((conflict) => conflict.columns(['user_id', 'app_id']).doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** @returns whether there was a mark */
export async function deleteFavourite(tx: Tx, userId: string, appId: string): Promise<boolean> {
  const result = await tx
    .deleteFrom('favourites')
    .where('user_id', '=', userId)
    .where('app_id', '=', appId)
    .executeTakeFirst();
  return result.numDeletedRows > 0n;
}
