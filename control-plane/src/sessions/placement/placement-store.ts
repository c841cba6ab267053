import { SECOND_MS } from '@footlight/platform';
import { encoderFamily } from '@footlight/protocol';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { type SettingValues, settingsInForce } from '../../fleet/index.ts';
import { loadImageOnHosts } from '../../images/index.ts';
import { bool, type Executor, fromJson } from '../../platform/database/index.ts';
import type { HostsTable } from '../../platform/database/tables/fleet.ts';
import type { ServingGpu } from '../stream/serve.ts';
import {
  type Demand,
  type GpuFacts,
  type HostFacts,
  type OrderTerm,
  PLACEMENT_ORDER,
  type PlacementSettings,
} from './placement.ts';
import { inFlight } from './slots-store.ts';

/** One entry of an agent's encoder report, with the fields that a stream needs. */
interface EncoderRow {
  family: string;
  gpu_index: number;
  codec: string;
  h264_profiles?: ('constrained-baseline' | 'main' | 'high')[];
}

/** Host facts that a placed session stores. */
export interface ServingFacts extends ServingGpu {
  encoders: readonly EncoderRow[] | null;
  /** Settings that apply to a session that starts now, as texts. */
  settings: Readonly<Record<string, string>>;
}

/** Cache of parsed reports: similar hosts report the same texts, and every launch reads many of them. */
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

type GpuQuery = {
  slots: number;
  /** null: any host. */
  pinnedHost: string | null;
  preferredHost: string | null;
  /** Older VRAM samples are ignored. */
  freshSince: number;
  stalenessMs: number;
  limit: number;
};

const isFresh = ({ freshSince }: GpuQuery) =>
  sql<boolean>`gpus.vram_mb_free is not null and gpus.vram_sampled_at >= ${freshSince}`;

/** The terms of `PLACEMENT_ORDER` in SQL. order.db.test.ts compares both orders. */
const ORDER_TERMS: Readonly<Record<OrderTerm, (query: GpuQuery) => RawBuilder<unknown>>> = {
  preferred: ({ preferredHost }) => sql`case when hosts.id = ${preferredHost} then 1 else 0 end`,
  free_slots: () => sql`gpus.slots_total - gpus.slots_used`,
  fresh_vram: (query) => sql`case when ${isFresh(query)} then gpus.vram_mb_free else -1 end`,
  active_sessions: () => sql.ref('gpus.sessions_active'),
  gpu_id: () => sql.ref('gpus.id'),
};

const gpusInOrder = (db: Executor, query: GpuQuery) => {
  const pinned = sql<boolean>`hosts.id = coalesce(${query.pinnedHost}, hosts.id)`;
  const canServe = sql`case when hosts.status = 'online' and hosts.capacity_detection = 'ok' and gpus.reported = 1
    and ${pinned} and gpus.slots_total - gpus.slots_used >= ${query.slots} then 0 else 1 end`;
  const gpus = db
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
      sql<number>`case when ${isFresh(query)} then ${inFlight(
        sql.ref('gpus.id'),
        sql`gpus.vram_sampled_at - ${query.stalenessMs}`,
      )} else 0 end`.as('in_flight'),
    )
    .orderBy(canServe);
  return PLACEMENT_ORDER.reduce(
    (ordered, [term, direction]) => ordered.orderBy(ORDER_TERMS[term](query), direction),
    gpus,
  )
    .limit(query.limit)
    .execute();
};

/**
 * The GPUs that a launch may use, in the order of `decidePlacement`; GPUs that could serve now come first.
 * @param limit maximum rows
 */
export async function loadGpus(
  db: Executor,
  demand: Demand,
  settings: PlacementSettings,
  nowMs: number,
  limit: number,
): Promise<GpuFacts[]> {
  const stalenessMs = settings.vramStalenessSecs * SECOND_MS;
  const query: GpuQuery = {
    slots: demand.encode_slots,
    pinnedHost: demand.pin?.host_id ?? null,
    preferredHost: demand.prefer_host_id,
    freshSince: nowMs - stalenessMs,
    stalenessMs,
    limit,
  };
  const rows = await gpusInOrder(db, query);
  const { image } = demand;
  const onHosts = image === null ? null : await loadImageOnHosts(db, image.image_id);
  const imagesOf = (hostId: string): HostFacts['images'] => {
    const held = onHosts?.get(hostId);
    return new Map(image === null || held === undefined ? [] : [[image.image_id, held]]);
  };
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
        images: imagesOf(row.host_id),
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

/** Hosts without a stored GPU, sorted by name. */
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

/** Reads the encoder facts of the GPUs' hosts. */
export async function loadServingFacts(
  db: Executor,
  gpus: readonly GpuFacts[],
): Promise<(gpu: GpuFacts) => ServingFacts> {
  const hostIds = [...new Set(gpus.map((gpu) => gpu.host.host_id))];
  const rows =
    hostIds.length === 0
      ? []
      : await db
          .selectFrom('hosts')
          .select([
            'id',
            'codecs',
            'codec_throughput',
            'encoders',
            'effective_settings',
            'settings_overrides',
          ])
          // The subquery tells which hosts have measurements; most have none and need no second query.
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
          .where('id', 'in', hostIds)
          .execute();
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
        (entry) =>
          entry.host_id === host_id &&
          entry.gpu_index === gpu_index &&
          entry.encoder === (encoder ?? 'openh264'),
      ),
    };
  };
}

/** Measurements of the encoders of these hosts. */
async function loadCertifications(db: Executor, hostIds: readonly string[]) {
  if (hostIds.length === 0) return [];
  const rows = await db
    .selectFrom('encoder_certifications')
    .select([
      'host_id',
      'gpu_index',
      'encoder',
      'stream_profile_id',
      'bitrate_kbps',
      'verdict',
      'live_write_stable',
      'measured_at',
    ])
    .where('host_id', 'in', hostIds)
    .execute();
  return rows.map((row) => ({ ...row, live_write_stable: bool(row.live_write_stable) }));
}
