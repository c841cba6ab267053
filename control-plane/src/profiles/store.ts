import type { AppListItem, StreamProfile } from '@footlight/protocol/rest';
import type { Insertable, Updateable } from 'kysely';
import { bool, type Database, type Executor, type Tx } from '../platform/database/index.ts';
import type {
  ClientFailuresTable,
  LaunchProfilesTable,
  ProfilePolicyTable,
  StreamProfilesTable,
} from '../platform/database/tables/profiles.ts';
import { type ClientFailure, FAILURE_COUNTS_MS } from './offer/eligibility.ts';
import { byId, type LaunchProfileRow, type ProfileWithRungs, toRung } from './record.ts';

const POLICY_ROW = 1;

/** Size, frame rate and bitrate of a rung, as lists of apps show them. */
type DisplayStream = AppListItem['display_stream'];

/**
 * Serializes writes of rungs, launch profiles and policy, because each rule reads several of these rows. Reads are not
 * blocked.
 */
export const lockProfiles = (database: Database, tx: Tx): Promise<void> =>
  database.advisoryLock(tx, 'profiles');

/** All rungs, sorted by id. */
export async function listRungs(db: Executor): Promise<StreamProfile[]> {
  const rows = await db.selectFrom('stream_profiles').selectAll().execute();
  return rows.map(toRung).sort(byId);
}

export async function findRung(db: Executor, id: string): Promise<StreamProfile | null> {
  const row = await db.selectFrom('stream_profiles').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? toRung(row) : null;
}

/** @throws the driver's error when the id is taken */
export async function insertRung(tx: Tx, row: Insertable<StreamProfilesTable>): Promise<void> {
  await tx.insertInto('stream_profiles').values(row).execute();
}

export async function updateRung(
  tx: Tx,
  id: string,
  columns: Updateable<StreamProfilesTable>,
): Promise<void> {
  await tx.updateTable('stream_profiles').set(columns).where('id', '=', id).execute();
}

export async function deleteRung(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('stream_profiles').where('id', '=', id).execute();
}

/** Locks the rung against new sessions that use it. @returns whether the rung exists */
export async function lockRung(tx: Tx, id: string): Promise<boolean> {
  const query = tx.selectFrom('stream_profiles').select('id').where('id', '=', id);
  return (await query.forNoKeyUpdate().executeTakeFirst()) !== undefined;
}

/**
 * Locks the rungs of a new session until the transaction ends. A concurrent deletion of a rung then either sees the
 * session, or was committed before.
 * @returns the rungs that still exist
 */
