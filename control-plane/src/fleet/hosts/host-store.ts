import { sql } from 'kysely';
import { flag } from '../../platform/database/codec.ts';
import type { Database, Executor, Tx } from '../../platform/database/database.ts';
import { statement } from '../../platform/database/query/statements.ts';
import type { GpusTable, HostsTable } from '../../platform/database/tables/fleet.ts';
import { isAfter, type PageKey } from '../../platform/page-cursor.ts';
import { CAPACITY_COLUMNS, type CapacityPlan, type HostCapacity } from '../reports/capacity.ts';

/** Parameters of a statement without list values. */
type NoLists = Record<never, never>;

export function hostById(db: Executor, id: string): Promise<HostsTable | undefined> {
  return db.selectFrom('hosts').selectAll().where('id', '=', id).executeTakeFirst();
}

export function hostByName(db: Executor, nodeName: string): Promise<HostsTable | undefined> {
  return db.selectFrom('hosts').selectAll().where('node_name', '=', nodeName).executeTakeFirst();
}

const NODE_COLUMNS = ['id', 'node_name', 'secret_hash', 'next_secret_hash', 'enrollment_token_id'] as const;
/** Columns that authenticate a node. */
export type NodeCredentials = Pick<HostsTable, (typeof NODE_COLUMNS)[number]>;

const credentialsByName = statement((db, { names }: { names: readonly string[] }) =>
  db.selectFrom('hosts').select(NODE_COLUMNS).where('node_name', 'in', names),
);

/** By name; unknown names are missing. */
export async function nodeCredentials(
  db: Executor,
  names: readonly string[],
): Promise<Map<string, NodeCredentials>> {
  const hosts = await credentialsByName(db, { names }, {});
  return new Map(hosts.map((host) => [host.node_name, host]));
}

const lockedHost = statement((db, _lists: NoLists, { id }: { id: string }, locks) =>
  locks.forNoKeyUpdate(db.selectFrom('hosts').selectAll().where('id', '=', id)),
);

/** Reads a host and locks its row until the transaction ends. */
export async function lockHost(tx: Tx, id: string): Promise<HostsTable | undefined> {
  const [host] = await lockedHost(tx, {}, { id });
  return host;
}

const CLAIMED_COLUMNS = [
  'id',
  'node_name',
  'status',
  'drain_intent',
  'boot_id',
  'last_seq',
  'first_capacity_at',
  'settings_overrides',
  'console_config',
] as const;
/** Columns that a registration needs. Few, because a reconnecting fleet reads them thousands of times at once. */
export type ClaimedHost = Pick<HostsTable, (typeof CLAIMED_COLUMNS)[number]>;

const claimedHost = statement((db, _lists: NoLists, { id }: { id: string }, locks) =>
  locks.forNoKeyUpdate(db.selectFrom('hosts').select(CLAIMED_COLUMNS).where('id', '=', id)),
);

/** Reads a registering host and locks its row until the transaction ends. */
export async function claimHost(tx: Tx, id: string): Promise<ClaimedHost | undefined> {
  const [host] = await claimedHost(tx, {}, { id });
  return host;
}

export function claimHostByName(
  database: Database,
  tx: Tx,
  nodeName: string,
): Promise<ClaimedHost | undefined> {
  return database
    .forNoKeyUpdate(tx.selectFrom('hosts').select(CLAIMED_COLUMNS).where('node_name', '=', nodeName))
    .executeTakeFirst();
}

export async function insertHost(tx: Tx, host: HostsTable): Promise<void> {
  await tx.insertInto('hosts').values(host).execute();
}

export async function updateHost(
  db: Executor,
  id: string,
  columns: Partial<Omit<HostsTable, 'id'>>,
): Promise<void> {
  await db.updateTable('hosts').set(columns).where('id', '=', id).execute();
}

