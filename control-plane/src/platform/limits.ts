import { type Clock, WindowCounter } from '@footlight/platform';
import { ApiError } from './errors.ts';

/**
 * Maximum log lines per minute about one host. The same limit applies to each kind of line that requests can trigger. A
 * host that keeps reconnecting with the correct backoff causes 45 per minute.
 */
export const LOG_LINES_PER_MINUTE = 120;

/** Maximum keys of one limiter. */
const MAX_KEYS = 4096;

/** @returns the refusal of a request that may be retried after this time (milliseconds) */
export function rateLimited(waitMs: number): ApiError {
  return new ApiError('rate_limited', { retryAfterSecs: Math.max(1, Math.ceil(waitMs / 1000)) });
}

/**
 * Bounded state of a limiter by key. A new key evicts the least recently used key that is not refused at present, so
 * requests with thousands of other keys cannot end a refusal. If all keys are refused, new keys share one entry.
 */
export class LimiterKeys<Entry> {
  readonly #isRefused: (entry: Entry, nowMs: number) => boolean;
  readonly #max: number;
  /** Least recently used key first. */
  readonly #entries = new Map<string, Entry>();
  #shared: Entry | undefined;
  /** Result of the last eviction search, so that reading and then writing a new key needs only one search. */
  #found: { atMs: number; key: string } | null = null;

  constructor(isRefused: (entry: Entry, nowMs: number) => boolean, max = MAX_KEYS) {
    this.#isRefused = isRefused;
    this.#max = max;
  }

  /** The entry of the key; undefined for an unknown key. The call counts as a use of the key. */
  get(key: string, nowMs: number): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#sharedEntry(nowMs);
    this.#forgetFound(key);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  set(key: string, entry: Entry, nowMs: number): void {
    if (!this.#entries.has(key) && this.#entries.size >= this.#max) {
      const evicted = this.#evictable(nowMs);
      if (evicted === null || evicted === undefined) {
        this.#shared = entry;
        return;
      }
      this.#forgetFound(evicted);
      this.#entries.delete(evicted);
    }
    this.#forgetFound(key);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }

  delete(key: string): void {
    this.#forgetFound(key);
    this.#entries.delete(key);
  }

  /**
   * The entry that keys share while every stored key is refused, so that none can be evicted. If the shared entry
   * itself is refused, unknown keys still get this entry until the refusal ends, because each of them may be the
   * refused key.
   */
  #sharedEntry(nowMs: number): Entry | undefined {
    if (this.#shared === undefined) return undefined;
    if (this.#isRefused(this.#shared, nowMs) || this.#evictable(nowMs) === null) return this.#shared;
    this.#shared = undefined;
    return undefined;
  }

  /** Drops the found key after it was used or deleted, because it is then no longer the one to evict. */
  #forgetFound(key: string): void {
    if (this.#found?.key === key) this.#found = null;
  }

  /** The key to evict for a new one; undefined: no eviction is needed; null: all keys are refused. */
  #evictable(nowMs: number): string | undefined | null {
    if (this.#entries.size < this.#max) return undefined;
    if (this.#found?.atMs === nowMs) return this.#found.key;
    for (const [key, entry] of this.#entries) {
      if (this.#isRefused(entry, nowMs)) continue;
      this.#found = { atMs: nowMs, key };
      return key;
    }
    return null;
  }
}

/** At most `limit` requests of a key in any period of `windowMs`. */
export interface WindowLimit {
  limit: number;
  windowMs: number;
}

/** Counts one request of a key, or refuses it. */
export interface Limiter {
  /** @throws ApiError rate_limited with the whole seconds until the next request is accepted */
  take(key: string): void;
}

/** Stores the time of every request in the window, so that the limit holds in every possible period. */
export function createWindowLimiter(
  { limit, windowMs }: WindowLimit,
  clock: Pick<Clock, 'monotonicMs'>,
): Limiter {
  const keys = new LimiterKeys<WindowCounter>((counter, nowMs) => counter.isFull(nowMs));
  return {
    take(key) {
      const nowMs = clock.monotonicMs();
      const counter = keys.get(key, nowMs) ?? new WindowCounter(limit, windowMs);
      if (!counter.take(nowMs)) throw rateLimited(counter.roomInMs(nowMs));
      keys.set(key, counter, nowMs);
    },
  };
}
