import type { EnrollmentToken, Gpu, Host, HostCapacity } from '@footlight/protocol/rest';
import { fromJson, instant, instantOrNull } from '../../platform/database/codec.ts';
import type { EnrollmentTokensTable, GpusTable, HostsTable } from '../../platform/database/tables/fleet.ts';
import type { GpuLoad } from '../fleet.ts';
import type { ListedHost } from './host-store.ts';

/** Sums up the loads of one host, or of one GPU if `gpuId` is given. */
function sumLoads(
  loads: readonly GpuLoad[],
  hostId: string,
  gpuId?: string,
): Omit<GpuLoad, 'host_id' | 'gpu_id'> {
  let active_sessions = 0;
  let vram_mb_reserved = 0;
  for (const load of loads) {
    if (load.host_id !== hostId || (gpuId !== undefined && load.gpu_id !== gpuId)) continue;
    active_sessions += load.active_sessions;
    vram_mb_reserved += load.vram_mb_reserved;
  }
  return { active_sessions, vram_mb_reserved };
}

/**
 * Capacity and load of a host, computed from its reported GPUs.
 * @param staleAfterMs age from which a VRAM sample is ignored
 * @returns null without reported GPUs or with a detection that is not ok
 */
export function hostCapacity(
  host: Pick<HostsTable, 'id' | 'capacity_detection'>,
  gpus: readonly GpusTable[],
  loads: readonly GpuLoad[],
  nowMs: number,
  staleAfterMs: number,
): HostCapacity | null {
  if (host.capacity_detection !== 'ok' || gpus.length === 0) return null;
  const isFresh = (gpu: GpusTable) =>
    gpu.vram_sampled_at !== null && nowMs - gpu.vram_sampled_at <= staleAfterMs;
  return {
    slots_total: sum(gpus, (gpu) => gpu.slots_total),
    slots_used: sum(gpus, (gpu) => gpu.slots_used),
    vram_mb_total: sum(gpus, (gpu) => gpu.vram_mb_total),
    vram_mb_used: sum(gpus, (gpu) => (isFresh(gpu) ? (gpu.vram_mb_used ?? 0) : 0)),
    active_sessions: sumLoads(loads, host.id).active_sessions,
    gpu_count: gpus.length,
  };
}

/** The host record for administrators. @param capacity see hostCapacity */
export function hostView(host: ListedHost, capacity: HostCapacity | null): Host {
  return {
    id: host.id,
    node_name: host.node_name,
    status: host.status,
    agent_version: host.agent_version,
    cpu_cores: host.cpu_cores,
    mem_mb: host.mem_mb,
    cpu_model: host.cpu_model,
    last_registered_at: instantOrNull(host.last_registered_at),
    last_heartbeat_at: instantOrNull(host.last_heartbeat_at),
    storage: host.storage === null ? null : fromJson(host.storage),
    capacity_detection: host.capacity_detection,
    capacity_reason: host.capacity_reason,
    readiness: host.readiness === null ? null : fromJson(host.readiness),
    readiness_reported_at: instantOrNull(host.readiness_reported_at),
    capacity,
  };
}

export function gpuView(gpu: GpusTable, loads: readonly GpuLoad[]): Gpu {
  const load = sumLoads(loads, gpu.host_id, gpu.id);
  return {
    gpu_id: gpu.id,
    gpu_index: gpu.gpu_index,
    vendor: gpu.vendor,
    model: gpu.model,
    vram_mb_total: gpu.vram_mb_total,
    vram_mb_reserved: load.vram_mb_reserved,
    vram_mb_used: gpu.vram_mb_used,
    vram_mb_free: gpu.vram_mb_free,
    vram_sampled_at: instantOrNull(gpu.vram_sampled_at),
    slots_total: gpu.slots_total,
    slots_reserved: gpu.slots_used,
    active_sessions: load.active_sessions,
    render_node: gpu.render_node,
  };
}

/** A token record without its secret. */
export function tokenView(token: EnrollmentTokensTable): EnrollmentToken {
  return {
    id: token.id,
    note: token.note,
    node_name: token.node_name,
    created_at: instant(token.created_at),
    expires_at: instant(token.expires_at),
    used_at: instantOrNull(token.used_at),
    host_id: token.host_id,
  };
}

function sum(gpus: readonly GpusTable[], figure: (gpu: GpusTable) => number): number {
  return gpus.reduce((total, gpu) => total + figure(gpu), 0);
}
