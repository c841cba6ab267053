import type { AppListItem } from '@footlight/protocol/rest';
import { loadLatestProbe } from '../accounts/index.ts';
import { loadAllowLists, versionReader } from '../catalog/index.ts';
import {
  bool,
  type Database,
  type Executor,
  fromJson,
  readOnce,
  type Tx,
} from '../platform/database/index.ts';
import type { AppsTable } from '../platform/database/tables/catalog.ts';
import {
  FAILURE_COUNTS_MS,
  listClientFailures,
  listLaunchProfiles,
  loadPolicy,
  loadPreference,
} from '../profiles/index.ts';
import { loadNewestHomeHost } from '../storage/index.ts';
import type { PresetFacts, RuntimeFacts } from './app-spec.ts';
import type { HeldFacts, Snapshot } from './launch/admission.ts';
import { loadQuotaSessions } from './store.ts';

/** An app as a launch sees it. */
export interface LaunchApp extends RuntimeFacts {
  id: string;
  name: string;
  enabled: boolean;
  parent_app_id: string | null;
  external_source: string;
  external_id: string;
  default_width: number;
  default_height: number;
  default_fps: number;
  default_bitrate_kbps: number;
  default_encode_slots: number;
  default_profile_id: string | null;
  profile_policy: AppListItem['profile_policy'];
  preset: PresetFacts | null;
}

/** @returns null for an unknown app; a disabled one is returned */
export async function loadLaunchApp(db: Executor, id: string): Promise<LaunchApp | null> {
  const app = await db.selectFrom('apps').selectAll().where('id', '=', id).executeTakeFirst();
  if (app === undefined) return null;
  return {
    id: app.id,
    name: app.name,
    enabled: bool(app.enabled),
    parent_app_id: app.parent_app_id,
    external_source: app.external_source,
    external_id: app.external_id,
    default_width: app.default_width,
    default_height: app.default_height,
    default_fps: app.default_fps,
    default_bitrate_kbps: app.default_bitrate_kbps,
    default_encode_slots: app.default_encode_slots,
    default_profile_id: app.default_profile_id,
    profile_policy: app.profile_policy,
    runtime_spec: fromJson(app.runtime_spec),
    managed_home: bool(app.managed_home),
    home_container_path: app.home_container_path,
    preset: await loadPreset(db, app.runtime_preset_id),
  };
}

async function loadPreset(db: Executor, id: AppsTable['runtime_preset_id']): Promise<PresetFacts | null> {
  if (id === null) return null;
  const row = await db
    .selectFrom('runtime_presets')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return {
    image: row.image,
    args: fromJson(row.args),
    env: fromJson(row.env),
    mounts: fromJson(row.mounts),
    managed_home: bool(row.managed_home),
    home_container_path: row.home_container_path,
    network: row.network,
  };
}

/** Who a launch is for. */
export interface Launcher {
  userId: string;
  role: 'user' | 'admin';
  /** The device of the sign-in; null = it has none. */
  deviceId: string | null;
}

/** What a launch reads that is the same for everybody. */
type SharedFacts = Pick<Snapshot['choice'], 'profiles' | 'policy'>;

/**
 * Reads launch profiles and policy, which is much and seldom changes: kept until the next version of the catalog, which
 * every write of them makes, and read once for all who launch at the same moment.
 */
export function catalogReader(database: Database): () => Promise<SharedFacts> {
  const loadVersion = versionReader(database);
  let kept: { version: number; facts: SharedFacts } | null = null;
  return readOnce(async () => {
    // The version first: what is read after it is never older than the version says.
    const version = await loadVersion();
    if (kept?.version === version) return kept.facts;
    const [profiles, policy] = await Promise.all([listLaunchProfiles(database.db), loadPolicy(database.db)]);
    kept = { version, facts: { profiles, policy } };
    return kept.facts;
  });
}