const LISTED_COLUMNS = [
  'id',
  'node_name',
  'status',
  'agent_version',
  'cpu_cores',
  'mem_mb',
  'cpu_model',
  'last_registered_at',
  'last_heartbeat_at',
  'storage',
  'capacity_detection',
  'capacity_reason',
  'readiness',
  'readiness_reported_at',
  'created_at',
] as const;
/** Columns of a list. Without those that a host may fill with a megabyte and no list shows. */
export type ListedHost = Pick<HostsTable, (typeof LISTED_COLUMNS)[number]>;

/** Newest first, after `after`. One extra row shows that another page exists. */
export function listHosts(db: Executor, limit: number, after: PageKey | null): Promise<ListedHost[]> {
  let query = db.selectFrom('hosts').select(LISTED_COLUMNS);
  if (after !== null) query = query.where(isAfter('hosts', after));
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
}

const lockedCapacity = statement((db, _lists: NoLists, { id }: { id: string }, locks) =>
  locks.forNoKeyUpdate(
    db
      .selectFrom('hosts')
      .select([...CAPACITY_COLUMNS, 'console_config'])
      .where('id', '=', id),
  ),
);

/** Reads capacity and console configuration, and locks the host's row until the transaction ends. */
export async function lockCapacity(
  tx: Tx,
  hostId: string,
): Promise<(HostCapacity & Pick<HostsTable, 'console_config'>) | undefined> {
  const [host] = await lockedCapacity(tx, {}, { id: hostId });
  return host;
}

const writeCapacity = statement((db, _lists: NoLists, values: HostCapacity & { id: string }) => {
  const columns = Object.fromEntries(CAPACITY_COLUMNS.map((column) => [column, values[column]]));
  return db.updateTable('hosts').set(columns).where('id', '=', values.id);
});

const allGpus = statement((db, _lists: NoLists, { hostId }: { hostId: string }) =>
  db.selectFrom('gpus').selectAll().where('host_id', '=', hostId).orderBy('gpu_index'),
);

/** All GPU rows of a host, reported or not, by index. */
export function gpusOf(db: Executor, hostId: string): Promise<GpusTable[]> {
  return allGpus(db, {}, { hostId });
}

/** The reported GPUs of these hosts, by host and index. */
export async function reportedGpus(db: Executor, hostIds: readonly string[]): Promise<GpusTable[]> {
  if (hostIds.length === 0) return [];
  return db
    .selectFrom('gpus')
    .selectAll()
    .where('host_id', 'in', hostIds)
    .where('reported', '=', 1)
    .orderBy('host_id')
    .orderBy('gpu_index')
    .execute();
}

const REGISTERED_COLUMNS = [
  'status',
  'agent_version',
  'features',
  'pending_restart',
  'capacity_detection',
  'capacity_reason',
  'boot_id',
  'last_seq',
  'connection_id',
  'last_registered_at',
] as const;
/** Columns that a registration writes. */
export type Registered = Pick<HostsTable, (typeof REGISTERED_COLUMNS)[number]>;

const writeRegistered = statement((db, _lists: NoLists, values: Registered & { id: string }) => {
  const columns = Object.fromEntries(REGISTERED_COLUMNS.map((column) => [column, values[column]]));
  return db.updateTable('hosts').set(columns).where('id', '=', values.id);
});

const hideGpus = statement((db, _lists: NoLists, { hostId }: { hostId: string }) =>
  db
    .updateTable('gpus')
    .set({ reported: 0, vram_mb_used: null, vram_mb_free: null, vram_sampled_at: null })
    .where('host_id', '=', hostId),
);

/** Stores a registration: resets everything that an older connection reported about the hardware. */
export async function storeRegistered(tx: Tx, id: string, columns: Registered): Promise<void> {
  await Promise.all([writeRegistered(tx, {}, { id, ...columns }), hideGpus(tx, {}, { hostId: id })]);
}

