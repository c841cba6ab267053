import type { Clock, Logger, Timer } from '@footlight/platform';
import { errorText, within } from '@footlight/platform';
import { withPatience } from '../../patience.ts';
import { removeOwnedFiles } from '../../runtime/owned-files.ts';

/** Longest time that a session's end waits for the search of its user's files. */
export const SWEEP_WAIT_MS = withPatience(1_000);
/** Time limit of the first search. */
const FIRST_SEARCH_SECS = withPatience(10);
/** Time limit of later searches, which run in the background. */
const LATER_SEARCH_SECS = 300;
/** A failed search (disk error or time limit) is repeated after this time. Chosen, not measured. */
export const SWEEP_AGAIN_MS = 60_000;

/** Paths for a search. */
export interface SweepPlaces {
  /** Homes of the session, which are not searched. */
  keep: readonly string[];
  /** Directories of other sessions. */
  others: readonly string[];
}

/**
 * Uids of ended sessions whose files outside of the session's directories are being removed. A uid is free after a
 * complete search; before that, the search is repeated once a minute. An app with millions of files makes every search
 * slow. Therefore a session's end waits only one second, and later searches are serialized.
 *
 * A uid is searched → free, or searched → waiting (SWEEP_AGAIN_MS) → searched. Owner: the agent. close() frees the
 * timers; the next agent process searches all uids.
 */
export class UidSweep {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #remove: typeof removeOwnedFiles;
  readonly #openToAll: readonly string[];
  readonly #timers = new Set<Timer>();
  /** Chain of the later searches, which run one after another. */
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param deps openToAll: directories of the host that the sessions' users can write to */
  constructor(deps: {
    clock: Clock;
    logger: Logger;
    openToAll: readonly string[];
    remove?: typeof removeOwnedFiles;
  }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#remove = deps.remove ?? removeOwnedFiles;
    this.#openToAll = deps.openToAll;
  }

  /**
   * Removes a user's files outside its session's directories.
   * @param places called before each search
   * @param free called once, if the search ends after this call has returned
   * @returns whether the search was complete within a second
   */
  async sweep(uid: number, places: () => SweepPlaces, free: () => Promise<void>): Promise<boolean> {
    const search = this.#search(uid, places(), FIRST_SEARCH_SECS);
    const isClean = await within(this.#clock, SWEEP_WAIT_MS, search, null);
    if (isClean === true) return true;
    this.#logger.warn({ uid }, 'session.uid_kept');
    void search.then((isLate) => this.#settle(uid, places, free, isLate));
    return false;
  }

  /** Stops searching. The next agent process starts with all uids free. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #settle(uid: number, places: () => SweepPlaces, free: () => Promise<void>, isClean: boolean): void {
    if (isClean) {
      this.#logger.info({ uid }, 'session.uid_free');
      free().catch((error) => this.#logger.error({ uid, error: errorText(error) }, 'session.not_removed'));
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

  /** Searches once. Never throws: a failed search counts as incomplete. */
  #search(uid: number, { keep, others }: SweepPlaces, limitSecs: number): Promise<boolean> {
    return this.#remove(uid, keep, [...this.#openToAll, ...others], limitSecs, this.#clock).catch(
      () => false,
    );
  }
}
