import type { Tx } from '../../platform/database/index.ts';
import {
  type Demand,
  decidePlacement,
  type GpuFacts,
  type Placement as Judged,
  type PlacementSettings,
} from './placement.ts';
import { loadGpus } from './placement-store.ts';

/**
 * GPUs that a batch reads first, in addition to one per launch. A concurrent transaction may hold one GPU, and
 * there are fewer than 32 such transactions.
 */
const FIRST_LOOK = 32;
export const WHOLE_FLEET = 1_000_000;

/** GPUs for the launches of one transaction, minus what these launches take from each other. */
export class Fleet {
  readonly #tx: Tx;
  readonly #settings: PlacementSettings;
  readonly #nowMs: number;
  readonly #firstLook: number;
  readonly #gpus = new Map<string, GpuFacts>();
  /** Ordered GPUs, keyed by the facts that determine the order. */
  readonly #views = new Map<string, Promise<GpuFacts[]>>();
  readonly #passedOver = new Set<GpuFacts>();

  constructor(tx: Tx, settings: PlacementSettings, nowMs: number, launches: number) {
    this.#tx = tx;
    this.#settings = settings;
    this.#nowMs = nowMs;
    // The launches can fill this many of the best GPUs, and the next best has still been read.
    this.#firstLook = FIRST_LOOK + launches;
  }

  /** Prefetches the GPUs for `choose`. */
  async look(demands: readonly Demand[]): Promise<void> {
    await Promise.all(demands.map((demand) => this.#view(demand, this.#firstLook)));
  }

  /** @returns the best GPU without a lock of another transaction (or null), and the judgement of all GPUs read */
  async choose(demand: Demand): Promise<{ gpu: GpuFacts | null; judged: Judged }> {
    let gpus = await this.#view(demand, this.#firstLook);
    let judged = this.#judge(gpus, demand);
    if (judged.candidates.length === 0 && gpus.length >= this.#firstLook) {
      gpus = await this.#view(demand, WHOLE_FLEET);
      judged = this.#judge(gpus, demand);
    }
    return { gpu: judged.candidates.find((gpu) => !this.#passedOver.has(gpu)) ?? null, judged };
  }

  /** Counts a launch to a GPU, so that the next launch sees the remaining slots. */
  book(gpu: GpuFacts, demand: Demand): void {
    this.#count(gpu, demand, 1);
  }

  unbook(gpu: GpuFacts, demand: Demand): void {
    this.#count(gpu, demand, -1);
  }

  /** Skips a GPU that another transaction holds, or changed since it was read. */
  passOver(gpu: GpuFacts): void {
    this.#passedOver.add(gpu);
  }

  #count(gpu: GpuFacts, { encode_slots }: Demand, times: 1 | -1): void {
    gpu.slots_used += times * encode_slots;
    gpu.active_sessions += times;
    gpu.in_flight += times;
  }

  #judge(gpus: readonly GpuFacts[], demand: Demand): Judged {
    return decidePlacement(gpus, demand, this.#settings, this.#nowMs);
  }

  #view(demand: Demand, limit: number): Promise<GpuFacts[]> {
    const { encode_slots, pin, prefer_host_id } = demand;
    const key = JSON.stringify([encode_slots, pin?.host_id, prefer_host_id, limit]);
    let view = this.#views.get(key);
    if (view === undefined) {
      view = this.#read(demand, limit);
      this.#views.set(key, view);
    }
    return view;
  }

  async #read(demand: Demand, limit: number): Promise<GpuFacts[]> {
    const read = await loadGpus(this.#tx, demand, this.#settings, this.#nowMs, limit);
    // All readers share one object for each GPU.
    return read.map((gpu) => {
      const before = this.#gpus.get(gpu.gpu_id);
      if (before === undefined) this.#gpus.set(gpu.gpu_id, gpu);
      return before ?? gpu;
    });
  }
}
