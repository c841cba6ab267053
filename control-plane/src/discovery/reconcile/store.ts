import type { Executor, Tx } from '../../platform/database/index.ts';
import type { LibraryObservationsTable } from '../../platform/database/tables/library.ts';
import type { ObservedTitle } from './decision.ts';

/** The home that a report is about, and the source of its titles. */
export interface ScannedHome {
  userId: string;
  appId: string;
  hostId: string;
  source: string;
}

const BATCH = 500;

/** Stored titles of the home before a report, by external id. */
export async function loadObserved(db: Executor, home: ScannedHome): Promise<Map<string, ObservedTitle>> {
  const rows = await db
    .selectFrom('library_observations')
    .select(['external_id', 'name', 'suppressed_by'])
    .where('user_id', '=', home.userId)
    .where('parent_app_id', '=', home.appId)
    .where('external_source', '=', home.source)
    .where('host_id', '=', home.hostId)
    .execute();
  return new Map(rows.map((row) => [row.external_id, { name: row.name, suppressedBy: row.suppressed_by }]));
}

/** External ids of titles in the user's homes of the app on other hosts. */
export async function loadObservedElsewhere(db: Executor, home: ScannedHome): Promise<Set<string>> {
  const rows = await db
    .selectFrom('library_observations')
    .select('external_id')
    .where('user_id', '=', home.userId)
    .where('parent_app_id', '=', home.appId)
    .where('external_source', '=', home.source)
    .where('host_id', '<>', home.hostId)
    .execute();
  return new Set(rows.map(({ external_id }) => external_id));
}

/** Stores the titles that a report contained. */
export async function upsertObservations(
  tx: Tx,
  home: ScannedHome,
  titles: readonly { externalId: string; name: string; suppressedBy: string }[],
  nowMs: number,
): Promise<void> {
  const rows = titles.map(
    ({ externalId, name, suppressedBy }): LibraryObservationsTable => ({
      user_id: home.userId,
      parent_app_id: home.appId,
      external_source: home.source,
      external_id: externalId,
      host_id: home.hostId,
      name,
      last_seen_at: nowMs,
      suppressed_by: suppressedBy,
    }),
  );
  for (let at = 0; at < rows.length; at += BATCH) {
    await tx
      .insertInto('library_observations')
      .values(rows.slice(at, at + BATCH))
      .onConflict((conflict) =>
        conflict
          .columns(['user_id', 'parent_app_id', 'external_source', 'external_id', 'host_id'])
          .doUpdateSet((eb) => ({
            name: eb.ref('excluded.name'),
            last_seen_at: eb.ref('excluded.last_seen_at'),
            suppressed_by: eb.ref('excluded.suppressed_by'),
          })),
      )
      .execute();
  }
}

/** Deletes titles of the home that a complete report did not contain. */
export async function deleteObservations(
  tx: Tx,
  home: ScannedHome,
  externalIds: readonly string[],
): Promise<void> {
  for (let at = 0; at < externalIds.length; at += BATCH) {
    await tx
      .deleteFrom('library_observations')
      .where('user_id', '=', home.userId)
      .where('parent_app_id', '=', home.appId)
      .where('external_source', '=', home.source)
      .where('host_id', '=', home.hostId)
      .where('external_id', 'in', externalIds.slice(at, at + BATCH))
      .execute();
  }
}
