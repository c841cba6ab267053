import { SECOND_MS } from '@footlight/platform';
import { encoderFamily } from '@footlight/protocol';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { loadCertifications } from '../../certification/index.ts';
import { type SettingValues, settingsInForce } from '../../fleet/index.ts';
import { bool, type Executor, fromJson, statement, type Tx } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import type { ServingGpu } from '../launch/admission.ts';
import {
  type Demand,
  freshVramFree,
  type GpuFacts,
  type HostFacts,
  type PlacementSettings,
} from './placement.ts';

/** One GPU's row of an agent's encoder report, as far as a stream needs it. */
interface EncoderRow {
  family: string;
  gpu_index: number;
  codec: string;
  h264_profiles?: ('constrained-baseline' | 'main' | 'high')[];
}

/** Host facts that a placed session stores. */
export interface Serving extends ServingGpu {
  encoders: readonly EncoderRow[] | null;
  /** Settings in force for a session that starts now, as texts. */
  settings: Readonly<Record<string, string>>;
}

/** Cache of parsed reports: hosts of one kind report the same texts, and every launch reads many of them. */
const parsed = new LRUCache<string, object>({ max: 1_000 });

function parse<T extends object>(text: string): T {
  const known = parsed.get(text);
  if (known !== undefined) return known as T;
  const value = fromJson<T>(text);
  parsed.set(text, value);
  return value;
}

const settingsOf = (
  host: Pick<HostsTable, 'effective_settings' | 'settings_overrides'>,
): Readonly<Record<string, string>> =>
  settingsInForce(
    host.effective_settings === null ? {} : parse(host.effective_settings),
    parse<SettingValues>(host.settings_overrides),
  );

/** An unknown encoder name counts as not set. */
const encoderOf = (settings: Readonly<Record<string, string>>) =>
  encoderFamily.safeParse(settings.encoder).data ?? null;

/** Session states that hold slots, as text: a partial index serves only queries that name its states literally. */
const RESERVING = sql`('assigned', 'starting', 'running', 'stopping')`;

/** Sessions of a GPU that a VRAM sample cannot contain yet. @param since start of the counted time */
const inFlight = (gpuId: RawBuilder<unknown>, since: RawBuilder<unknown>) =>
  sql<number>`(select count(*) from sessions s where s.gpu_id = ${gpuId} and s.state in ${RESERVING}
    and (s.started_at is null or s.started_at > ${since}))`;

type Wish = {
  slots: number;
  /** null: any host. */
  pinnedHost: string | null;
  preferredHost: string | null;
  /** VRAM samples since this time count. */
  freshSince: number;
  stalenessMs: number;
  limit: number;
};

const gpusInOrder = statement((db, _lists, wish: Wish) => {
  const isFresh = sql<boolean>`gpus.vram_mb_free is not null and gpus.vram_sampled_at >= ${wish.freshSince}`;
  const pinned = sql<boolean>`hosts.id = coalesce(${wish.pinnedHost}, hosts.id)`;
  return db
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
      'hosts.settings_overrides',
    ])
    .select(
      sql<number>`case when ${isFresh} then ${inFlight(
        sql.ref('gpus.id'),
        sql`gpus.vram_sampled_at - ${wish.stalenessMs}`,
      )} else 0 end`.as('in_flight'),
    )
    .orderBy(
      sql`case when hosts.status = 'online' and hosts.capacity_detection = 'ok' and gpus.reported = 1
        and ${pinned} and gpus.slots_total - gpus.slots_used >= ${wish.slots} then 0 else 1 end`,
    )
    .orderBy(sql`case when hosts.id = ${wish.preferredHost} then 0 else 1 end`)
    .orderBy(sql`gpus.slots_total - gpus.slots_used`, 'desc')
    .orderBy(sql`case when ${isFresh} then gpus.vram_mb_free else -1 end`, 'desc')
    .orderBy('gpus.sessions_active')
    .orderBy('gpus.id')
    .limit(wish.limit);
});

/**
 * The GPUs that a launch may use, in the order of `decidePlacement`; GPUs that could serve now come first.
 * @param limit most rows
 */
