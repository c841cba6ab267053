import type { Executor } from '../../platform/database/index.ts';
import {
  type Demand,
  decidePlacement,
  type GpuFacts,
  type PlacementDecision,
  type PlacementSettings,
} from './placement.ts';
import { loadGpus } from './placement-store.ts';

/** Limit that no fleet reaches, so that all GPUs are read. */
export const WHOLE_FLEET = 1_000_000;

/** GPUs for the launches of one booking. Slots that one launch uses are subtracted for the next ones. */
export class GpuSnapshot {
  readonly #db: Executor;
  readonly #settings: PlacementSettings;
  readonly #nowMs: number;
  readonly #firstRead: number;
  readonly #gpus = new Map<string, GpuFacts>();
  /** Sorted lists of GPUs, keyed by the facts that determine the order. */
  readonly #views = new Map<string, Promise<GpuFacts[]>>();
  readonly #skipped = new Set<GpuFacts>();

  /** @param firstRead maximum GPUs of the first read; if none of them is a candidate, the whole fleet is read */
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

  /** @returns the best GPU that was not skipped (or null), and the decision about all GPUs that were read */
  async choose(demand: Demand): Promise<{ gpu: GpuFacts | null; decision: PlacementDecision }> {
    let gpus = await this.#view(demand, this.#firstRead);
    let decision = this.#decide(gpus, demand);
    if (decision.candidates.length === 0 && gpus.length >= this.#firstRead) {
      gpus = await this.#view(demand, WHOLE_FLEET);
      decision = this.#decide(gpus, demand);
    }
    return { gpu: decision.candidates.find((gpu) => !this.#skipped.has(gpu)) ?? null, decision };
  }

  /** Counts a launch on a GPU, so that the next launch sees the remaining slots. */
  assume(gpu: GpuFacts, demand: Demand): void {
    this.#count(gpu, demand, 1);
  }

  forget(gpu: GpuFacts, demand: Demand): void {
    this.#count(gpu, demand, -1);
  }

  /** Excludes a GPU that another transaction has locked, or changed since it was read. */
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
    // All lists share one object per GPU, so that counted launches show in each list.
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
