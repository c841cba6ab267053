import { LRUCache } from 'lru-cache';

/** More than the versions of agents that one fleet runs at a time. */
const KEPT = 64;

/** Thousands of agents can do the same things: those that can share one set. */
export class FeatureSets {
  readonly #known = new LRUCache<string, ReadonlySet<string>>({ max: KEPT });

  of(features: readonly string[]): ReadonlySet<string> {
    const key = JSON.stringify(features);
    const known = this.#known.get(key) ?? new Set(features);
    this.#known.set(key, known);
    return known;
  }
}
