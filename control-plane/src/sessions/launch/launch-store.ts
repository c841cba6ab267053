import { loadLatestProbes, NO_DEVICE } from '../../accounts/index.ts';
import { loadAllowLists, loadVersion } from '../../catalog/index.ts';
import { coalesceReads, type Database, type Executor, type Tx } from '../../platform/database/index.ts';
import {
  FAILURE_COUNTS_MS,
  listLaunchProfiles,
  loadClientFailures,
  loadPolicy,
  loadPreferences,
} from '../../profiles/index.ts';
import { loadNewestHomeHost } from '../../storage/index.ts';
import { homeAppOf, type LaunchFacts, type LockedFacts } from './admission.ts';
import { loadLaunchApps } from './app-store.ts';
import { countQuotaSessions, loadHomeHolders } from './quota-store.ts';
import type { AdmittedLaunch, LaunchRequest, LaunchUser } from './stages.ts';

/** Facts of a launch that are the same for all people. */
type CatalogFacts = Pick<LaunchFacts['choice'], 'profiles' | 'policy'>;

/**
 * Reads launch profiles and policy. Both are large and change seldom, so they are cached until the next catalog
 * version, and concurrent launches share one read.
 */
export function catalogReader(database: Database): () => Promise<CatalogFacts> {
  let cached: { version: number; facts: CatalogFacts } | null = null;
  return coalesceReads(async () => {
    // Read the version first: the facts are then at least as new as their version.
    const version = await loadVersion(database.db);
    if (cached?.version === version) return cached.facts;
    const [profiles, policy] = await Promise.all([listLaunchProfiles(database.db), loadPolicy(database.db)]);
    cached = { version, facts: { profiles, policy } };
    return cached.facts;
  });
}

/** The facts of a launch without those that are the same for all people. */
type OwnFacts = Omit<LaunchFacts, 'settings' | 'choice' | 'unreachable'> & {
  choice: Omit<LaunchFacts['choice'], keyof CatalogFacts | 'encoderMpixelS'>;
};

/**
 * Reads the facts of a batch before its transaction, each table once.
 * @returns one entry per request, in the same order
 */
export async function loadOwnFacts(
  db: Executor,
  requests: readonly LaunchRequest[],
  prefersHomeHost: boolean,
  nowMs: number,
): Promise<OwnFacts[]> {
  const userIds = distinct(requests.map(({ user }) => user.userId));
  const appIds = distinct(requests.map(({ body }) => body.app_id));
  const [apps, entitled, allowLists, preferences, latest] = await Promise.all([
    loadLaunchApps(db, appIds),
    loadEntitled(db, userIds, appIds, false),
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
    requests.map(async ({ user: { userId, role }, body: { app_id: appId } }) => {
      const isAdmin = role === 'admin';
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

/**
 * Locks the rows that launches depend on and reads their facts. Call this inside the transaction.
 * @returns one entry per launch, in the same order
 */
export function lockFacts(tx: Tx, launches: readonly AdmittedLaunch[]): Promise<LockedFacts[]> {
  return loadFacts(tx, launches, true);
}

/** Reads the same facts without locks. */
export function loadLockedFacts(db: Executor, launches: readonly AdmittedLaunch[]): Promise<LockedFacts[]> {
  return loadFacts(db, launches, false);
}

async function loadFacts(
  db: Executor,
  launches: readonly AdmittedLaunch[],
  locked: boolean,
): Promise<LockedFacts[]> {
  const userIds = distinct(launches.map(({ user }) => user.userId));
  const homeAppIds = launches.map(homeAppOf).filter((id) => id !== null);
  // The order matters: queries that follow the lock of the users see the changes for which the lock waited.
  const [users, entitled, devices, sessions, homes] = await Promise.all([
    loadLimits(db, userIds, locked),
    loadEntitled(db, userIds, distinct(launches.map(({ app }) => app.id)), locked),
    loadDeviceIds(
      db,
      launches.map(({ user }) => user.deviceId).filter((id) => id !== null),
    ),
    countQuotaSessions(db, userIds),
    loadHomeHolders(db, userIds, distinct(homeAppIds)),
  ]);
  return launches.map(({ user: { userId, deviceId }, app }) => {
    const account = users.find(({ id }) => id === userId);
    return {
      username: account?.username ?? '',
      maxConcurrentSessions: account?.max_concurrent_sessions ?? null,
      disabled: (account?.disabled_at ?? null) !== null,
      entitled: entitled(userId, app.id),
      deviceExists: deviceId === null || devices.has(deviceId),
      sessions: sessions.get(userId) ?? 0,
      homes: homes.filter(({ user_id }) => user_id === userId),
    };
  });
}

/** The account of a launch. @returns null: the account is unknown or internal */
export async function findLaunchUser(db: Executor, userId: string): Promise<LaunchUser | null> {
  const user = await db
    .selectFrom('users')
    .select(['id', 'role'])
    .where('id', '=', userId)
    .where('internal', '=', 0)
    .executeTakeFirst();
  return user === undefined ? null : { userId: user.id, role: user.role, deviceId: null };
}

/**
 * @param locked whether the rows are locked until the transaction ends, in the order of their ids, so that two launches
 *   cannot deadlock
 */
const loadLimits = (db: Executor, userIds: readonly string[], locked: boolean) =>
  db
    .selectFrom('users')
    .select(['id', 'max_concurrent_sessions', 'username', 'disabled_at'])
    .where('id', 'in', userIds)
    .orderBy('id')
    .$if(locked, (query) => query.forNoKeyUpdate())
    .execute();

/**
 * Returns a function that tells which of these users may launch which of these apps.
 * @param locked whether the entitlements are locked until the transaction ends. Then an earlier revocation is seen, and
 *   a later one waits. The locks are shared, so launches of one app do not wait for each other.
 */
async function loadEntitled(
  db: Executor,
  userIds: readonly string[],
  appIds: readonly string[],
  locked: boolean,
): Promise<(userId: string, appId: string) => boolean> {
  const rows = await db
    .selectFrom('entitlements')
    .select(['app_id', 'subject_type', 'subject_id'])
    .where('app_id', 'in', appIds)
    .where((eb) =>
      eb.or([
        eb('subject_type', '=', 'all'),
        eb.and([eb('subject_type', '=', 'user'), eb('subject_id', 'in', userIds)]),
      ]),
    )
    .orderBy('id')
    .$if(locked, (query) => query.forShare())
    .execute();
  const everybody = new Set<string>();
  const single = new Set<string>();
  for (const { app_id, subject_type, subject_id } of rows) {
    if (subject_type === 'all') everybody.add(app_id);
    else single.add(`${app_id} ${subject_id}`);
  }
  return (userId, appId) => everybody.has(appId) || single.has(`${appId} ${userId}`);
}

/** Whether the person may launch the app; locks the rows until the transaction ends. */
export async function lockEntitlementShared(tx: Tx, userId: string, appId: string): Promise<boolean> {
  return (await loadEntitled(tx, [userId], [appId], true))(userId, appId);
}

/** Locks the user's row, which serializes launches of one user. */
export async function lockUser(
  tx: Tx,
  userId: string,
): Promise<{ max_concurrent_sessions: number; username: string } | undefined> {
  return (await loadLimits(tx, [userId], true))[0];
}

/**
 * Finds which of these devices exist. They cannot be deleted while their users' rows are locked, because a removal
 * takes the same lock.
 */
async function loadDeviceIds(db: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.selectFrom('devices').select('id').where('id', 'in', ids).execute();
  return new Set(rows.map(({ id }) => id));
}

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];
