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
  return (await loadLaunchApps(db, [id])).get(id) ?? null;
}

const appsById = statement((db, { ids }: { ids: readonly string[] }) =>
  db.selectFrom('apps').selectAll().where('id', 'in', ids),
);

/** The same of several apps; unknown ones are missing. */
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

/** Who a launch is for. */
export interface Launcher {
  userId: string;
  role: 'user' | 'admin';
  /** The device of the sign-in; null = it has none. */
  deviceId: string | null;
}

/** What a launch reads that is the same for everybody. */
type CatalogFacts = Pick<Snapshot['choice'], 'profiles' | 'policy'>;

/**
 * Reads launch profiles and policy, which is much and seldom changes: kept until the next version of the catalog, which
 * every write of them makes, and read once for all who launch at the same moment.
 */
export function catalogReader(database: Database): () => Promise<CatalogFacts> {
  const loadVersion = versionReader(database);
  let kept: { version: number; facts: CatalogFacts } | null = null;
  return readOnce(async () => {
    // The version first: what is read after it is never older than the version says.
    const version = await loadVersion();
    if (kept?.version === version) return kept.facts;
    const [profiles, policy] = await Promise.all([listLaunchProfiles(database.db), loadPolicy(database.db)]);
    kept = { version, facts: { profiles, policy } };
    return kept.facts;
  });
}

/** A launch as far as its reading goes. */
export interface Asked {
  launcher: Launcher;
  appId: string;
}

/** A snapshot but for what is the same for everybody. */
type OwnFacts = Omit<Snapshot, 'settings' | 'choice'> & {
  choice: Omit<Snapshot['choice'], keyof CatalogFacts | 'encoderMpixelS'>;
};

/**
 * Reads what launches are judged by before their transaction, each table once for all of them.
 * @returns one each, in order
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

/** What a launch is judged by once it holds the user's row. */
export type Held = HeldFacts & { username: string };

/** A launch as far as that goes. */
export interface Holding extends Asked {
  /** The app whose home it wants; null: none. */
  homeAppId: string | null;
}

/**
 * Holds the rows that launches depend on, and reads what they are judged by then: call inside the transaction.
 * @returns in order
 */
export function holdFacts(tx: Tx, asked: readonly Holding[]): Promise<Held[]> {
  return loadFacts(tx, asked, lockedLimits, heldEntitlements);
}

/** The same as it stands, with nothing held. */
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
  // In this order: what comes after the lock of the users sees what that waited for.
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

type UserIds = { userIds: readonly string[] };

const selectLimits = (db: Executor, { userIds }: UserIds) =>
  db
    .selectFrom('users')
    .select(['id', 'max_concurrent_sessions', 'username', 'disabled_at'])
    .where('id', 'in', userIds)
    .orderBy('id');

const limits = statement(selectLimits);
/** In the order of their ids, so that two launches never wait in a ring. */
const lockedLimits = statement((db, lists: UserIds, _values, { forNoKeyUpdate }) =>
  forNoKeyUpdate(selectLimits(db, lists)),
);

/** What any of these users may launch of these apps. */
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
 * The rows stay held until the transaction ends: a revocation that commits first is seen, and one that comes later
 * waits. Shared locks, since launches of one app must not wait for one another.
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

/** Whether the person may launch the app, with the rows held until the transaction ends. */
export async function holdEntitlement(tx: Tx, userId: string, appId: string): Promise<boolean> {
  return (await loadEntitled(tx, [userId], [appId], heldEntitlements))(userId, appId);
}

/** Locks the row of the user: launches of one user come one after the other. */
export async function lockUser(
  tx: Tx,
  userId: string,
): Promise<{ max_concurrent_sessions: number; username: string } | undefined> {
  return (await lockedLimits(tx, { userIds: [userId] }, {}))[0];
}

const devicesById = statement((db, { ids }: { ids: readonly string[] }) =>
  db.selectFrom('devices').select('id').where('id', 'in', ids),
);

/** Which devices are there. With the rows of their users locked they stay: removing a device takes the same lock. */
async function loadDeviceIds(db: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await devicesById(db, { ids }, {})).map(({ id }) => id));
}

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];

/** Locks GPUs, waiting for the holder of each. In the order of their ids, so that two launches cannot deadlock. */
export async function lockGpus(database: Database, tx: Tx, gpuIds: readonly string[] | null): Promise<void> {
  let query = tx.selectFrom('gpus').select('id').orderBy('id');
  if (gpuIds !== null) query = query.where('id', 'in', gpuIds.length === 0 ? [''] : gpuIds);
  await database.forNoKeyUpdate(query).execute();
}
