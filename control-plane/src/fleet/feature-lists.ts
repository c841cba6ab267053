import { LRUCache } from 'lru-cache';

/** Cached lists. Exceeds the number of agent versions in one fleet. */
const KEPT = 64;

/** Interns feature lists: thousands of agents with equal features share one list. */
export class FeatureLists {
  readonly #known = new LRUCache<string, readonly string[]>({ max: KEPT });

  of(features: readonly string[]): readonly string[] {
    const key = JSON.stringify(features);
    const known = this.#known.get(key) ?? features;
    this.#known.set(key, known);
    return known;
  }
}
