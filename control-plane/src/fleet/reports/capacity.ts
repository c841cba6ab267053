/** Plans the rows that a capacity report changes. Pure. */
import type { Capacity, Gpu, Readiness } from '@footlight/protocol/agent';
import { toJson } from '../../platform/database/codec.ts';
import type { GpusTable, HostsTable } from '../../platform/database/tables/fleet.ts';

export const CAPACITY_COLUMNS = [
  'cpu_cores',
  'mem_mb',
  'cpu_model',
  'storage',
  'capacity_detection',
  'capacity_reason',
  'readiness',
  'readiness_reported_at',
  'codecs',
  'codec_throughput',
  'encoders',
  'effective_settings',
  'console_capabilities',
  'first_capacity_at',
] as const;
export type HostCapacity = Pick<HostsTable, (typeof CAPACITY_COLUMNS)[number]>;

/** Columns of a host that a capacity report changes; missing keys keep the stored value. */
type HostCapacityColumns = Partial<HostCapacity>;

export type StoredGpu = Pick<
  GpusTable,
  'id' | 'gpu_index' | 'vendor' | 'model' | 'vram_mb_total' | 'slots_total' | 'render_node' | 'reported'
>;

export interface CapacityPlan {
  host: HostCapacityColumns;
  /** null: the report is not ok, so the stored GPUs stay. */
  gpus: {
    insert: Gpu[];
    /** GPUs with changed values. clearSample: another card has this index, so the old sample is invalid. */
    update: { id: string; gpu: Gpu; clearSample: boolean }[];
    /** Ids of GPUs that a registration hid, and that the report lists with the stored values. */
    show: string[];
    /** Ids of GPUs that the report no longer lists. */
    unreport: string[];
  } | null;
}

type StoredHost = HostCapacityColumns & Pick<HostCapacity, 'readiness' | 'first_capacity_at'>;

/**
 * Plans the changes that a capacity report makes. It replaces the former report; missing fields keep their stored
 * value. Agents report after each registration and each configuration, mostly unchanged; then nothing is written.
 * @param stored the relevant columns of the host, and all its GPU rows
 * @param nowMs time stamp for a changed readiness and the first report
 * After a failed report the stored GPUs are kept, but hidden until the next good one. GPUs that a good report does not
 * list are hidden.
 */
export function planCapacity(
  stored: { host: StoredHost; gpus: readonly StoredGpu[] },
  report: Capacity,
  nowMs: number,
): CapacityPlan {
  const reported = report.detection === '' ? 'ok' : report.detection;
  const detection = reported === 'ok' && report.gpus.length === 0 ? 'unavailable' : reported;
  const reason =
    reported === 'ok' ? 'no GPU was reported' : (report.detection_reason ?? 'the agent gave no reason');
  const host: HostCapacityColumns = {
    cpu_cores: report.host.cpu_cores,
    mem_mb: report.host.mem_mb,
    ...(report.host.cpu_model !== undefined && { cpu_model: report.host.cpu_model }),
    ...(report.host.storage !== undefined && { storage: toJson(report.host.storage) }),
    capacity_detection: detection,
    capacity_reason: detection === 'ok' ? null : reason,
    ...planReadiness(stored.host.readiness, report.readiness, nowMs),
    ...(report.codecs !== undefined && { codecs: toJson([...new Set(report.codecs)]) }),
    ...(report.codec_throughput !== undefined && { codec_throughput: toJson(report.codec_throughput) }),
    ...(report.encoders !== undefined && { encoders: toJson(report.encoders) }),
    ...(report.effective_settings !== undefined && { effective_settings: toJson(report.effective_settings) }),
    ...(report.console_capabilities !== undefined && {
      console_capabilities: toJson(report.console_capabilities),
    }),
    ...(stored.host.first_capacity_at === null && { first_capacity_at: nowMs }),
  };
  return {
    host: changedColumns(stored.host, host),
    gpus: detection === 'ok' ? planGpus(stored.gpus, report.gpus) : null,
  };
}

/** Whether the plan changes no row. */
export function changesNothing({ host, gpus }: CapacityPlan): boolean {
  const rows =
    gpus === null ? 0 : gpus.insert.length + gpus.update.length + gpus.show.length + gpus.unreport.length;
  return Object.keys(host).length === 0 && rows === 0;
}

function changedColumns(stored: StoredHost, columns: HostCapacityColumns): HostCapacityColumns {
  const entries = Object.entries(columns) as [keyof HostCapacityColumns, unknown][];
  return Object.fromEntries(entries.filter(([column, value]) => stored[column] !== value));
}

/** An identical readiness keeps the time of its last change. Passed and skipped checks need no remedy. */
function planReadiness(
  stored: string | null,
  reported: readonly Readiness[] | undefined,
  nowMs: number,
): HostCapacityColumns {
  if (reported === undefined) return {};
  const checks = reported.map((check) =>
    check.status === 'pass' || check.status === 'skip' ? { ...check, remediation: [] } : check,
  );
  const readiness = toJson(checks);
  return readiness === stored ? {} : { readiness, readiness_reported_at: nowMs };
}

function planGpus(stored: readonly StoredGpu[], reported: readonly Gpu[]): CapacityPlan['gpus'] {
  const storedByIndex = new Map(stored.map((gpu) => [gpu.gpu_index, gpu]));
  const insert: Gpu[] = [];
  const update: { id: string; gpu: Gpu; clearSample: boolean }[] = [];
  const show: string[] = [];
  for (const gpu of reported) {
    const known = storedByIndex.get(gpu.index);
    storedByIndex.delete(gpu.index);
    if (known === undefined) {
      insert.push(gpu);
      continue;
    }
    const same =
      known.vendor === gpu.vendor && known.model === gpu.model && known.render_node === gpu.render_node;
    const unchanged =
      same && known.vram_mb_total === gpu.vram_mb_total && known.slots_total === gpu.encode_slots_total;
    if (!unchanged) update.push({ id: known.id, gpu, clearSample: !same });
    else if (known.reported === 0) show.push(known.id);
  }
  const unreport = [...storedByIndex.values()].filter((gpu) => gpu.reported !== 0).map((gpu) => gpu.id);
  return { insert, update, show, unreport };
}
