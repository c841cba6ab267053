import type { AppListItem } from '@footlight/protocol/rest';
import type { Selectable } from 'kysely';
import { loadLatestProbes, NO_DEVICE } from '../../accounts/index.ts';
import { loadAllowLists, toPresetFields, versionReader } from '../../catalog/index.ts';
import {
  bool,
  type Database,
  type Executor,
  fromJson,
  readOnce,
  statement,
  type Tx,
} from '../../platform/database/index.ts';
import type { AppsTable } from '../../platform/database/tables/catalog.ts';
import {
  FAILURE_COUNTS_MS,
  listLaunchProfiles,
  loadClientFailures,
  loadPolicy,
  loadPreferences,
} from '../../profiles/index.ts';
import { loadNewestHomeHost } from '../../storage/index.ts';
import type { PresetFacts, RuntimeFacts } from '../app-spec.ts';
import { countQuotaSessions, loadHomeHolders } from '../store.ts';
import type { HeldFacts, Snapshot } from './admission.ts';

/** App facts that a launch needs. */
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

/** @returns null for an unknown app; a disabled app is returned */
export async function loadLaunchApp(db: Executor, id: string): Promise<LaunchApp | null> {
  return (await loadLaunchApps(db, [id])).get(id) ?? null;
}

const appsById = statement((db, { ids }: { ids: readonly string[] }) =>
  db.selectFrom('apps').selectAll().where('id', 'in', ids),
);

/** Batched form of `loadLaunchApp`; unknown apps are missing. */
async function loadLaunchApps(db: Executor, ids: readonly string[]): Promise<Map<string, LaunchApp>> {
  if (ids.length === 0) return new Map();
  const rows = await appsById(db, { ids }, {});
  const presets = await loadPresets(
    db,
    rows.map((app) => app.runtime_preset_id).filter((id) => id !== null),
  );
  return new Map(rows.map((app) => [app.id, toLaunchApp(app, presets)]));
}

function toLaunchApp(app: Selectable<AppsTable>, presets: ReadonlyMap<string, PresetFacts>): LaunchApp {
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
    preset: presets.get(app.runtime_preset_id ?? '') ?? null,
  };
}

const presetsById = statement((db, { ids }: { ids: readonly string[] }) =>
  db.selectFrom('runtime_presets').selectAll().where('id', 'in', ids),
);

async function loadPresets(db: Executor, ids: readonly string[]): Promise<Map<string, PresetFacts>> {
  if (ids.length === 0) return new Map();
  const rows = await presetsById(db, { ids }, {});
  return new Map(rows.map((row) => [row.id, toPresetFields(row)]));
}

/** The account of a launch. */
export interface Launcher {
  userId: string;
  role: 'user' | 'admin';
  /** Device of the sign-in; null = none. */
  deviceId: string | null;
}

/** Facts of a launch that are equal for all people. */
type CatalogFacts = Pick<Snapshot['choice'], 'profiles' | 'policy'>;

/**
 * Reads launch profiles and policy. Both are large and change seldom, so they are cached until the next catalog
 * version, and concurrent launches share one read.
 */
export function catalogReader(database: Database): () => Promise<CatalogFacts> {
  const loadVersion = versionReader(database);
  let kept: { version: number; facts: CatalogFacts } | null = null;
  return readOnce(async () => {
    // Read the version first: the facts are then at least as new as their version.
    const version = await loadVersion();
    if (kept?.version === version) return kept.facts;
    const [profiles, policy] = await Promise.all([listLaunchProfiles(database.db), loadPolicy(database.db)]);
    kept = { version, facts: { profiles, policy } };
    return kept.facts;
  });
}

/** The part of a launch that reads need. */
export interface Asked {
  launcher: Launcher;
  appId: string;
}

/** A snapshot without the facts that are equal for all people. */
type OwnFacts = Omit<Snapshot, 'settings' | 'choice'> & {
  choice: Omit<Snapshot['choice'], keyof CatalogFacts | 'encoderMpixelS'>;
};

/**
 * Reads the facts of a batch before its transaction, each table once.
 * @returns one entry each, in order
 */
