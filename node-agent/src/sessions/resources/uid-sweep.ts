import type { Clock, Logger, Timer } from '@footlight/platform';
import { within } from '@footlight/platform';
import { removeBelongings } from '../../runtime/belongings.ts';

/** How long the end of a session waits for the search of its user's files. */
export const SWEEP_WAIT_MS = 1_000;
/** How long the first search may take. */
const FIRST_SEARCH_SECS = 10;
/** A later search, which nobody waits for. */
const LATER_SEARCH_SECS = 300;
export const SWEEP_AGAIN_MS = 60_000;

/** Where to look. */
export interface SweepPlaces {
  /** Homes of the session, which stay. */
  keep: readonly string[];
  /** Directories of other sessions. */
  others: readonly string[];
}

/**
 * User ids of ended sessions whose files in directories of others are being removed. An id is free again when a search
 * was complete; until then it is searched for once a minute. An app that makes millions of files makes every search
 * slow, so the end of a session waits for a second only, and later searches run one after the other.
 */
export class UidSweep {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #remove: typeof removeBelongings;
  readonly #timers = new Set<Timer>();
  /** The later searches. */
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(deps: { clock: Clock; logger: Logger; remove?: typeof removeBelongings }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#remove = deps.remove ?? removeBelongings;
  }

  /**
   * Removes what a user left outside its session's directories.
   * @param places read before each search
   * @param free called once when it comes later than this comes back
   * @returns whether everything was searched within a second
   */
  async sweep(uid: number, places: () => SweepPlaces, free: () => void): Promise<boolean> {
    const search = this.#search(uid, places(), FIRST_SEARCH_SECS);
    const isClean = await within(this.#clock, SWEEP_WAIT_MS, search, null);
    if (isClean === true) return true;
    this.#logger.warn({ uid }, 'session.uid_kept');
    void search.then((isLate) => this.#settle(uid, places, free, isLate));
    return false;
  }

  /** Searches no more: the next agent process gives out all its ids. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #settle(uid: number, places: () => SweepPlaces, free: () => void, isClean: boolean): void {
    if (isClean) {
      this.#logger.info({ uid }, 'session.uid_free');
      free();
      return;
    }
    if (this.#closed) return;
    const timer = this.#clock.setTimeout(() => {
      this.#timers.delete(timer);
      const search = this.#queue.then(() => this.#search(uid, places(), LATER_SEARCH_SECS));
      this.#queue = search;
      void search.then((isLate) => this.#settle(uid, places, free, isLate));
    }, SWEEP_AGAIN_MS);
    this.#timers.add(timer);
  }

  /** Never throws: a search that fails was not complete. */
  #search(uid: number, { keep, others }: SweepPlaces, limitSecs: number): Promise<boolean> {
    return this.#remove(uid, keep, others, limitSecs).catch(() => false);
  }
}
