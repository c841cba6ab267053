import type { Executor } from '../../platform/database/index.ts';
import {
  type Demand,
  decidePlacement,
  type GpuFacts,
  type PlacementDecision,
  type PlacementSettings,
} from './placement.ts';
import { loadGpus } from './placement-store.ts';

/** More GPUs than any fleet has: a read without a limit. */
export const WHOLE_FLEET = 1_000_000;

/** GPUs for the launches of one booking, minus what these launches take from each other. */
export class GpuSnapshot {
  readonly #db: Executor;
  readonly #settings: PlacementSettings;
  readonly #nowMs: number;
  readonly #firstRead: number;
  readonly #gpus = new Map<string, GpuFacts>();
  /** Ordered GPUs, keyed by the facts that determine the order. */
  readonly #views = new Map<string, Promise<GpuFacts[]>>();
  readonly #skipped = new Set<GpuFacts>();

  /** @param firstRead most GPUs of the first read; the whole fleet is read if none of them is a candidate */
  constructor(db: Executor, settings: PlacementSettings, nowMs: number, firstRead: number) {
    this.#db = db;
    this.#settings = settings;
    this.#nowMs = nowMs;
    this.#firstRead = firstRead;
  }

  /** Reads the GPUs for `choose` in advance. */
  async prefetch(demands: readonly Demand[]): Promise<void> {
    await Promise.all(demands.map((demand) => this.#view(demand, this.#firstRead)));
  }

  /** @returns the best GPU that was not skipped (or null), and the decision about all GPUs read */
  async choose(demand: Demand): Promise<{ gpu: GpuFacts | null; decision: PlacementDecision }> {
    let gpus = await this.#view(demand, this.#firstRead);
    let decision = this.#decide(gpus, demand);
    if (decision.candidates.length === 0 && gpus.length >= this.#firstRead) {
      gpus = await this.#view(demand, WHOLE_FLEET);
      decision = this.#decide(gpus, demand);
    }
    return { gpu: decision.candidates.find((gpu) => !this.#skipped.has(gpu)) ?? null, decision };
  }

  /** Counts a launch to a GPU, so that the next launch sees the remaining slots. */
  assume(gpu: GpuFacts, demand: Demand): void {
    this.#count(gpu, demand, 1);
  }

  forget(gpu: GpuFacts, demand: Demand): void {
    this.#count(gpu, demand, -1);
  }

  /** Leaves out a GPU that another transaction holds, or changed since it was read. */
  skip(gpu: GpuFacts): void {
    this.#skipped.add(gpu);
  }

  #count(gpu: GpuFacts, { encode_slots }: Demand, times: 1 | -1): void {
    gpu.slots_used += times * encode_slots;
    gpu.active_sessions += times;
    gpu.in_flight += times;
  }

  #decide(gpus: readonly GpuFacts[], demand: Demand): PlacementDecision {
    return decidePlacement(gpus, demand, this.#settings, this.#nowMs);
  }

  #view(demand: Demand, limit: number): Promise<GpuFacts[]> {
    const { encode_slots, pin, prefer_host_id, image } = demand;
    const key = JSON.stringify([encode_slots, pin?.host_id, prefer_host_id, image?.image_id, limit]);
    let view = this.#views.get(key);
    if (view === undefined) {
      view = this.#read(demand, limit);
      this.#views.set(key, view);
    }
    return view;
  }

  async #read(demand: Demand, limit: number): Promise<GpuFacts[]> {
    const read = await loadGpus(this.#db, demand, this.#settings, this.#nowMs, limit);
    // All readers share one object for each GPU.
    return read.map((gpu) => {
      const before = this.#gpus.get(gpu.gpu_id);
      if (before === undefined) {
        this.#gpus.set(gpu.gpu_id, gpu);
        return gpu;
      }
      before.host.images = new Map([...before.host.images, ...gpu.host.images]);
      return before;
    });
  }
}
