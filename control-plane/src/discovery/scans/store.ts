import type { ExpressionBuilder, Insertable, Selectable } from 'kysely';
import type { Executor, Schema, Tx } from '../../platform/database/index.ts';
import type { LibraryScansTable } from '../../platform/database/tables/library.ts';

export type ScanRow = Selectable<LibraryScansTable>;

/** The user, provider app and host of a home. */
export interface HomeKey {
  user_id: string;
  app_id: string;
  host_id: string;
}

/** Restricts a manual scan to an app or a user; null: no restriction. */
export interface ScanScope {
  appId: string | null;
  userId: string | null;
}

const OPEN = ['pending', 'claimed'] as const;
const ENDED = ['reported', 'failed'] as const;
const BATCH = 500;

/**
 * A home is scanned if it is not marked for deletion, is a directory, and has a user, a host and an app with a library
 * provider.
 */
const isScanned = (eb: ExpressionBuilder<Schema, 'storage_homes' | 'apps'>) =>
  eb.and([
    eb('storage_homes.gc_after', 'is', null),
    eb('storage_homes.provider', '=', 'local'),
    eb('storage_homes.ref', '<>', ''),
    eb('storage_homes.host_id', 'is not', null),
    eb('storage_homes.user_id', 'is not', null),
    eb('apps.library_provider', '<>', ''),
  ]);

const scannedHomes = (db: Executor) =>
  db.selectFrom('storage_homes').innerJoin('apps', 'apps.id', 'storage_homes.app_id').where(isScanned);

/** Whether the home of a scan is still scanned. */
const hasScannedHome = (eb: ExpressionBuilder<Schema, 'library_scans'>) =>
  eb.exists(
    eb
      .selectFrom('storage_homes')
      .innerJoin('apps', 'apps.id', 'storage_homes.app_id')
      .select('storage_homes.id')
      .whereRef('storage_homes.user_id', '=', 'library_scans.user_id')
      .whereRef('storage_homes.app_id', '=', 'library_scans.app_id')
      .whereRef('storage_homes.host_id', '=', 'library_scans.host_id')
      .where(isScanned),
  );

const homeKeys = (db: Executor) =>
  scannedHomes(db)
    .select(['storage_homes.user_id', 'storage_homes.app_id', 'storage_homes.host_id'])
    .orderBy('storage_homes.id')
    .$narrowType<HomeKey>();

/** All scanned homes in the scope. */
export function listHomes(db: Executor, scope: ScanScope): Promise<HomeKey[]> {
  let query = homeKeys(db);
  if (scope.appId !== null) query = query.where('storage_homes.app_id', '=', scope.appId);
  if (scope.userId !== null) query = query.where('storage_homes.user_id', '=', scope.userId);
  return query.execute();
}

/**
 * Homes with titles from earlier scans whose home record no longer exists.
 * @param only null: all homes
 */
export async function listGoneHomes(
  db: Executor,
  only: { userId: string; appId: string; hostId: string } | null,
): Promise<{ userId: string; appId: string; hostId: string; source: string }[]> {
  let query = db
    .selectFrom('library_observations as seen')
    .select(['seen.user_id', 'seen.parent_app_id', 'seen.host_id', 'seen.external_source'])
    .distinct()
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('storage_homes')
            .select('storage_homes.id')
            .whereRef('storage_homes.user_id', '=', 'seen.user_id')
            .whereRef('storage_homes.app_id', '=', 'seen.parent_app_id')
            .whereRef('storage_homes.host_id', '=', 'seen.host_id'),
        ),
      ),
    );
  if (only !== null)
    query = query
      .where('seen.user_id', '=', only.userId)
      .where('seen.parent_app_id', '=', only.appId)
      .where('seen.host_id', '=', only.hostId);
  return (await query.execute()).map((row) => ({
    userId: row.user_id,
    appId: row.parent_app_id,
    hostId: row.host_id,
    source: row.external_source,
  }));
}

/**
 * Homes that have no open scan, and whose last reported scan was created at or before `madeUntilMs`. A scan dated in
 * the future was stored while the clock was ahead, and is ignored.
 */
