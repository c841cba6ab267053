import { LRUCache } from 'lru-cache';

/** Cached sets. Exceeds the number of agent versions in one fleet. */
const KEPT = 64;

/** Interns feature sets: thousands of agents with equal features share one set. */
export class FeatureSets {
  readonly #known = new LRUCache<string, ReadonlySet<string>>({ max: KEPT });

  of(features: readonly string[]): ReadonlySet<string> {
    const key = JSON.stringify(features);
    const known = this.#known.get(key) ?? new Set(features);
    this.#known.set(key, known);
    return known;
  }
}
