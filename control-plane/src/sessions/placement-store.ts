import { encoderFamily } from '@footlight/protocol';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { loadCertifications } from '../certification/index.ts';
import { SECOND_MS } from '../platform/clock.ts';
import { bool, type Database, type Executor, fromJson, type Tx } from '../platform/database/index.ts';
import type { ServingGpu } from './launch/admission.ts';
import {
  type Demand,
  freshVramFree,
  type GpuFacts,
  type HostFacts,
  type PlacementSettings,
} from './launch/placement.ts';

/** The row of an agent's encoder report for one GPU, as far as a stream asks. */
interface EncoderRow {
  family: string;
  gpu_index: number;
  codec: string;
  h264_profiles?: ('constrained-baseline' | 'main' | 'high')[];
}

/** What a placed session takes over from its host. */
export interface Serving extends ServingGpu {
  encoders: readonly EncoderRow[] | null;
  settings: Readonly<Record<string, string>>;
}

/** Hosts of one kind report the same texts, and every launch reads many of them. */
const parsed = new LRUCache<string, object>({ max: 1_000 });

function parse<T extends object>(text: string): T {
  const known = parsed.get(text);
  if (known !== undefined) return known as T;
  const value = fromJson<T>(text);
  parsed.set(text, value);
  return value;
}

const settingsOf = (text: string | null): Readonly<Record<string, string>> =>
  text === null ? {} : parse(text);

/** What an agent calls by another name is none of ours; it counts as not set. */
const encoderOf = (settings: Readonly<Record<string, string>>) =>
  encoderFamily.safeParse(settings.encoder).data ?? null;

/** The session states that hold slots, as text: an index over some states serves only queries that name them so. */
const RESERVING = sql`('assigned', 'starting', 'running', 'stopping')`;

/** Sessions of a GPU that a VRAM sample cannot contain yet. @param since those that started before are in it */
const inFlight = (gpuId: RawBuilder<unknown>, since: RawBuilder<unknown>) =>
  sql<number>`(select count(*) from sessions s where s.gpu_id = ${gpuId} and s.state in ${RESERVING}
    and (s.started_at is null or s.started_at > ${since}))`;

/**
 * The GPUs that a launch may want, best first: those that could serve it now before all others, in the order of
 * `decidePlacement`.
 * @param limit at most so many
 */
export async function loadGpus(
  db: Executor,
  demand: Demand,
  settings: PlacementSettings,
  nowMs: number,
  limit: number,
): Promise<GpuFacts[]> {
  const stalenessMs = settings.vramStalenessSecs * SECOND_MS;
  const isFresh = sql<boolean>`gpus.vram_mb_free is not null and gpus.vram_sampled_at >= ${nowMs - stalenessMs}`;
  const pinned = demand.pin === null ? sql<boolean>`1 = 1` : sql<boolean>`hosts.id = ${demand.pin.host_id}`;
  const rows = await db
    .selectFrom('gpus')
    .innerJoin('hosts', 'hosts.id', 'gpus.host_id')
    .select([
      'gpus.id as gpu_id',
      'gpus.gpu_index',
      'gpus.vendor',
      'gpus.render_node',
      'gpus.reported',
      'gpus.slots_total',
      'gpus.slots_used',
      'gpus.sessions_active',
      'gpus.vram_mb_total',
      'gpus.vram_mb_free',
      'gpus.vram_sampled_at',
      'hosts.id as host_id',
      'hosts.node_name',
      'hosts.status',
      'hosts.capacity_detection',
      'hosts.features',
      'hosts.effective_settings',
    ])
    .select(
      sql<number>`case when ${isFresh} then ${inFlight(
        sql.ref('gpus.id'),
        sql`gpus.vram_sampled_at - ${stalenessMs}`,
      )} else 0 end`.as('in_flight'),
    )
    .orderBy(
      sql`case when hosts.status = 'online' and hosts.capacity_detection = 'ok' and gpus.reported = 1
        and ${pinned} and gpus.slots_total - gpus.slots_used >= ${demand.encode_slots} then 0 else 1 end`,
    )
    .orderBy(sql`case when hosts.id = ${demand.prefer_host_id ?? ''} then 0 else 1 end`)
    .orderBy(sql`gpus.slots_total - gpus.slots_used`, 'desc')
    .orderBy(sql`case when ${isFresh} then gpus.vram_mb_free else -1 end`, 'desc')
    .orderBy('gpus.sessions_active')
    .orderBy('gpus.id')
    .limit(limit)
    .execute();
  const hosts = new Map<string, HostFacts>();
  return rows.map((row) => {
    let host = hosts.get(row.host_id);
    if (host === undefined) {
      const reported = settingsOf(row.effective_settings);
      host = {
        host_id: row.host_id,
        node_name: row.node_name,
        status: row.status,
        capacity_detection: row.capacity_detection,
        features: parse<string[]>(row.features),
        encoder: encoderOf(reported),
        render_node: reported.render_node ?? null,
        home_root: reported.home_root ?? null,
        image: null,
      };
      hosts.set(row.host_id, host);
    }
    return {
      host,
      gpu_id: row.gpu_id,
      gpu_index: row.gpu_index,
      vendor: row.vendor,
      render_node: row.render_node,
      reported: bool(row.reported),
      slots_total: row.slots_total,
      slots_used: row.slots_used,
      active_sessions: row.sessions_active,
      in_flight: Number(row.in_flight),
      vram_mb_total: row.vram_mb_total,
      vram_mb_free: row.vram_mb_free,
      vram_sampled_at: row.vram_sampled_at,
    };
  });
}

