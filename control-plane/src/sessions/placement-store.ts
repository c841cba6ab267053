import { encoderFamily, reservingStates } from '@footlight/protocol';
import { sql } from 'kysely';
import { type Executor, fromJson, type Tx } from '../platform/database/index.ts';
import type { GpuFacts } from './admission.ts';

/** A GPU with what a placed session takes over from its host. */
export interface PlacementRow extends GpuFacts {
  codecs: readonly string[] | null;
  encoders: readonly EncoderRow[] | null;
  settings: Readonly<Record<string, string>>;
}

/** One row of an agent's encoder report, as far as a stream asks. */
interface EncoderRow {
  family: string;
  gpu_index: number;
  codec: string;
  h264_profiles?: ('constrained-baseline' | 'main' | 'high')[];
}

export interface GpuQuery {
  /** Only GPUs of online hosts with at least so many free slots; null = every GPU, for the reasons of a refusal. */
  minFreeSlots: number | null;
  /** Only this one. */
  gpuId?: string;
  /** A session that started so long before a VRAM sample is contained in it, ms. */
  vramStalenessMs: number;
}

/** The GPUs of the fleet with what runs on each. */
export async function loadGpus(db: Executor, wanted: GpuQuery): Promise<PlacementRow[]> {
  let query = db
    .selectFrom('gpus')
    .innerJoin('hosts', 'hosts.id', 'gpus.host_id')
    .leftJoin(
      (eb) =>
        eb
          .selectFrom('sessions as s')
          .innerJoin('gpus as g', 'g.id', 's.gpu_id')
          .select('s.gpu_id as gpu_id')
          .select((e) => e.fn.countAll<number>().as('active'))
          .select(
            sql<number>`sum(case when s.started_at is null or s.started_at > g.vram_sampled_at - ${wanted.vramStalenessMs} then 1 else 0 end)`.as(
              'in_flight',
            ),
          )
          .where('s.state', 'in', reservingStates)
          .groupBy('s.gpu_id')
          .as('load'),
      (join) => join.onRef('load.gpu_id', '=', 'gpus.id'),
    )
    .select([
      'gpus.id as gpu_id',
      'gpus.gpu_index',
      'gpus.vendor',
      'gpus.render_node',
      'gpus.reported',
      'gpus.slots_total',
      'gpus.slots_used',
      'gpus.vram_mb_total',
      'gpus.vram_mb_free',
      'gpus.vram_sampled_at',
      'hosts.id as host_id',
      'hosts.node_name',
      'hosts.status',
      'hosts.capacity_detection',
      'hosts.features',
      'hosts.codecs',
      'hosts.encoders',
      'hosts.effective_settings',
      'load.active',
      'load.in_flight',
    ]);
  if (wanted.gpuId !== undefined) query = query.where('gpus.id', '=', wanted.gpuId);
  if (wanted.minFreeSlots !== null)
    query = query
      .where('hosts.status', '=', 'online')
      .where('hosts.capacity_detection', '=', 'ok')
      .where('gpus.reported', '=', 1)
      .where((eb) => eb(eb('gpus.slots_total', '-', eb.ref('gpus.slots_used')), '>=', wanted.minFreeSlots));
  const rows = await query.execute();
  return rows.map((row) => {
    const settings =
      row.effective_settings === null ? {} : fromJson<Record<string, string>>(row.effective_settings);
    return {
      host: {
        host_id: row.host_id,
        node_name: row.node_name,
        status: row.status,
        capacity_detection: row.capacity_detection,
        features: fromJson<string[]>(row.features),
        // What an agent calls by another name is none of ours; it counts as not set.
        encoder: encoderFamily.safeParse(settings.encoder).data ?? null,
        render_node: settings.render_node ?? null,
        home_root: settings.home_root ?? null,
      },
      gpu_id: row.gpu_id,
      gpu_index: row.gpu_index,
      vendor: row.vendor,
      render_node: row.render_node,
      reported: row.reported !== 0,
      slots_total: row.slots_total,
      slots_used: row.slots_used,
      active_sessions: Number(row.active ?? 0),
      in_flight: Number(row.in_flight ?? 0),
      vram_mb_total: row.vram_mb_total,
      vram_mb_free: row.vram_mb_free,
      vram_sampled_at: row.vram_sampled_at,
      codecs: row.codecs === null ? null : fromJson(row.codecs),
      encoders: row.encoders === null ? null : fromJson(row.encoders),
      settings,
    };
  });
}

/**
 * Takes encode slots of a GPU whose row the transaction holds. The comparison is the last guard against booking a slot
 * twice; the check constraint of the table is the one behind it.
 * @returns whether there was room
 */
export async function takeSlots(tx: Tx, gpuId: string, slots: number): Promise<boolean> {
  const result = await tx
    .updateTable('gpus')
    .set((eb) => ({ slots_used: eb('slots_used', '+', slots) }))
    .where('id', '=', gpuId)
    .where((eb) => eb(eb('slots_total', '-', eb.ref('slots_used')), '>=', slots))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Sets the used slots of every GPU to what its sessions hold. The rows must be locked by this transaction. */
export async function rebuildSlots(tx: Tx): Promise<number> {
  const held = sql<number>`coalesce((select sum(s.encode_slots) from sessions s where s.gpu_id = gpus.id and s.state in ('assigned', 'starting', 'running', 'stopping')), 0)`;
  const result = await tx
    .updateTable('gpus')
    .set({
      slots_used: held,
      slots_guard: sql<number>`case when ${held} > slots_total then ${held} else slots_total end`,
    })
    .where(sql<boolean>`slots_used <> ${held}`)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