export async function lockRungsShared(tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx
    .selectFrom('stream_profiles')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forShare()
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Number of sessions, live and ended, by rung; rungs without sessions are missing. */
export async function countSessionsByRung(db: Executor): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('sessions')
    .select(['stream_profile_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('stream_profile_id', 'is not', null)
    .groupBy('stream_profile_id')
    .execute();
  return new Map(rows.map((row) => [row.stream_profile_id ?? '', row.count]));
}

export async function hasSessionOfRung(tx: Tx, id: string): Promise<boolean> {
  const row = await tx
    .selectFrom('sessions')
    .select('id')
    .where('stream_profile_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** All launch profiles with chains, in list order (sort_order, then id). */
export async function listLaunchProfiles(db: Executor): Promise<ProfileWithRungs[]> {
  const profiles = await db.selectFrom('launch_profiles').selectAll().execute();
  const chains = await loadChains(db, null);
  return profiles
    .map((profile) => ({ profile, rungs: chains.get(profile.id) ?? [] }))
    .sort((a, b) => a.profile.sort_order - b.profile.sort_order || byId(a.profile, b.profile));
}

export async function findLaunchProfile(db: Executor, id: string): Promise<ProfileWithRungs | null> {
  const profile = await db.selectFrom('launch_profiles').selectAll().where('id', '=', id).executeTakeFirst();
  if (!profile) return null;
  return { profile, rungs: (await loadChains(db, id)).get(id) ?? [] };
}

/** Locks the launch profile's row against new references until the transaction ends. */
export async function lockLaunchProfile(tx: Tx, id: string): Promise<LaunchProfileRow | null> {
  const query = tx.selectFrom('launch_profiles').selectAll().where('id', '=', id);
  return (await query.forNoKeyUpdate().executeTakeFirst()) ?? null;
}

/** Chains by launch profile, best rung first. @param only null: all launch profiles */
async function loadChains(db: Executor, only: string | null): Promise<Map<string, StreamProfile[]>> {
  let query = db
    .selectFrom('launch_profile_rungs')
    .innerJoin('stream_profiles', 'stream_profiles.id', 'launch_profile_rungs.stream_profile_id')
    .selectAll('stream_profiles')
    .select('launch_profile_rungs.launch_profile_id')
    .orderBy('launch_profile_rungs.position');
  if (only !== null) query = query.where('launch_profile_rungs.launch_profile_id', '=', only);
  const chains = new Map<string, StreamProfile[]>();
  for (const row of await query.execute()) {
    const chain = chains.get(row.launch_profile_id);
    if (chain) chain.push(toRung(row));
    else chains.set(row.launch_profile_id, [toRung(row)]);
  }
  return chains;
}

/** @throws the driver's error when the id is taken */
export async function insertLaunchProfile(tx: Tx, row: Insertable<LaunchProfilesTable>): Promise<void> {
  await tx.insertInto('launch_profiles').values(row).execute();
}

export async function updateLaunchProfile(
  tx: Tx,
  id: string,
  columns: Updateable<LaunchProfilesTable>,
): Promise<void> {
  await tx.updateTable('launch_profiles').set(columns).where('id', '=', id).execute();
}

/** Cascades delete its chain and its places in allow-lists. */
export async function deleteLaunchProfile(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('launch_profiles').where('id', '=', id).execute();
}

/** @param rungIds best rung first */
export async function replaceChain(tx: Tx, id: string, rungIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('launch_profile_rungs').where('launch_profile_id', '=', id).execute();
  for (const [index, stream_profile_id] of rungIds.entries()) {
    await tx
      .insertInto('launch_profile_rungs')
      .values({ launch_profile_id: id, position: index + 1, stream_profile_id })
      .execute();
  }
}

/** Apps by default launch profile, each list sorted by name. */
export async function listAppsByDefault(db: Executor): Promise<Map<string, { id: string; name: string }[]>> {
  const rows = await db
    .selectFrom('apps')
    .select(['id', 'name', 'default_profile_id'])
    .where('default_profile_id', 'is not', null)
    .orderBy('name')
    .orderBy('id')
    .execute();
  const apps = new Map<string, { id: string; name: string }[]>();
  for (const { default_profile_id, ...app } of rows) {
    const id = default_profile_id ?? '';
    const list = apps.get(id);
    if (list) list.push(app);
    else apps.set(id, [app]);
  }
  return apps;
}

/** Number of people by default launch profile; profiles without people are missing. */
export async function countPreferences(db: Executor): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('profile_preferences')
    .select(['default_profile_id', (eb) => eb.fn.countAll<number>().as('count')])
    .groupBy('default_profile_id')
    .execute();
  return new Map(rows.map((row) => [row.default_profile_id, row.count]));
}

/**
 * For each launch profile, the number of apps whose allow-list contains it, and the number of apps whose allow-list
 * contains nothing else. Profiles on no list are missing.
 */
export async function countAllowLists(db: Executor): Promise<Map<string, { apps: number; alone: number }>> {
  const lengths = db
    .selectFrom('app_launch_profiles')
    .select(['app_id', (eb) => eb.fn.countAll<number>().as('length')])
    .groupBy('app_id')
    .as('lists');
  const rows = await db
    .selectFrom('app_launch_profiles')
    .innerJoin(lengths, 'lists.app_id', 'app_launch_profiles.app_id')
    .select((eb) => [
      'launch_profile_id',
      eb.fn.countAll<number>().as('apps'),
      eb.fn.sum<number>(eb.case().when('lists.length', '=', 1).then(1).else(0).end()).as('alone'),
    ])
    .groupBy('launch_profile_id')
    .execute();
  return new Map(rows.map(({ launch_profile_id, apps, alone }) => [launch_profile_id, { apps, alone }]));
}

/** Names of apps whose allow-list has only this launch profile, sorted. */
export async function listAppsLimitedTo(tx: Tx, id: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('app_launch_profiles')
    .innerJoin('apps', 'apps.id', 'app_launch_profiles.app_id')
    .select('apps.name')
    .where('app_launch_profiles.launch_profile_id', '=', id)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('app_launch_profiles as others')
            .select('others.app_id')
            .whereRef('others.app_id', '=', 'app_launch_profiles.app_id')
            .where('others.launch_profile_id', '<>', id),
        ),
      ),
    )
    .orderBy('apps.name')
    .orderBy('apps.id')
    .execute();
  return rows.map((row) => row.name);
}

/**
 * Returns the given ids whose launch profiles people may choose. It locks these profiles until the transaction ends, so
 * that none is deleted before the caller refers to it.
 */
export async function lockUserProfiles(tx: Tx, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  // Reads all visible profiles, because a request may contain more ids than a statement can have parameters.
  const visible = await tx
    .selectFrom('launch_profiles')
    .select('id')
    .where('visibility', '=', 'user')
    .execute();
  const requested = new Set(ids);
  const known = visible.map((row) => row.id).filter((id) => requested.has(id));
  if (known.length === 0) return new Set();
  const query = tx
    .selectFrom('launch_profiles')
    .select('id')
    .where('id', 'in', known)
    .where('visibility', '=', 'user')
    .orderBy('id');
  return new Set((await query.forNoKeyUpdate().execute()).map((row) => row.id));
}

/** The first rung of each launch profile that has one. */
export async function loadFirstRungs(db: Executor): Promise<Map<string, DisplayStream>> {
  const rows = await db
    .selectFrom('launch_profile_rungs')
    .innerJoin('stream_profiles', 'stream_profiles.id', 'launch_profile_rungs.stream_profile_id')
    .select([
      'launch_profile_rungs.launch_profile_id as id',
      'stream_profiles.width',
      'stream_profiles.height',
      'stream_profiles.fps',
      'stream_profiles.nominal_bitrate_kbps as bitrate_kbps',
    ])
    .where('launch_profile_rungs.position', '=', 1)
    .execute();
  return new Map(rows.map(({ id, ...numbers }) => [id, numbers]));
}