export async function loadOwnFacts(
  db: Executor,
  asked: readonly Asked[],
  prefersHomeHost: boolean,
  nowMs: number,
): Promise<OwnFacts[]> {
  const userIds = distinct(asked.map(({ launcher }) => launcher.userId));
  const appIds = distinct(asked.map(({ appId }) => appId));
  const [apps, entitled, allowLists, preferences, latest] = await Promise.all([
    loadLaunchApps(db, appIds),
    loadEntitled(db, userIds, appIds),
    loadAllowLists(db, appIds),
    loadPreferences(db, userIds),
    loadLatestProbes(db, userIds, nowMs),
  ]);
  const parentIds = [...apps.values()].map((app) => app.parent_app_id).filter((id) => id !== null);
  const deviceIds = [...latest.values()].map(({ deviceId }) => deviceId).filter((id) => id !== null);
  const [parents, failures] = await Promise.all([
    loadLaunchApps(db, distinct(parentIds)),
    loadClientFailures(db, deviceIds, nowMs - FAILURE_COUNTS_MS),
  ]);
  return Promise.all(
    asked.map(async ({ launcher, appId }) => {
      const { userId } = launcher;
      const isAdmin = launcher.role === 'admin';
      const found = apps.get(appId);
      const app = found?.enabled ? found : null;
      const parent = app?.parent_app_id ? (parents.get(app.parent_app_id) ?? null) : null;
      const { deviceId, probe: measured } = latest.get(userId) ?? NO_DEVICE;
      const probe = measured.kind === 'fresh' ? measured.facts : null;
      const needsHome = app !== null && (parent !== null || prefersHomeHost);
      const home = needsHome ? await loadNewestHomeHost(db, userId, parent?.id ?? app.id) : null;
      return {
        app,
        parent,
        entitled: app !== null && entitled(userId, app.id),
        choice: {
          isAdmin,
          allowList: allowLists.get(appId) ?? [],
          preference: preferences.get(userId) ?? null,
          client: { probe, failures: failures.get(deviceId ?? '') ?? [] },
        },
        viewer: { isAdmin, probe },
        homeHostId: home?.host_id ?? null,
        prefersHomeHost,
      };
    }),
  );
}

/** Facts of a launch with the user's row locked. */
export type Held = HeldFacts & { username: string };

/** A launch with the home that it needs. */
export interface Holding extends Asked {
  /** The app whose home it needs; null: none. */
  homeAppId: string | null;
}

/**
 * Locks the rows that launches depend on and reads their facts. Call inside the transaction.
 * @returns one entry each, in order
 */
export function holdFacts(tx: Tx, asked: readonly Holding[]): Promise<Held[]> {
  return loadFacts(tx, asked, lockedLimits, heldEntitlements);
}

/** The same facts without locks. */
export async function loadHeldFacts(db: Executor, asked: Holding): Promise<Held> {
  return (await loadFacts(db, [asked], limits, entitlements))[0] as Held;
}

async function loadFacts(
  db: Executor,
  asked: readonly Holding[],
  loadLimits: typeof limits,
  loadEntitlements: typeof entitlements,
): Promise<Held[]> {
  const userIds = distinct(asked.map(({ launcher }) => launcher.userId));
  const homeAppIds = asked.map(({ homeAppId }) => homeAppId).filter((id) => id !== null);
  // In this order: queries after the lock of the users see the changes that the lock waited for.
  const [users, entitled, devices, sessions, homes] = await Promise.all([
    loadLimits(db, { userIds }, {}),
    loadEntitled(db, userIds, distinct(asked.map(({ appId }) => appId)), loadEntitlements),
    loadDeviceIds(
      db,
      asked.map(({ launcher }) => launcher.deviceId).filter((id) => id !== null),
    ),
    countQuotaSessions(db, userIds),
    loadHomeHolders(db, userIds, distinct(homeAppIds)),
  ]);
  return asked.map(({ launcher: { userId, deviceId }, appId }) => {
    const user = users.find(({ id }) => id === userId);
    return {
      username: user?.username ?? '',
      maxConcurrentSessions: user?.max_concurrent_sessions ?? null,
      disabled: (user?.disabled_at ?? null) !== null,
      entitled: entitled(userId, appId),
      deviceExists: deviceId === null || devices.has(deviceId),
      sessions: sessions.get(userId) ?? 0,
      homes: homes.filter(({ user_id }) => user_id === userId),
    };
  });
}

