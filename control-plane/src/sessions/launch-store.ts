import { bool, type Database, type Executor, fromJson, type Tx } from '../platform/database/index.ts';
import type { AppsTable } from '../platform/database/tables/catalog.ts';
import type { PresetFacts, RuntimeFacts } from './app-spec.ts';

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

export async function isEntitled(db: Executor, userId: string, appId: string): Promise<boolean> {
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
  const query = tx
    .selectFrom('users')
    .select(['max_concurrent_sessions', 'username'])
    .where('id', '=', userId);
  return database.forUpdate(query).executeTakeFirst();
}

/** Call with the user's row locked: removing a device takes the same lock. */
export async function deviceExists(tx: Tx, deviceId: string): Promise<boolean> {
  const row = await tx.selectFrom('devices').select('id').where('id', '=', deviceId).executeTakeFirst();
  return row !== undefined;
}

/** Locks one GPU. @returns false when somebody else holds it (Postgres), or it is gone */
export async function tryLockGpu(database: Database, tx: Tx, gpuId: string): Promise<boolean> {
  const query = tx.selectFrom('gpus').select('id').where('id', '=', gpuId);
  return (await database.skipLocked(query).executeTakeFirst()) !== undefined;
}

/** Locks GPUs, waiting for whoever holds one. In the order of their ids, so that two launches never wait in a ring. */
export async function lockGpus(database: Database, tx: Tx, gpuIds: readonly string[] | null): Promise<void> {
  let query = tx.selectFrom('gpus').select('id').orderBy('id');
  if (gpuIds !== null) query = query.where('id', 'in', gpuIds.length === 0 ? [''] : gpuIds);
  await database.forUpdate(query).execute();
}
