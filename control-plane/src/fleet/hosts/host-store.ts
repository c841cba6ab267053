import { type RawBuilder, sql } from 'kysely';
import { flag } from '../../platform/database/codec.ts';
import type { Database, Executor, Tx } from '../../platform/database/database.ts';
import { statement } from '../../platform/database/query/statements.ts';
import type { GpusTable, HostsTable } from '../../platform/database/tables/fleet.ts';
import { isAfter, type PageKey } from '../../platform/page-cursor.ts';
import { CAPACITY_COLUMNS, type CapacityPlan, type HostCapacity } from '../reports/capacity.ts';

/** Parameters of a statement without list values. */
type NoLists = Record<never, never>;
/** Parameters of a statement with list values only. */
type NoValues = Record<never, never>;

/**
 * Stays far below the placeholder limit of both databases. A power of two, because statements are prepared per size.
 */
const ROWS_PER_STATEMENT = 512;

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

/** Newest first, after `after`. One extra row shows that another page exists. */
export function listHosts(db: Executor, limit: number, after: PageKey | null): Promise<HostsTable[]> {
  let query = db.selectFrom('hosts').selectAll();
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

/** Values of one host since the last write; null: none of that kind. */
export interface HostPulse {
  hostId: string;
  heartbeatAt: number | null;
  /** Highest handled report number of this agent process. */
  report: { bootId: string; seq: number } | null;
}

export interface VramPulse {
  gpuId: string;
  used: number | null;
  free: number | null;
  sampledAt: number;
}

/** One row for each value. A bare VALUES list names its columns column1, column2, … in both databases. */
const pulse = <Columns>(rows: readonly RawBuilder<unknown>[]) =>
  sql<Columns>`(values ${sql.join(rows)})`.as('pulse');
const bigint = (value: number | null | undefined) => sql`cast(${value} as bigint)`;

const writeHeartbeats = statement(
  (db, { ids, at }: { ids: readonly string[]; at: readonly number[] }, _values: NoValues) =>
    db
      .updateTable('hosts')
      .from(pulse<{ column1: string; column2: number }>(ids.map((id, n) => sql`(${id}, ${bigint(at[n])})`)))
      .set(({ ref }) => ({ last_heartbeat_at: ref('pulse.column2') }))
      .whereRef('hosts.id', '=', 'pulse.column1'),
);

const writeLastReports = statement(
  (
    db,
    lists: { ids: readonly string[]; bootIds: readonly string[]; seqs: readonly number[] },
    _values: NoValues,
  ) =>
    db
      .updateTable('hosts')
      .from(
        pulse<{ column1: string; column2: string; column3: number }>(
          lists.ids.map((id, n) => sql`(${id}, ${lists.bootIds[n]}, ${bigint(lists.seqs[n])})`),
        ),
      )
      .set(({ ref }) => ({ last_seq: ref('pulse.column3') }))
      .whereRef('hosts.id', '=', 'pulse.column1')
      .whereRef('hosts.boot_id', '=', 'pulse.column2'),
);

const writeSamples = statement(
  (
    db,
    lists: {
      ids: readonly string[];
      used: readonly (number | null)[];
      free: readonly (number | null)[];
      at: readonly number[];
    },
    _values: NoValues,
  ) =>
    db
      .updateTable('gpus')
      .from(
        pulse<{ column1: string; column2: number | null; column3: number | null; column4: number }>(
          lists.ids.map(
            (id, n) =>
              sql`(${id}, ${bigint(lists.used[n])}, ${bigint(lists.free[n])}, ${bigint(lists.at[n])})`,
          ),
        ),
      )
      .set(({ ref }) => ({
        vram_mb_used: ref('pulse.column2'),
        vram_mb_free: ref('pulse.column3'),
        vram_sampled_at: sql<
          number | null
        >`case when ${ref('pulse.column2')} is null and ${ref('pulse.column3')} is null then null else ${ref('pulse.column4')} end`,
      }))
      .whereRef('gpus.id', '=', 'pulse.column1'),
);

/** Writes values of many hosts in few statements; deleted rows are skipped. */
export async function writePulses(
  tx: Tx,
  hosts: readonly HostPulse[],
  samples: readonly VramPulse[],
): Promise<void> {
  const written: Promise<unknown>[] = [];
  for (const rows of chunks(hosts.filter((host) => host.heartbeatAt !== null)))
    written.push(
      writeHeartbeats(
        tx,
        { ids: rows.map(({ hostId }) => hostId), at: rows.map(({ heartbeatAt }) => heartbeatAt!) },
        {},
      ),
    );
  for (const rows of chunks(hosts.filter((host) => host.report !== null)))
    written.push(
      writeLastReports(
        tx,
        {
          ids: rows.map(({ hostId }) => hostId),
          bootIds: rows.map(({ report }) => report!.bootId),
          seqs: rows.map(({ report }) => report!.seq),
        },
        {},
      ),
    );
  for (const rows of chunks(samples))
    written.push(
      writeSamples(
        tx,
        {
          ids: rows.map(({ gpuId }) => gpuId),
          used: rows.map(({ used }) => used),
          free: rows.map(({ free }) => free),
          at: rows.map(({ sampledAt }) => sampledAt),
        },
        {},
      ),
    );
  await Promise.all(written);
}

export async function deleteHost(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('gpus').where('host_id', '=', id).execute();
  await tx.deleteFrom('hosts').where('id', '=', id).execute();
}

function chunks<T>(rows: readonly T[]): T[][] {
  const result: T[][] = [];
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    result.push(rows.slice(start, start + ROWS_PER_STATEMENT));
  }
  return result;
}