export function listDueHomes(
  db: Executor,
  { madeUntilMs, nowMs }: { madeUntilMs: number; nowMs: number },
): Promise<HomeKey[]> {
  return homeKeys(db)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('library_scans')
            .select('library_scans.id')
            .whereRef('library_scans.user_id', '=', 'storage_homes.user_id')
            .whereRef('library_scans.app_id', '=', 'storage_homes.app_id')
            .whereRef('library_scans.host_id', '=', 'storage_homes.host_id')
            .where((scan) =>
              scan.or([
                scan('library_scans.state', 'in', OPEN),
                scan.and([
                  scan('library_scans.state', '=', 'reported'),
                  scan('library_scans.created_at', '>', madeUntilMs),
                  scan('library_scans.created_at', '<=', nowMs),
                ]),
              ]),
            ),
        ),
      ),
    )
    .execute();
}

/** Adds pending scans; a home with an open scan is skipped. @returns inserted rows (count) */
export async function insertScans(
  tx: Tx,
  scans: readonly (HomeKey & { id: string })[],
  nowMs: number,
): Promise<number> {
  let inserted = 0;
  for (let at = 0; at < scans.length; at += BATCH) {
    const rows = scans
      .slice(at, at + BATCH)
      .map((scan): Insertable<LibraryScansTable> => ({ ...scan, ...NEW_SCAN, created_at: nowMs }));
    const made = await tx
      .insertInto('library_scans')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .execute();
    inserted += made.length;
  }
  return inserted;
}

const NEW_SCAN = {
  state: 'pending',
  claimed_at: null,
  claimed_boot: null,
  reported_at: null,
  complete: null,
  error: '',
  observed: 0,
  suppressed: 0,
  created: 0,
  disabled: 0,
  granted: 0,
  revoked: 0,
  rejected: 0,
  backfilled: 0,
} as const;

/**
 * Sets claimed scans to pending again if their claim is at least `afterMs` old, or is at least `afterMs` in the future
 * because the clock was ahead.
 * @returns changed rows (count)
 */
export async function returnAbandoned(
  tx: Tx,
  { nowMs, afterMs }: { nowMs: number; afterMs: number },
): Promise<number> {
  const query = tx
    .selectFrom('library_scans')
    .select('id')
    .where('state', '=', 'claimed')
    .where((scan) =>
      scan.or([scan('claimed_at', '<=', nowMs - afterMs), scan('claimed_at', '>', nowMs + afterMs)]),
    )
    .orderBy('id');
  const ids = (await query.forNoKeyUpdate().skipLocked().execute()).map(({ id }) => id);
  for (let at = 0; at < ids.length; at += BATCH) {
    await tx
      .updateTable('library_scans')
      .set({ state: 'pending', claimed_at: null, claimed_boot: null })
      .where('id', 'in', ids.slice(at, at + BATCH))
      .execute();
  }
  return ids.length;
}

/** Ends pending scans whose home is no longer scanned. @returns changed rows (count) */
export async function failStranded(tx: Tx, error: string, nowMs: number): Promise<number> {
  const query = tx
    .selectFrom('library_scans')
    .select('id')
    .where('state', '=', 'pending')
    .where((eb) => eb.not(hasScannedHome(eb)))
    .orderBy('id');
  const ids = (await query.forNoKeyUpdate().skipLocked().execute()).map(({ id }) => id);
  for (let at = 0; at < ids.length; at += BATCH) {
    await tx
      .updateTable('library_scans')
      .set({ state: 'failed', error, reported_at: nowMs })
      .where('id', 'in', ids.slice(at, at + BATCH))
      .execute();
  }
  return ids.length;
}

