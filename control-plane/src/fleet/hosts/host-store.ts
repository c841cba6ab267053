import type { HostOrder } from '@footlight/protocol/rest';
import { type RawBuilder, sql } from 'kysely';
import { flag } from '../../platform/database/codec.ts';
import type { Database, Executor, Tx } from '../../platform/database/database.ts';
import { nameOrder } from '../../platform/database/query/name-order.ts';
import { containsText } from '../../platform/database/query/search.ts';
import { values } from '../../platform/database/query/values.ts';
import type { GpusTable, HostsTable } from '../../platform/database/tables/fleet.ts';
import type { OffsetPage } from '../../platform/offset-cursor.ts';
import { isAfter, type PageKey } from '../../platform/page-cursor.ts';
import { CAPACITY_COLUMNS, type CapacityPlan, type HostCapacity } from '../reports/capacity.ts';

export function hostById(db: Executor, id: string): Promise<HostsTable | undefined> {
  return db.selectFrom('hosts').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Number of hosts by status; a status without hosts is missing. */
export async function countHosts(db: Executor): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('hosts')
    .select((host) => ['status', host.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute();
  return new Map(rows.map(({ status, count }) => [status, Number(count)]));
}

/**
 * Number of encode slots, and of those that sessions hold, on the reported GPUs of online hosts.
 *
 * Leaves out the other hosts instead of joining the online ones, so that it reads both tables once: 5 ms instead of 24
 * for 10,000 hosts on a Postgres without statistics, which then searches the GPUs of each host; 2 ms instead of 10 on
 * SQLite. Postgres keeps the ids of the other hosts in memory, with its default settings up to 131,000.
 */
export async function countSlots(db: Executor): Promise<{ total: number; used: number }> {
  const row = await db
    .selectFrom('gpus')
    .select((gpu) => [gpu.fn.sum('slots_total').as('total'), gpu.fn.sum('slots_used').as('used')])
    .where('reported', '=', 1)
    .where('host_id', 'not in', (gpu) =>
      gpu
        .selectFrom('hosts')
        .select('id')
        .where((host) => host.or([host('status', '<>', 'online'), host('capacity_detection', '<>', 'ok')])),
    )
    .executeTakeFirst();
  return { total: Number(row?.total ?? 0), used: Number(row?.used ?? 0) };
}

export function hostByName(db: Executor, nodeName: string): Promise<HostsTable | undefined> {
  return db.selectFrom('hosts').selectAll().where('node_name', '=', nodeName).executeTakeFirst();
}

const NODE_COLUMNS = ['id', 'node_name', 'secret_hash', 'next_secret_hash', 'enrollment_token_id'] as const;
/** Columns that authenticate a node. */
export type NodeCredentials = Pick<HostsTable, (typeof NODE_COLUMNS)[number]>;

/** Credentials by node name; unknown names are missing. */
export async function nodeCredentials(
  db: Executor,
  names: readonly string[],
): Promise<Map<string, NodeCredentials>> {
  const hosts = await db.selectFrom('hosts').select(NODE_COLUMNS).where('node_name', 'in', names).execute();
  return new Map(hosts.map((host) => [host.node_name, host]));
}

/** Reads a host and locks its row until the transaction ends. */
export async function lockHost(tx: Tx, id: string): Promise<HostsTable | undefined> {
  const [host] = await tx.selectFrom('hosts').selectAll().where('id', '=', id).forNoKeyUpdate().execute();
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
/** Columns that a registration needs. Only few, because a reconnecting fleet reads thousands of rows at once. */
export type ClaimedHost = Pick<HostsTable, (typeof CLAIMED_COLUMNS)[number]>;

/**
 * Reads registering hosts and locks their rows until the transaction ends. The result is keyed by id; deleted hosts are
 * missing.
 */
export async function claimHosts(tx: Tx, ids: readonly string[]): Promise<Map<string, ClaimedHost>> {
  const hosts =
    ids.length === 0
      ? []
      : await tx
          .selectFrom('hosts')
          .select(CLAIMED_COLUMNS)
          .where('id', 'in', ids)
          .orderBy('id')
          .forNoKeyUpdate()
          .execute();
  return new Map(hosts.map((host) => [host.id, host]));
}

export function claimHostByName(tx: Tx, nodeName: string): Promise<ClaimedHost | undefined> {
  return tx
    .selectFrom('hosts')
    .select(CLAIMED_COLUMNS)
    .where('node_name', '=', nodeName)
    .forNoKeyUpdate()
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
/** Columns that a list shows. Columns that can contain up to a megabyte per host are excluded. */
export type ListedHost = Pick<HostsTable, (typeof LISTED_COLUMNS)[number]>;

export interface HostFilter {
  /** Part of the name; undefined: all hosts. */
  q?: string | undefined;
  /** Only offline hosts, hosts of unknown capacity, and hosts with a failed readiness check. */
  attention?: boolean | undefined;
}

function filteredHosts(db: Executor, { q, attention }: HostFilter) {
  let query = db.selectFrom('hosts').select(LISTED_COLUMNS);
  if (q !== undefined) query = query.where(containsText(['hosts.node_name'], q));
  // The column has the JSON of JSON.stringify, which escapes the quotes in texts of hosts.
  if (attention === true)
    query = query.where((host) =>
      host.or([
        host('status', '=', 'offline'),
        host('capacity_detection', '!=', 'ok'),
        host('readiness', 'like', '%"status":"fail"%'),
      ]),
    );
  return query;
}

/** Hosts that follow `after`, newest first. One extra row shows that another page exists. */
export function listHosts(
  db: Executor,
  limit: number,
  after: PageKey | null,
  filter: HostFilter,
): Promise<ListedHost[]> {
  let query = filteredHosts(db, filter);
  if (after !== null) query = query.where(isAfter('hosts', after));
  return query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
}

/** A sum over the host's reported GPUs; null as in hostCapacity(). */
const ofGpus = (column: 'slots_used' | 'sessions_active' | 'vram_mb_total') =>
  sql`case when capacity_detection = 'ok' then
    (select sum(${sql.ref(`gpus.${column}`)}) from gpus where gpus.host_id = hosts.id and gpus.reported = 1) end`;
const BY_NAME = nameOrder('hosts.node_name');
const HOST_ORDERS: Readonly<Record<HostOrder, RawBuilder<unknown>>> = {
  name: BY_NAME,
  state: sql`status`,
  slots: ofGpus('slots_used'),
  sessions: ofGpus('sessions_active'),
  memory: ofGpus('vram_mb_total'),
  heard: sql`last_heartbeat_at`,
  agent: sql`agent_version`,
};

/**
 * One page of hosts in the given order, and equal hosts by name. Hosts without the value are last in both directions.
 * One extra row shows that another page exists.
 */
export function listHostsBy(
  db: Executor,
  { order, reverse }: { order: HostOrder; reverse: boolean },
  { offset, limit }: OffsetPage,
  filter: HostFilter,
): Promise<ListedHost[]> {
  return filteredHosts(db, filter)
    .orderBy(HOST_ORDERS[order], (by) => (reverse ? by.desc() : by.asc()).nullsLast())
    .orderBy(BY_NAME)
    .orderBy('node_name')
    .offset(offset)
    .limit(limit + 1)
    .execute();
}

/** Columns of a host that a capacity report is compared with. */
export type StoredCapacityRow = HostCapacity & Pick<HostsTable, 'id' | 'console_config'>;

/**
 * Reads capacity and console configuration, and locks the hosts' rows until the transaction ends. The result is sorted
 * by id.
 * @param hostIds at least one
 */
export async function lockCapacities(
  tx: Tx,
  hostIds: readonly string[],
): Promise<Map<string, StoredCapacityRow>> {
  const hosts = await tx
    .selectFrom('hosts')
    .select(['id', ...CAPACITY_COLUMNS, 'console_config'])
    .where('id', 'in', hostIds)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return new Map(hosts.map((host) => [host.id, host]));
}

const writeCapacity = (db: Executor, values: HostCapacity & { id: string }) => {
  const columns = Object.fromEntries(CAPACITY_COLUMNS.map((column) => [column, values[column]]));
  return db.updateTable('hosts').set(columns).where('id', '=', values.id).execute();
};

/** All GPU rows of these hosts, also those not in the last report, sorted by index. @param hostIds at least one */
export function gpusOf(db: Executor, hostIds: readonly string[]): Promise<GpusTable[]> {
  return db.selectFrom('gpus').selectAll().where('host_id', 'in', hostIds).orderBy('gpu_index').execute();
}

/** The reported GPUs of these hosts, sorted by host and index. */
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
  'id',
  'status',
  'agent_version',
  'features',
  'boot_id',
  'connection_id',
  'last_seq',
  'last_registered_at',
] as const;
/** Columns that a registration writes for each host. */
export type Registered = Pick<HostsTable, (typeof REGISTERED_COLUMNS)[number]>;
type RegisteredLists = { [Column in (typeof REGISTERED_COLUMNS)[number]]: Registered[Column][] };

interface RegisteredRow {
  column1: string;
  column2: Registered['status'];
  column3: string | null;
  column4: string;
  column5: string | null;
  column6: string | null;
  column7: number | null;
  column8: number | null;
}

/**
 * Stores registrations, and resets everything that older connections reported about the hardware.
 * @param hosts at least one; each host occurs once
 * @param capacityReason stored until the first capacity report of the connection
 */
export async function storeRegistered(
  tx: Tx,
  hosts: readonly Registered[],
  capacityReason: string,
): Promise<void> {
  const lists = Object.fromEntries(
    REGISTERED_COLUMNS.map((column) => [column, hosts.map((host) => host[column])]),
  ) as RegisteredLists;
  await Promise.all([
    tx
      .updateTable('hosts')
      .from(
        values<RegisteredRow>(
          lists.id.map(
            (id, n) =>
              sql`(${id}, ${lists.status[n]}, ${lists.agent_version[n]}, ${lists.features[n]}, ${lists.boot_id[n]}, ${lists.connection_id[n]}, cast(${lists.last_seq[n]} as bigint), cast(${lists.last_registered_at[n]} as bigint))`,
          ),
        ),
      )
      .set(({ ref }) => ({
        status: ref('written.column2'),
        agent_version: ref('written.column3'),
        features: ref('written.column4'),
        boot_id: ref('written.column5'),
        connection_id: ref('written.column6'),
        last_seq: ref('written.column7'),
        last_registered_at: ref('written.column8'),
        pending_restart: 0,
        capacity_detection: 'unavailable',
        capacity_reason: capacityReason,
      }))
      .whereRef('hosts.id', '=', 'written.column1')
      .execute(),
    tx
      .updateTable('gpus')
      .set({ reported: 0, vram_mb_used: null, vram_mb_free: null, vram_sampled_at: null })
      .where('host_id', 'in', lists.id)
      .execute(),
  ]);
}

/** The changes from the capacity report of one host. */
export interface CapacityChange {
  stored: StoredCapacityRow;
  plan: CapacityPlan;
  /** Ids of the GPU rows that the plan inserts, by GPU index. */
  newIds: ReadonlyMap<number, string>;
}

/**
 * Stores the changes from capacity reports. Hosts with the same change share a statement, because the reports of a
 * reconnecting fleet mostly change nothing.
 * @param changes of rows that this transaction has read and locked, each host once
 */
export async function applyCapacities(
  tx: Tx,
  changes: readonly CapacityChange[],
  nowMs: number,
): Promise<void> {
  const alike = new Map<string, CapacityChange[]>();
  for (const change of changes) {
    if (Object.keys(change.plan.host).length === 0) continue;
    const key = JSON.stringify(change.plan.host);
    const others = alike.get(key);
    if (others === undefined) alike.set(key, [change]);
    else others.push(change);
  }
  for (const [one, ...others] of alike.values()) {
    const { stored, plan } = one as CapacityChange;
    if (others.length === 0) {
      await writeCapacity(tx, { ...stored, ...plan.host });
      continue;
    }
    const ids = [stored.id, ...others.map((other) => other.stored.id)];
    await tx.updateTable('hosts').set(plan.host).where('id', 'in', ids).execute();
  }
  const shown = changes.flatMap(({ plan }) => plan.gpus?.show ?? []);
  if (shown.length > 0)
    await tx
      .updateTable('gpus')
      .set({
        slots_guard: sql<number>`case when slots_used > slots_total then slots_used else slots_total end`,
        reported: 1,
      })
      .where('id', 'in', shown)
      .execute();
  for (const change of changes) await applyGpus(tx, change, nowMs);
}

async function applyGpus(tx: Tx, { stored, plan, newIds }: CapacityChange, nowMs: number): Promise<void> {
  if (plan.gpus === null) return;
  for (const { id, gpu, clearSample } of plan.gpus.update) {
    const { vendor, model, vram_mb_total, render_node } = gpu;
    await tx
      .updateTable('gpus')
      .set({
        vendor,
        model,
        vram_mb_total,
        slots_total: gpu.encode_slots_total,
        // Running sessions keep their slots when a report lowers the number.
        slots_guard: sql<number>`case when slots_used > ${gpu.encode_slots_total} then slots_used else ${gpu.encode_slots_total} end`,
        render_node,
        reported: 1,
      })
      .where('id', '=', id)
      .execute();
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
          id: newIds.get(gpu.index)!,
          host_id: stored.id,
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
}

/** Marks the host offline, unless a newer connection is registered. */
export async function markOffline(db: Executor, hostId: string, connectionId: string): Promise<void> {
  await db
    .updateTable('hosts')
    .set({ status: 'offline' })
    .where('id', '=', hostId)
    .where('connection_id', '=', connectionId)
    .where('status', '!=', 'offline')
    .execute();
}

/** Stores whether the agent of this connection was sent a restart message, unless a newer connection is registered. */
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

/** Id of each host's newest connection; missing: the host is marked as offline, or deleted. */
export async function connectionsOf(
  db: Executor,
  hostIds: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (hostIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('hosts')
    .select(['id', 'connection_id'])
    .where('id', 'in', hostIds)
    .where('status', '!=', 'offline')
    .execute();
  return new Map(rows.map(({ id, connection_id }) => [id, connection_id]));
}

/** Columns that decide whether a host is connected. */
export type PresenceRow = Pick<HostsTable, 'id' | 'status' | 'connection_id' | 'last_heartbeat_at'>;

export function listPresence(db: Executor): Promise<PresenceRow[]> {
  return db.selectFrom('hosts').select(['id', 'status', 'connection_id', 'last_heartbeat_at']).execute();
}

/** Called at boot, when no agent can be connected yet. */
export async function markAllOffline(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    const online = tx.selectFrom('hosts').select('id').where('status', '!=', 'offline').orderBy('id');
    // Lock first, because another process may be writing heartbeats of these hosts.
    await online.forNoKeyUpdate().execute();
    await tx.updateTable('hosts').set({ status: 'offline' }).where('status', '!=', 'offline').execute();
  });
}

export async function deleteHost(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('gpus').where('host_id', '=', id).execute();
  await tx.deleteFrom('hosts').where('id', '=', id).execute();
}