const writeGpu = statement(
  (
    db,
    _lists: NoLists,
    gpu: { id: string; slots: number } & Pick<
      GpusTable,
      'vendor' | 'model' | 'vram_mb_total' | 'render_node'
    >,
  ) =>
    db
      .updateTable('gpus')
      .set({
        vendor: gpu.vendor,
        model: gpu.model,
        vram_mb_total: gpu.vram_mb_total,
        slots_total: gpu.slots,
        // Running sessions keep their slots when a report lowers the number.
        slots_guard: sql<number>`case when slots_used > ${gpu.slots} then slots_used else ${gpu.slots} end`,
        render_node: gpu.render_node,
        reported: 1,
      })
      .where('id', '=', gpu.id),
);

/**
 * @param stored the host's columns, read and locked by this transaction
 * @returns ids of newly inserted GPUs, by index
 */
export async function applyCapacity(
  tx: Tx,
  hostId: string,
  stored: HostCapacity,
  plan: CapacityPlan,
  nowMs: number,
  newId: () => string,
): Promise<ReadonlyMap<number, string>> {
  const added = new Map(plan.gpus?.insert.map((gpu) => [gpu.index, newId()]));
  if (Object.keys(plan.host).length > 0) await writeCapacity(tx, {}, { ...stored, ...plan.host, id: hostId });
  if (plan.gpus === null) return added;
  for (const { id, gpu, clearSample } of plan.gpus.update) {
    const { vendor, model, vram_mb_total, render_node } = gpu;
    await writeGpu(tx, {}, { id, vendor, model, vram_mb_total, render_node, slots: gpu.encode_slots_total });
    if (clearSample)
      await tx
        .updateTable('gpus')
        .set({ vram_mb_used: null, vram_mb_free: null, vram_sampled_at: null })
        .where('id', '=', id)
        .execute();
  }
  if (plan.gpus.insert.length > 0) {
    await tx
      .insertInto('gpus')
      .values(
        plan.gpus.insert.map((gpu) => ({
          id: added.get(gpu.index)!,
          host_id: hostId,
          gpu_index: gpu.index,
          vendor: gpu.vendor,
          model: gpu.model,
          vram_mb_total: gpu.vram_mb_total,
          slots_total: gpu.encode_slots_total,
          slots_used: 0,
          slots_guard: gpu.encode_slots_total,
          render_node: gpu.render_node,
          reported: 1 as const,
          vram_mb_used: null,
          vram_mb_free: null,
          vram_sampled_at: null,
          created_at: nowMs,
        })),
      )
      .execute();
  }
  if (plan.gpus.unreport.length > 0) {
    await tx.updateTable('gpus').set({ reported: 0 }).where('id', 'in', plan.gpus.unreport).execute();
  }
  return added;
}

const writeOffline = statement(
  (db, _lists: NoLists, { hostId, connectionId }: { hostId: string; connectionId: string }) =>
    db
      .updateTable('hosts')
      .set({ status: 'offline' })
      .where('id', '=', hostId)
      .where('connection_id', '=', connectionId)
      .where('status', '!=', 'offline'),
);

/** Marks the host offline, unless a newer connection registered. */
export async function markOffline(db: Executor, hostId: string, connectionId: string): Promise<void> {
  await writeOffline(db, {}, { hostId, connectionId });
}

/** Stores whether the agent of this connection was told to restart, unless a newer connection registered. */
export async function setPendingRestart(
  db: Executor,
  hostId: string,
  connectionId: string,
  pending: boolean,
): Promise<void> {
  await db
    .updateTable('hosts')
    .set({ pending_restart: flag(pending) })
    .where('id', '=', hostId)
    .where('connection_id', '=', connectionId)
    .execute();
}

/** At boot: no socket of a former process is open. */
export async function markAllOffline(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    const online = tx.selectFrom('hosts').select('id').where('status', '!=', 'offline').orderBy('id');
    // Another process may be writing heartbeats of these hosts.
    await database.forNoKeyUpdate(online).execute();
    await tx.updateTable('hosts').set({ status: 'offline' }).where('status', '!=', 'offline').execute();
  });
}

export async function deleteHost(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('gpus').where('host_id', '=', id).execute();
  await tx.deleteFrom('hosts').where('id', '=', id).execute();
}