/** The account of a launch. @returns null: unknown, or an internal account */
export async function findLauncher(db: Executor, userId: string): Promise<Launcher | null> {
  const user = await db
    .selectFrom('users')
    .select(['id', 'role'])
    .where('id', '=', userId)
    .where('internal', '=', 0)
    .executeTakeFirst();
  return user === undefined ? null : { userId: user.id, role: user.role, deviceId: null };
}

type UserIds = { userIds: readonly string[] };

const selectLimits = (db: Executor, { userIds }: UserIds) =>
  db
    .selectFrom('users')
    .select(['id', 'max_concurrent_sessions', 'username', 'disabled_at'])
    .where('id', 'in', userIds)
    .orderBy('id');

const limits = statement(selectLimits);
/** In order of id, so that two launches cannot deadlock. */
const lockedLimits = statement((db, lists: UserIds, _values, { forNoKeyUpdate }) =>
  forNoKeyUpdate(selectLimits(db, lists)),
);

/** Entitlements of these users for these apps. */
const selectEntitlements = (db: Executor, { userIds, appIds }: UserIds & { appIds: readonly string[] }) =>
  db
    .selectFrom('entitlements')
    .select(['app_id', 'subject_type', 'subject_id'])
    .where('app_id', 'in', appIds)
    .where((eb) =>
      eb.or([
        eb('subject_type', '=', 'all'),
        eb.and([eb('subject_type', '=', 'user'), eb('subject_id', 'in', userIds)]),
      ]),
    )
    .orderBy('id');

const entitlements = statement(selectEntitlements);
/**
 * Locks entitlements until the transaction ends: a revocation that commits first is seen, a later one waits. Shared
 * locks, so launches of one app do not wait for each other.
 */
const heldEntitlements = statement(
  (db, lists: UserIds & { appIds: readonly string[] }, _values, { forShare }) =>
    forShare(selectEntitlements(db, lists)),
);

async function loadEntitled(
  db: Executor,
  userIds: readonly string[],
  appIds: readonly string[],
  load = entitlements,
): Promise<(userId: string, appId: string) => boolean> {
  const everybody = new Set<string>();
  const single = new Set<string>();
  for (const { app_id, subject_type, subject_id } of await load(db, { userIds, appIds }, {})) {
    if (subject_type === 'all') everybody.add(app_id);
    else single.add(`${app_id} ${subject_id}`);
  }
  return (userId, appId) => everybody.has(appId) || single.has(`${appId} ${userId}`);
}

/** Whether the person may launch the app; locks the rows until the transaction ends. */
export async function holdEntitlement(tx: Tx, userId: string, appId: string): Promise<boolean> {
  return (await loadEntitled(tx, [userId], [appId], heldEntitlements))(userId, appId);
}

/** Locks the user's row, which serializes launches of one user. */
export async function lockUser(
  tx: Tx,
  userId: string,
): Promise<{ max_concurrent_sessions: number; username: string } | undefined> {
  return (await lockedLimits(tx, { userIds: [userId] }, {}))[0];
}

const devicesById = statement((db, { ids }: { ids: readonly string[] }) =>
  db.selectFrom('devices').select('id').where('id', 'in', ids),
);

/** Existing devices. They stay while their users' rows are locked, because a removal takes the same lock. */
async function loadDeviceIds(db: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await devicesById(db, { ids }, {})).map(({ id }) => id));
}

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];

/** Locks GPUs, waiting for each, in order of id, so that two launches cannot deadlock. */
export async function lockGpus(database: Database, tx: Tx, gpuIds: readonly string[] | null): Promise<void> {
  let query = tx.selectFrom('gpus').select('id').orderBy('id');
  if (gpuIds !== null) query = query.where('id', 'in', gpuIds.length === 0 ? [''] : gpuIds);
  await database.forNoKeyUpdate(query).execute();
}