/** Hosts that have no GPU on record, by name. */
export function loadBareHosts(
  db: Executor,
): Promise<Pick<HostFacts, 'host_id' | 'node_name' | 'status' | 'capacity_detection'>[]> {
  return db
    .selectFrom('hosts')
    .leftJoin('gpus', 'gpus.host_id', 'hosts.id')
    .select(['hosts.id as host_id', 'hosts.node_name', 'hosts.status', 'hosts.capacity_detection'])
    .where('gpus.id', 'is', null)
    .orderBy('hosts.node_name')
    .execute();
}

/** A GPU whose slots this transaction took. */
type TakenGpu = Pick<GpuFacts, 'gpu_id' | 'vram_mb_total' | 'vram_mb_free' | 'vram_sampled_at'>;

/**
 * Takes slots of the first GPU that has room and that nobody else holds, and holds its row. The comparison is the last
 * guard against booking a slot twice; the check constraint of the table is the one behind it.
 * @param gpuIds in the order in which they are wanted
 * @returns null: there is none among them
 */
export async function takeSlots(
  database: Database,
  tx: Tx,
  gpuIds: readonly string[],
  slots: number,
): Promise<TakenGpu | null> {
  // On SQLite nobody else can hold a row.
  const wanted = database.dialect === 'sqlite' ? gpuIds.slice(0, 1) : gpuIds;
  if (wanted.length === 0) return null;
  const row = await tx
    .updateTable('gpus')
    .set((eb) => ({
      slots_used: eb('slots_used', '+', slots),
      sessions_active: eb('sessions_active', '+', 1),
    }))
    .where('id', '=', (eb) => {
      const open = eb
        .selectFrom('gpus as wanted')
        .select('wanted.id')
        .where('wanted.id', 'in', wanted)
        .where((e) => e(e('wanted.slots_total', '-', e.ref('wanted.slots_used')), '>=', slots))
        .orderBy(rankOf(wanted))
        .limit(1);
      // A row that somebody changed meanwhile is looked at again as it is now, and left out if it is full.
      return database.skipLocked(open);
    })
    .returning(['id as gpu_id', 'vram_mb_total', 'vram_mb_free', 'vram_sampled_at'])
    .executeTakeFirst();
  return row ?? null;
}

function rankOf(ids: readonly string[]): RawBuilder<number> {
  const ranks = ids.map((id, rank) => sql`when ${id} then ${sql.lit(rank)}`);
  return sql<number>`case wanted.id ${sql.join(ranks, sql` `)} end`;
}

/** Gives back what `takeSlots` took in this transaction. */
export async function giveBack(tx: Tx, gpuId: string, slots: number): Promise<void> {
  await tx
    .updateTable('gpus')
    .set((eb) => ({
      slots_used: eb('slots_used', '-', slots),
      sessions_active: eb('sessions_active', '-', 1),
    }))
    .where('id', '=', gpuId)
    .execute();
}

/** Sessions of a GPU that its VRAM sample cannot contain yet. 0 without a sample that counts. */
export async function countInFlight(
  tx: Tx,
  gpu: TakenGpu,
  settings: PlacementSettings,
  nowMs: number,
): Promise<number> {
  if (settings.vramMinFreeMb === 0 || freshVramFree(gpu, settings, nowMs) === null) return 0;
  const since = (gpu.vram_sampled_at ?? 0) - settings.vramStalenessSecs * SECOND_MS;
  const count = inFlight(sql.val(gpu.gpu_id), sql.val(since));
  const { rows } = await sql<{ count: number }>`select ${count} as count`.execute(tx);
  return Number(rows[0]?.count ?? 0);
}

/**
 * What the host of a GPU encodes with.
 * @param certified whether measurements matter to this launch; they are not read otherwise
 */
export async function loadServing(db: Executor, gpu: GpuFacts, certified: boolean): Promise<Serving> {
  const host = await db
    .selectFrom('hosts')
    .select(['codecs', 'codec_throughput', 'encoders', 'effective_settings'])
    // Most hosts were never measured; this spares them a question of its own.
    .select((eb) =>
      eb
        .exists(
          eb
            .selectFrom('encoder_certifications as measured')
            .select('measured.id')
            .whereRef('measured.host_id', '=', 'hosts.id'),
        )
        .as('is_measured'),
    )
    .where('id', '=', gpu.host.host_id)
    .executeTakeFirstOrThrow();
  const settings = settingsOf(host.effective_settings);
  const encoder = encoderOf(settings);
  return {
    codecs: host.codecs === null ? null : parse(host.codecs),
    throughput: host.codec_throughput === null ? null : parse(host.codec_throughput),
    encoders: host.encoders === null ? null : parse(host.encoders),
    encoder,
    settings,
    certifications:
      certified && host.is_measured
        ? await loadCertifications(db, gpu.host.host_id, gpu.gpu_index, encoder ?? 'openh264')
        : [],
  };
}

/** Sets what every GPU carries to what its sessions hold. The rows must be locked by this transaction. */
export async function rebuildSlots(tx: Tx): Promise<number> {
  const of = (figure: RawBuilder<unknown>) =>
    sql<number>`(select ${figure} from sessions s where s.gpu_id = gpus.id and s.state in ${RESERVING})`;
  const held = of(sql`coalesce(sum(s.encode_slots), 0)`);
  const active = of(sql`count(*)`);
  const result = await tx
    .updateTable('gpus')
    .set({
      slots_used: held,
      slots_guard: sql<number>`case when ${held} > slots_total then ${held} else slots_total end`,
      sessions_active: active,
    })
    .where(sql<boolean>`slots_used <> ${held} or sessions_active <> ${active}`)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
