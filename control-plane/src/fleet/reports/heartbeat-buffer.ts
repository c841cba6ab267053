import type { Logger } from '@footlight/platform';
import { type Clock, SECOND_MS, type Timer } from '@footlight/platform';
import type { Heartbeat } from '@footlight/protocol/agent';
import type { RowsToLock } from '../../platform/database/index.ts';
import { type HostHeartbeat, type VramHeartbeat, writeHeartbeatBatch } from './heartbeat-store.ts';
import { plausibleVram } from './vram.ts';
import type { WriteBatch } from './write-batch.ts';

/** GPU columns that samples need. */
export interface SampledGpu {
  id: string;
  index: number;
  vramMbTotal: number;
}

/**
 * Collects heartbeats and samples in memory and writes them once a second: a write per heartbeat would cost a large
 * fleet more than all its other work.
 *
 * At most one pending entry per host and GPU; newer ones replace older ones. Owner: the fleet service.
 */
export class HeartbeatBuffer {
  /** Shared with registrations, so that an old sample is never written after their reset. */
  readonly #batch: WriteBatch;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #hosts = new Map<string, HostHeartbeat>();
  readonly #samples = new Map<string, VramHeartbeat>();
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;

  constructor(deps: { batch: WriteBatch; clock: Clock; logger: Logger }) {
    this.#batch = deps.batch;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** @param gpus the host's reported GPUs; further samples are ignored */
  heartbeat(hostId: string, gpus: readonly SampledGpu[], heartbeat: Heartbeat): void {
    const nowMs = this.#clock.nowMs();
    this.#host(hostId).heartbeatAt = nowMs;
    for (const sample of (heartbeat.gpu_vram ?? []).slice(0, gpus.length)) {
      const gpu = gpus.find((candidate) => candidate.index === sample.index);
      if (gpu === undefined) continue;
      const { used, free } = plausibleVram(sample, gpu.vramMbTotal);
      this.#samples.set(gpu.id, { gpuId: gpu.id, used, free, sampledAt: nowMs });
    }
    this.#arm();
  }

  /** Marks a reliable report as handled; a later control plane process continues from this number. */
  handled(hostId: string, bootId: string, seq: number): void {
    this.#host(hostId).report = { bootId, seq };
    this.#arm();
  }

  /** Drops pending samples of these GPUs. */
  forgetSamples(gpuIds: Iterable<string>): void {
    for (const id of gpuIds) this.#samples.delete(id);
  }

  /** Writes pending values. Never rejects: the next heartbeats bring new ones. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#hosts.size === 0 && this.#samples.size === 0) return;
    const hosts = [...this.#hosts.values()];
    const samples = [...this.#samples.values()];
    this.#hosts.clear();
    this.#samples.clear();
    this.#writing = this.#batch
      .run(rowsOf(hosts, samples), (tx) => writeHeartbeatBatch(tx, hosts, samples))
      .catch((error: unknown) => this.#logger.warn({ err: error }, 'heartbeats.not_written'))
      .finally(() => {
        this.#writing = null;
      });
    await this.#writing;
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    await this.flush();
  }

  #host(hostId: string): HostHeartbeat {
    let host = this.#hosts.get(hostId);
    if (host === undefined) {
      host = { hostId, heartbeatAt: null, report: null };
      this.#hosts.set(hostId, host);
    }
    return host;
  }

  #arm(): void {
    this.#timer ??= this.#clock.setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, SECOND_MS);
  }
}

const rowsOf = (hosts: readonly HostHeartbeat[], samples: readonly VramHeartbeat[]): RowsToLock => ({
  hosts: hosts.map(({ hostId }) => hostId),
  gpus: samples.map(({ gpuId }) => gpuId),
});