export async function loadGpus(
  db: Executor,
  demand: Demand,
  settings: PlacementSettings,
  nowMs: number,
  limit: number,
): Promise<GpuFacts[]> {
  const stalenessMs = settings.vramStalenessSecs * SECOND_MS;
  const wish: Wish = {
    slots: demand.encode_slots,
    pinnedHost: demand.pin?.host_id ?? null,
    preferredHost: demand.prefer_host_id,
    freshSince: nowMs - stalenessMs,
    stalenessMs,
    limit,
  };
  const rows = await gpusInOrder(db, {}, wish);
  const hosts = new Map<string, HostFacts>();
  return rows.map((row) => {
    let host = hosts.get(row.host_id);
    if (host === undefined) {
      const reported = settingsOf(row);
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

/** Hosts without a stored GPU, by name. */
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

/** Sum of the demands on one GPU. */
export interface Want {
  gpu_id: string;
  slots: number;
  sessions: number;
}

/** A GPU whose slots this transaction booked. */
type TakenGpu = Pick<GpuFacts, 'gpu_id' | 'vram_mb_total' | 'vram_mb_free' | 'vram_sampled_at'>;

type Figures = { gpus: readonly string[]; slots: readonly number[]; sessions: readonly number[] };

/** The figure of each listed GPU, 0 for others. */
const byGpu = (id: RawBuilder<unknown>, { gpus }: Figures, figures: readonly number[]) => {
  const cases = gpus.map((gpu, n) => sql`when ${gpu} then cast(${figures[n]} as integer)`);
  return sql<number>`case ${id} ${sql.join(cases, sql` `)} else 0 end`;
};

const taking = statement((db, wants: Figures, _values, { skipLocked }) =>
  db
    .updateTable('gpus')
    .set({
      slots_used: sql<number>`slots_used + ${byGpu(sql.ref('gpus.id'), wants, wants.slots)}`,
      sessions_active: sql<number>`sessions_active + ${byGpu(sql.ref('gpus.id'), wants, wants.sessions)}`,
    })
    .where('id', 'in', (eb) =>
      // Postgres re-evaluates a concurrently changed row; a full GPU is then left out.
      skipLocked(
        eb
          .selectFrom('gpus as wanted')
          .select('wanted.id')
          .where('wanted.id', 'in', wants.gpus)
          .where(
            sql<boolean>`wanted.slots_total - wanted.slots_used >= ${byGpu(sql.ref('wanted.id'), wants, wants.slots)}`,
          ),
      ),
    )
    .returning(['id as gpu_id', 'vram_mb_total', 'vram_mb_free', 'vram_sampled_at']),
);

/**
 * Books slots of unlocked GPUs that have room for the whole demand, and locks their rows. This condition is the last
 * guard against double booking; the table's check constraint is the fallback.
 * @param wants at most one for each GPU
 * @returns the booked GPUs
 */
export async function takeSlots(tx: Tx, wants: readonly Want[]): Promise<Map<string, TakenGpu>> {
  if (wants.length === 0) return new Map();
  const rows = await taking(
    tx,
    {
      gpus: wants.map((want) => want.gpu_id),
      slots: wants.map((want) => want.slots),
      sessions: wants.map((want) => want.sessions),
    },
    {},
  );
  return new Map(rows.map((row) => [row.gpu_id, row]));
}

/** Frees slots that `takeSlots` booked in this transaction. */
export async function giveBack(tx: Tx, { gpu_id, slots, sessions }: Want): Promise<void> {
  await tx
    .updateTable('gpus')
    .set((eb) => ({
      slots_used: eb('slots_used', '-', slots),
      sessions_active: eb('sessions_active', '-', sessions),
    }))
    .where('id', '=', gpu_id)
    .execute();
}

/** Sessions that the GPUs' VRAM samples cannot contain yet. GPUs without a fresh sample are missing. */
export async function countInFlight(
  tx: Tx,
  gpus: Iterable<TakenGpu>,
  settings: PlacementSettings,
  nowMs: number,
): Promise<Map<string, number>> {
  const sampled = [...gpus].filter((gpu) => freshVramFree(gpu, settings, nowMs) !== null);
  if (settings.vramMinFreeMb === 0 || sampled.length === 0) return new Map();
  const stalenessMs = settings.vramStalenessSecs * SECOND_MS;
  const rows = await tx
    .selectFrom('gpus')
    .select('id')
    .select(inFlight(sql.ref('gpus.id'), sql`gpus.vram_sampled_at - ${stalenessMs}`).as('in_flight'))
    .where(
      'id',
      'in',
      sampled.map((gpu) => gpu.gpu_id),
    )
    .execute();
  return new Map(rows.map((row) => [row.id, Number(row.in_flight)]));
}

const servingHosts = statement((db, { hostIds }: { hostIds: readonly string[] }) =>
  db
    .selectFrom('hosts')
    .select(['id', 'codecs', 'codec_throughput', 'encoders', 'effective_settings', 'settings_overrides'])
    // A scalar subquery, because most hosts have no measurement and need no second query.
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
    .where('id', 'in', hostIds),
);

/** Encoders of the GPUs' hosts. */
export async function loadServings(
  db: Executor,
  gpus: readonly GpuFacts[],
): Promise<(gpu: GpuFacts) => Serving> {
  const hostIds = [...new Set(gpus.map((gpu) => gpu.host.host_id))];
  const rows = hostIds.length === 0 ? [] : await servingHosts(db, { hostIds }, {});
  const measured = rows.filter((row) => row.is_measured).map((row) => row.id);
  const certifications = await loadCertifications(db, measured);
  const hosts = new Map(rows.map((row) => [row.id, row]));
  return ({ host: { host_id }, gpu_index }) => {
    const host = hosts.get(host_id);
    if (host === undefined) throw new Error(`host ${host_id} went away while a launch held its GPU`);
    const settings = settingsOf(host);
    const encoder = encoderOf(settings);
    return {
      codecs: host.codecs === null ? null : parse(host.codecs),
      throughput: host.codec_throughput === null ? null : parse(host.codec_throughput),
      encoders: host.encoders === null ? null : parse(host.encoders),
      encoder,
      settings,
      certifications: certifications.filter(
        (one) =>
          one.host_id === host_id && one.gpu_index === gpu_index && one.encoder === (encoder ?? 'openh264'),
      ),
    };
  };
}

/** Recomputes the slots of every GPU from its sessions. The caller's transaction must hold the rows' locks. */
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