/** Deletes scans that ended at or before the given time. @returns deleted rows (count) */
export async function deleteEnded(tx: Tx, endedUntilMs: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('library_scans')
    .where('state', 'in', ENDED)
    .where('reported_at', '<=', endedUntilMs)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** A scan with the fields that its agent needs. */
export interface ClaimedScan {
  id: string;
  ref: string;
  app_path: string;
  /** null: the app has no preset. */
  preset_path: string | null;
  home_base: string | null;
}

const tasksOf = (db: Executor) =>
  scannedHomes(db)
    .innerJoin('library_scans', (join) =>
      join
        .onRef('library_scans.user_id', '=', 'storage_homes.user_id')
        .onRef('library_scans.app_id', '=', 'storage_homes.app_id')
        .onRef('library_scans.host_id', '=', 'storage_homes.host_id'),
    )
    .leftJoin('runtime_presets', 'runtime_presets.id', 'apps.runtime_preset_id')
    .select([
      'library_scans.id',
      'storage_homes.ref',
      'apps.home_base',
      'apps.home_container_path as app_path',
      'runtime_presets.home_container_path as preset_path',
    ])
    .orderBy('library_scans.created_at')
    .orderBy('library_scans.id');

/** Scans that this agent process claimed at or before `untilMs` and has not reported, oldest first. */
export function listClaimed(
  tx: Tx,
  claim: { hostId: string; bootId: string; untilMs: number; limit: number },
): Promise<ClaimedScan[]> {
  return tasksOf(tx)
    .where('library_scans.host_id', '=', claim.hostId)
    .where('library_scans.state', '=', 'claimed')
    .where('library_scans.claimed_boot', '=', claim.bootId)
    .where('library_scans.claimed_at', '<=', claim.untilMs)
    .limit(claim.limit)
    .execute();
}

/** Claims pending scans of the host, oldest first; scans that another call is claiming are skipped. */
export async function claimPending(
  tx: Tx,
  claim: { hostId: string; bootId: string | null; nowMs: number; limit: number },
): Promise<ClaimedScan[]> {
  if (claim.limit <= 0) return [];
  const pending = tx
    .selectFrom('library_scans')
    .select('id')
    .where('host_id', '=', claim.hostId)
    .where('state', '=', 'pending')
    .where(hasScannedHome)
    .orderBy('created_at')
    .orderBy('id')
    .limit(claim.limit);
  const ids = (await pending.forNoKeyUpdate().skipLocked().execute()).map(({ id }) => id);
  if (ids.length === 0) return [];
  const tasks = await tasksOf(tx).where('library_scans.id', 'in', ids).execute();
  if (tasks.length === 0) return [];
  await tx
    .updateTable('library_scans')
    .set({ state: 'claimed', claimed_at: claim.nowMs, claimed_boot: claim.bootId })
    .where(
      'id',
      'in',
      tasks.map(({ id }) => id),
    )
    .execute();
  return tasks;
}

/** The scan, if it belongs to this host; otherwise null. */
export async function findScanOfHost(db: Executor, id: string, hostId: string): Promise<ScanRow | null> {
  const row = await db
    .selectFrom('library_scans')
    .selectAll()
    .where('id', '=', id)
    .where('host_id', '=', hostId)
    .executeTakeFirst();
  return row ?? null;
}

/** Ends a claimed scan. @returns false: the scan is no longer claimed */
export async function endScan(
  db: Executor,
  id: string,
  outcome: Partial<Omit<LibraryScansTable, 'id' | 'created_at'>> & Pick<LibraryScansTable, 'state'>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('library_scans')
    .set(outcome)
    .where('id', '=', id)
    .where('state', '=', 'claimed')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Number of tiles that were created by the stored scans of the person's homes of an app. */
export async function countCreatedTiles(
  tx: Tx,
  { user_id, app_id }: Pick<HomeKey, 'user_id' | 'app_id'>,
): Promise<number> {
  const row = await tx
    .selectFrom('library_scans')
    .select((eb) => eb.fn.sum<number | string | null>('created').as('created'))
    .where('user_id', '=', user_id)
    .where('app_id', '=', app_id)
    .executeTakeFirst();
  return Number(row?.created ?? 0);
}

/** Number of scans by state. */
export async function countScans(db: Executor): Promise<Record<ScanRow['state'], number>> {
  const counts = { pending: 0, claimed: 0, reported: 0, failed: 0 };
  const rows = await db
    .selectFrom('library_scans')
    .select(['state', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute();
  for (const { state, count } of rows) counts[state] = count;
  return counts;
}

/** Ended scans with the names of user, app and host, newest first. */
export function listEnded(
  db: Executor,
  limit: number,
): Promise<(ScanRow & { username: string; node_name: string })[]> {
  return db
    .selectFrom('library_scans')
    .innerJoin('users', 'users.id', 'library_scans.user_id')
    .innerJoin('hosts', 'hosts.id', 'library_scans.host_id')
    .selectAll('library_scans')
    .select(['users.username', 'hosts.node_name'])
    .where('library_scans.state', 'in', ENDED)
    .orderBy('library_scans.reported_at', 'desc')
    .orderBy('library_scans.id', 'desc')
    .limit(limit)
    .execute();
}

/** End of the newest scan with a report, epoch milliseconds; null: no scan was reported. */
export async function loadLastReportAt(db: Executor): Promise<number | null> {
  const row = await db
    .selectFrom('library_scans')
    .select('reported_at')
    .where('state', '=', 'reported')
    .orderBy('reported_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.reported_at ?? null;
}