export interface Policy {
  globalDefaultProfileId: string | null;
  userOverridesAllowed: boolean;
}

export async function loadPolicy(db: Executor): Promise<Policy> {
  const row = await db
    .selectFrom('profile_policy')
    .select(['global_default_profile_id', 'user_overrides_allowed'])
    .where('id', '=', POLICY_ROW)
    .executeTakeFirstOrThrow();
  return {
    globalDefaultProfileId: row.global_default_profile_id,
    userOverridesAllowed: bool(row.user_overrides_allowed),
  };
}

export async function updatePolicy(tx: Tx, columns: Updateable<ProfilePolicyTable>): Promise<void> {
  await tx.updateTable('profile_policy').set(columns).where('id', '=', POLICY_ROW).execute();
}

/** Marks the shipped catalog as stored. @returns false when it was already stored */
export async function claimShippedCatalog(tx: Tx, nowMs: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('profile_policy')
    .set({ shipped_catalog_at: nowMs })
    .where('id', '=', POLICY_ROW)
    .where('shipped_catalog_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The user's default launch profile; null: the user has none. */
export async function loadPreference(db: Executor, userId: string): Promise<string | null> {
  return (await loadPreferences(db, [userId])).get(userId) ?? null;
}

/** Batched form of `loadPreference`; people without a preference are missing. */
export async function loadPreferences(
  db: Executor,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  if (userIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('profile_preferences')
    .select(['user_id', 'default_profile_id'])
    .where('user_id', 'in', userIds)
    .execute();
  return new Map(rows.map((row) => [row.user_id, row.default_profile_id]));
}

export async function storePreference(
  tx: Tx,
  userId: string,
  profileId: string | null,
  nowMs: number,
): Promise<void> {
  if (profileId === null) {
    await tx.deleteFrom('profile_preferences').where('user_id', '=', userId).execute();
    return;
  }
  const columns = { default_profile_id: profileId, updated_at: nowMs };
  await tx
    .insertInto('profile_preferences')
    .values({ user_id: userId, ...columns })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(columns))
    .execute();
}

/** Failures of the device since the given time. */
export async function listClientFailures(
  db: Executor,
  deviceId: string,
  sinceMs: number,
): Promise<readonly ClientFailure[]> {
  return (await loadClientFailures(db, [deviceId], sinceMs)).get(deviceId) ?? [];
}

/** Batched form of `listClientFailures`; devices without failures are missing. */
export async function loadClientFailures(
  db: Executor,
  deviceIds: readonly string[],
  sinceMs: number,
): Promise<Map<string, ClientFailure[]>> {
  const failures = new Map<string, ClientFailure[]>();
  if (deviceIds.length === 0) return failures;
  const rows = await db
    .selectFrom('client_failures')
    .select(['device_id', 'launch_profile_id', 'stream_profile_id', 'codec'])
    .where('device_id', 'in', deviceIds)
    .where('outcome', '=', 'fail')
    .where('recorded_at', '>=', sinceMs)
    .execute();
  for (const row of rows) {
    const failure = {
      launch_profile_id: row.launch_profile_id || null,
      stream_profile_id: row.stream_profile_id || null,
      codec: row.codec || null,
    };
    const list = failures.get(row.device_id);
    if (list) list.push(failure);
    else failures.set(row.device_id, [failure]);
  }
  return failures;
}

/** Key of a recorded failure; the codec has its name in the catalog. */
export type DecodeKey = Pick<
  ClientFailuresTable,
  'device_id' | 'launch_profile_id' | 'stream_profile_id' | 'codec'
>;

/** Records that the device cannot decode the rung, and deletes the device's failures that no longer count. */
export async function storeClientFailure(db: Executor, key: DecodeKey, nowMs: number): Promise<void> {
  await db
    .insertInto('client_failures')
    .values({ ...key, outcome: 'fail', recorded_at: nowMs })
    .onConflict((conflict) =>
      conflict
        .columns(['device_id', 'launch_profile_id', 'stream_profile_id', 'codec'])
        .doUpdateSet({ recorded_at: nowMs }),
    )
    .execute();
  await db
    .deleteFrom('client_failures')
    .where('device_id', '=', key.device_id)
    .where('recorded_at', '<', nowMs - FAILURE_COUNTS_MS)
    .execute();
}

/** Deletes a failure that was recorded before the given time. */
export async function forgetClientFailure(db: Executor, key: DecodeKey, beforeMs: number): Promise<void> {
  await db
    .deleteFrom('client_failures')
    .where('device_id', '=', key.device_id)
    .where('launch_profile_id', '=', key.launch_profile_id)
    .where('stream_profile_id', '=', key.stream_profile_id)
    .where('codec', '=', key.codec)
    .where('recorded_at', '<', beforeMs)
    .execute();
}
