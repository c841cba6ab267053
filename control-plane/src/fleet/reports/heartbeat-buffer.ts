import type { Clock, Logger } from '@footlight/platform';
import type { Heartbeat } from '@footlight/protocol/agent';
import type { RowsToLock } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { CollectedValues, Collector } from '../../platform/queues/periodic-writer.ts';
import { type HostHeartbeat, type VramHeartbeat, writeHeartbeatBatch } from './heartbeat-store.ts';
import { plausibleVram } from './vram.ts';

/** GPU columns that samples need. */
export interface SampledGpu {
  id: string;
  index: number;
  vramMbTotal: number;
}

/**
 * Collects heartbeats and samples until they are written; a newer value of a host or GPU replaces the older one. The
 * writer's batch also writes the registrations, so an old sample is never written after the reset of a registration.
 *
 * Owner: the fleet service.
 */
export class HeartbeatBuffer implements Collector {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #hosts = new Map<string, HostHeartbeat>();
  readonly #samples = new Map<string, VramHeartbeat>();
  readonly #isDue: () => void;

  constructor({ clock, logger, periodicWriter }: Pick<Platform, 'clock' | 'logger' | 'periodicWriter'>) {
    this.#clock = clock;
    this.#logger = logger;
    this.#isDue = periodicWriter.register(this);
  }

  /** @param gpus the host's reported GPUs; samples of other GPUs are ignored */
  heartbeat(hostId: string, gpus: readonly SampledGpu[], heartbeat: Heartbeat): void {
    const nowMs = this.#clock.nowMs();
    this.#host(hostId).heartbeatAt = nowMs;
    for (const sample of (heartbeat.gpu_vram ?? []).slice(0, gpus.length)) {
      const gpu = gpus.find((candidate) => candidate.index === sample.index);
      if (gpu === undefined) continue;
      const { used, free } = plausibleVram(sample, gpu.vramMbTotal);
      this.#samples.set(gpu.id, { gpuId: gpu.id, used, free, sampledAt: nowMs });
    }
    this.#isDue();
  }

  /** Marks a reliable report as handled; a later control plane process continues from this number. */
  handled(hostId: string, bootId: string, seq: number): void {
    this.#host(hostId).report = { bootId, seq };
    this.#isDue();
  }

  /** Drops pending samples of these GPUs. */
  forgetSamples(gpuIds: Iterable<string>): void {
    for (const id of gpuIds) this.#samples.delete(id);
  }

  take(): CollectedValues | null {
    if (this.#hosts.size === 0 && this.#samples.size === 0) return null;
    const hosts = [...this.#hosts.values()];
    const samples = [...this.#samples.values()];
    this.#hosts.clear();
    this.#samples.clear();
    return {
      rows: rowsOf(hosts, samples),
      write: (tx) => writeHeartbeatBatch(tx, hosts, samples),
      // The next heartbeats bring new values.
      lost: (error) => this.#logger.warn({ err: error }, 'heartbeats.not_written'),
    };
  }

  #host(hostId: string): HostHeartbeat {
    let host = this.#hosts.get(hostId);
    if (host === undefined) {
      host = { hostId, heartbeatAt: null, report: null };
      this.#hosts.set(hostId, host);
    }
    return host;
  }
}

const rowsOf = (hosts: readonly HostHeartbeat[], samples: readonly VramHeartbeat[]): RowsToLock => ({
  hosts: hosts.map(({ hostId }) => hostId),
  gpus: samples.map(({ gpuId }) => gpuId),
});