/** Reads all that a launch is judged by before its transaction. What the app's absence decides is not read. */
export async function loadSnapshot(
  db: Executor,
  launcher: Launcher,
  appId: string,
  { catalog, ...facts }: Pick<Snapshot, 'settings' | 'prefersHomeHost'> & { catalog: SharedFacts },
  nowMs: number,
): Promise<Snapshot> {
  const { userId } = launcher;
  const isAdmin = launcher.role === 'admin';
  const found = await loadLaunchApp(db, appId);
  const app = found?.enabled ? found : null;
  const parent = app?.parent_app_id ? await loadLaunchApp(db, app.parent_app_id) : null;
  const entitled = app !== null && (await isEntitled(db, userId, app.id));
  const needsHome = parent !== null || facts.prefersHomeHost;
  const [allowLists, preference, latest, home] = await Promise.all([
    loadAllowLists(db, app === null ? [] : [app.id]),
    loadPreference(db, userId),
    loadLatestProbe(db, userId, nowMs),
    app !== null && needsHome ? loadNewestHomeHost(db, userId, parent?.id ?? app.id) : null,
  ]);
  const probe = latest.probe.kind === 'fresh' ? latest.probe.facts : null;
  const failures =
    latest.deviceId === null ? [] : await listClientFailures(db, latest.deviceId, nowMs - FAILURE_COUNTS_MS);
  return {
    ...facts,
    app,
    parent,
    entitled,
    choice: {
      isAdmin,
      allowList: allowLists.get(appId) ?? [],
      ...catalog,
      preference,
      client: { probe, failures },
    },
    viewer: { isAdmin, probe },
    homeHostId: home?.host_id ?? null,
  };
}

/** What a launch is judged by once it holds the user's row: call inside the transaction. */
export async function holdFacts(
  database: Database,
  tx: Tx,
  launcher: Launcher,
  appId: string,
): Promise<HeldFacts & { username: string }> {
  const user = await lockUser(database, tx, launcher.userId);
  return {
    username: user?.username ?? '',
    maxConcurrentSessions: user?.max_concurrent_sessions ?? null,
    entitled: await holdEntitlement(database, tx, launcher.userId, appId),
    deviceExists: launcher.deviceId === null || (await deviceExists(tx, launcher.deviceId)),
    sessions: await loadQuotaSessions(tx, launcher.userId),
  };
}

/** The same as it stands, with nothing held. */
export async function loadHeldFacts(
  db: Executor,
  launcher: Launcher,
  appId: string,
): Promise<HeldFacts & { username: string }> {
  const user = await limits(db, launcher.userId).executeTakeFirst();
  return {
    username: user?.username ?? '',
    maxConcurrentSessions: user?.max_concurrent_sessions ?? null,
    entitled: await isEntitled(db, launcher.userId, appId),
    deviceExists: true,
    sessions: await loadQuotaSessions(db, launcher.userId),
  };
}

/** The account that a launch is judged for. @returns null: there is none, or it is of the service itself */
export async function findLauncher(db: Executor, userId: string): Promise<Launcher | null> {
  const user = await db
    .selectFrom('users')
    .select(['id', 'role'])
    .where('id', '=', userId)
    .where('internal', '=', 0)
    .executeTakeFirst();
  return user === undefined ? null : { userId: user.id, role: user.role, deviceId: null };
}

const limits = (db: Executor, userId: string) =>
  db.selectFrom('users').select(['max_concurrent_sessions', 'username']).where('id', '=', userId);

const entitlement = (db: Executor, userId: string, appId: string) =>
  db
    .selectFrom('entitlements')
    .select('id')
    .where('app_id', '=', appId)
    .where((eb) =>
      eb.or([
        eb('subject_type', '=', 'all'),
        eb.and([eb('subject_type', '=', 'user'), eb('subject_id', '=', userId)]),
      ]),
    );

async function isEntitled(db: Executor, userId: string, appId: string): Promise<boolean> {
  return (await entitlement(db, userId, appId).executeTakeFirst()) !== undefined;
}

/**
 * The same, with the rows held until the transaction ends: a revocation that commits first is seen, and one that comes
 * later waits. Shared locks, since launches of one app must not wait for one another.
 */
export async function holdEntitlement(
  database: Database,
  tx: Tx,
  userId: string,
  appId: string,
): Promise<boolean> {
  const rows = await database.forShare(entitlement(tx, userId, appId).orderBy('id')).execute();
  return rows.length > 0;
}

/** Locks the row of the user: launches of one user come one after the other. */
export async function lockUser(
  database: Database,
  tx: Tx,
  userId: string,
): Promise<{ max_concurrent_sessions: number; username: string } | undefined> {
  return database.forUpdate(limits(tx, userId)).executeTakeFirst();
}

/** Call with the user's row locked: removing a device takes the same lock. */
async function deviceExists(tx: Tx, deviceId: string): Promise<boolean> {
  const row = await tx.selectFrom('devices').select('id').where('id', '=', deviceId).executeTakeFirst();
  return row !== undefined;
}

/** Locks GPUs, waiting for whoever holds one. In the order of their ids, so that two launches never wait in a ring. */
export async function lockGpus(database: Database, tx: Tx, gpuIds: readonly string[] | null): Promise<void> {
  let query = tx.selectFrom('gpus').select('id').orderBy('id');
  if (gpuIds !== null) query = query.where('id', 'in', gpuIds.length === 0 ? [''] : gpuIds);
  await database.forUpdate(query).execute();
}
