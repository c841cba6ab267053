import type { Clock, Logger, Random } from '@footlight/platform';
import { errorText, pause } from '@footlight/platform';
import { backoffMs } from '@footlight/protocol';
import type { DueHome, GcConfirmed, GcPending } from '@footlight/protocol/agent';
import type { ForeignHomes } from '../home.ts';
import type { HomeLocks } from '../home-locks.ts';
import { answerFor, type CollectionAnswer, isVolumeOf } from './collection-rules.ts';
import { type GcNote, GcNotes } from './gc-notes.ts';
import { type Removal, removeBelow } from './remove-below.ts';
import {
  CollectionError,
  findSetAside,
  type HomePlace,
  lookAt,
  placeOf,
  putBack,
  removeCloneMark,
  removeEmptyWay,
  setAside,
  trashName,
} from './set-aside.ts';

/** Calls to the control plane. Both reject when the control plane does not answer. */
export interface GcControl {
  /** @param cursor next_cursor of the previous answer; null: start with the homes that have waited longest */
  pending(cursor: string | null): Promise<GcPending>;
  /** May be repeated, because the answer stays the same. */
  confirm(homeIds: readonly string[]): Promise<GcConfirmed>;
}

/** Removes volumes of the container engine. */
export interface VolumeRemover {
  /** @throws when no container engine answers */
  ready(): Promise<void>;
  /**
   * @returns in_use: a container uses the volume, so nothing was removed.
   * @throws when the volume cannot be removed for another reason
   */
  remove(ref: string): Promise<'removed' | 'absent' | 'in_use'>;
}

export interface HomeCollectionOptions {
  stateDir: string;
  /** The current home root. isOwn: whether this host chose the root instead of the control plane. */
  root: () => { path: string; isOwn: boolean };
  /** Whether a group belongs to sessions, which distinguishes homes from other directories. */
  isSessionsGroup: (gid: number) => boolean;
}

export interface HomeCollectionDeps {
  clock: Clock;
  random: Pick<Random, 'number'>;
  logger: Logger;
  locks: HomeLocks;
  control: GcControl;
  volumes: VolumeRemover;
  /** Called when the problems may have changed. */
  changed: () => void;
}

/** Result of a run, as numbers of homes. */
export interface GcSummary {
  deleted: number;
  kept: number;
  failed: number;
}

type Outcome = keyof GcSummary;

/** A home that could not be deleted or put back, with the reason. */
export interface CollectionProblem {
  id: string;
  why: string;
}

/** A collection that is not finished. */
interface LeftCollection {
  note: GcNote;
  /** Releases the home's lock; null: the lock is not held. */
  release: (() => void) | null;
  /** Whether the control plane has answered "deleted" for this home since this process started. */
  isConfirmed: boolean;
  /** Reason of the last failure; null: this process has not tried yet. */
  why: string | null;
}

/** Value for a volume, which is not in a directory of the agent. */
const NO_ROOT = '';
/**
 * Largest number of pages of the list in one run: enough for 200,000 homes, listed twice. Without this limit, a run
 * would never end if a faulty control plane's list never ends.
 */
const MAX_PAGES = 4_000;
/**
 * Time limit for locking a home, because a session that the former process left may use the home for some seconds.
 * Chosen, not measured.
 */
const LEFTOVER_WAIT_MS = 60_000;

/**
 * Deletes the files of homes whose grace period has passed, one home at a time:
 *
 * pending → taken (its lock) → noted → aside (`.trash-<id>`) → answered → removed, or put back; then the note is
 * deleted.
 *
 * The lock is held from "taken" until the control plane has answered; for a kept home, until the home is back in its
 * place. A launch with this home waits for the lock. The note is written to the disk before the home is moved, and the
 * move is written before the control plane is queried. So a crash at any step leaves either a home in its place, or a
 * note with a `.trash-<id>`. The next process then repeats the query and continues; the answer to a repeated query is
 * the same. Only homes that an answer lists as deleted are removed.
 *
 * Owner: the agent. close() ends waits and removals; the next process continues the collections.
 */
export class HomeCollection {
  readonly #options: HomeCollectionOptions;
  readonly #deps: HomeCollectionDeps;
  readonly #notes: GcNotes;
  readonly #left = new Map<string, LeftCollection>();
  /** Homes of the last run that could not be moved. */
  #refused: CollectionProblem[] = [];
  /**
   * Homes that were moved aside, that the control plane kept, and that have no note with their original place: id →
   * problem.
   */
  readonly #unplaced = new Map<string, string>();
  readonly #closed = new AbortController();
  #removal: Removal | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: HomeCollectionOptions, deps: HomeCollectionDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#notes = new GcNotes(options.stateDir);
  }

  get problems(): CollectionProblem[] {
    const left = [...this.#left].flatMap(([id, { why }]) => (why === null ? [] : [{ id, why }]));
    return [...this.#refused, ...left, ...[...this.#unplaced].map(([id, why]) => ({ id, why }))];
  }

  /** Locks the homes that a former process moved aside. Call before the first launch. */
  async open(): Promise<void> {
    const { notes, malformed } = await this.#notes.read();
    if (malformed.length > 0)
      this.#deps.logger.error({ files: malformed.slice(0, 10) }, 'home_gc.note_unreadable');
    for (const note of notes) {
      const found = note.provider === 'local' ? await this.#look(note) : null;
      if (found !== null && !found.isAside) {
        await this.#forget(note, found.place);
        continue;
      }
      // Not locked, because a launch must not wait until an administrator has put the home back.
      const release = note.kept ? null : this.#deps.locks.tryTake(note.ref);
      this.#left.set(note.id, { note, release, isConfirmed: false, why: null });
    }
  }

  /** Finishes collections of a former process, including homes that were moved aside without a note. Never rejects. */
  resume(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#finishLeft();
      await this.#finishUnnoted();
      this.#deps.changed();
    }).catch((error: unknown) => {
      this.#deps.logger.error({ error: errorText(error) }, 'home_gc.resume_failed');
    });
  }

  /**
   * Collects all homes that the control plane lists. Homes that cannot be deleted now do not block others, because the
   * cursor continues after them. The run ends after a pass through the list in which it has already tried every home.
   * @param ended after its abort, no further home is collected
   * @throws when the control plane does not return the list
   */
  run(ended: AbortSignal = this.#closed.signal): Promise<GcSummary> {
    return this.#inTurn(async () => {
      const isOver = () => ended.aborted || this.#closed.signal.aborted;
      const summary: GcSummary = { deleted: 0, kept: 0, failed: 0 };
      await this.#finishLeft();
      this.#refused = [];
      const tried = new Set<string>();
      let cursor: string | null = null;
      let isWalkFresh = false;
      for (let page = 1; !isOver() && page <= MAX_PAGES; page++) {
        const { homes, next_cursor = null } = await this.#deps.control.pending(cursor);
        const fresh = homes.filter(({ id }) => !tried.has(id));
        for (const home of fresh) {
          if (isOver()) break;
          tried.add(home.id);
          summary[await this.#collect(home)] += 1;
        }
        isWalkFresh ||= fresh.length > 0;
        // A page without homes also ends the pass, even if it has a cursor.
        cursor = homes.length === 0 ? null : next_cursor;
        if (cursor !== null) continue;
        if (!isWalkFresh) break;
        isWalkFresh = false;
      }
      this.#deps.changed();
      return summary;
    });
  }

  close(): void {
    this.#closed.abort();
    this.#removal?.stop();
  }

  /** Runs work after all earlier work has ended. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #collect(home: DueHome): Promise<Outcome> {
    const { locks, logger } = this.#deps;
    try {
      if (this.#left.has(home.id) || this.#unplaced.has(home.id))
        throw new CollectionError(`${home.ref}: an earlier collection of it is not finished`);
      const nested = locks.nestedWith(home.ref);
      const release = nested === null ? locks.tryTake(home.ref) : null;
      // A session uses the home. This is not a problem of the host, because the next run tries again.
      if (release === null) return 'failed';
      return home.provider === 'volume'
        ? await this.#collectVolume(home, release)
        : await this.#collectDirectory(home, release);
    } catch (error) {
      const why = errorText(error);
      logger.warn({ home_id: home.id, ref: home.ref, error: why }, 'home_gc.refused');
      this.#refused.push({ id: home.id, why });
      return 'failed';
    }
  }

  async #collectVolume(home: DueHome, release: () => void): Promise<Outcome> {
    const note: GcNote = { ...home, root: NO_ROOT, kept: false };
    try {
      if (!isVolumeOf(home)) throw new CollectionError(`${home.ref} is not the volume of home ${home.id}`);
      await this.#deps.volumes.ready();
      await this.#notes.write(note);
    } catch (error) {
      release();
      throw error;
    }
    return this.#finish({ note, release, isConfirmed: false, why: null }, null);
  }

  async #collectDirectory(home: DueHome, release: () => void): Promise<Outcome> {
    const { stateDir, isSessionsGroup, root } = this.#options;
    const { path, isOwn } = root();
    const note: GcNote = { ...home, root: path, kept: false };
    const collection: LeftCollection = { note, release, isConfirmed: false, why: null };
    const foreign: ForeignHomes | null = isOwn ? null : { stateDir, isSessionsGroup };
    let place: HomePlace;
    let wasThere: boolean;
    let isNoted = false;
    try {
      place = await placeOf(path, home.ref, stateDir, foreign);
      const held = this.#deps.locks.taken.filter((ref) => ref !== home.ref);
      wasThere = await setAside(place, home.id, { foreign, held }, async () => {
        isNoted = true;
        await this.#notes.write(note);
      });
    } catch (error) {
      // The home may have been moved, even if only the sync of the disk failed.
      if (isNoted && (await this.#look(note))?.isAside !== false) {
        this.#left.set(home.id, { ...collection, why: errorText(error) });
        return 'failed';
      }
      await this.#notes.drop(home.id);
      release();
      throw error;
    }
    if (wasThere) return this.#finish(collection, place);
    // The home's files no longer exist, so only the control plane's record must be deleted.
    const answer = await this.#answerFor(home.id);
    if (answer === null) return 'failed';
    try {
      if (answer === 'deleted') await removeCloneMark(place);
    } finally {
      release();
    }
    if (answer === 'deleted') await removeEmptyWay(place, this.#isFree(home.ref));
    return answer;
  }

  /**
   * Runs the steps after "aside". If the agent ends before the answer, the lock is not released.
   * @param place null: the home is a volume
   */
  async #finish(collection: LeftCollection, place: HomePlace | null): Promise<Outcome> {
    const { note } = collection;
    const release = collection.release ?? (() => undefined);
    const answer = collection.isConfirmed ? 'deleted' : await this.#answerFor(note.id);
    if (answer === null) return 'failed';
    if (answer === 'kept') {
      const why = place === null ? null : await this.#putBack(note, place);
      release();
      if (why !== null) {
        this.#leave({ note: { ...note, kept: true }, release: null, isConfirmed: false, why });
        return 'kept';
      }
    } else {
      const problem = place === null ? null : await removeCloneMark(place).then(() => null, errorText);
      // Released now, because these files have another name, so a new home can be created in the same place.
      release();
      const why = problem ?? (await this.#remove(note, place));
      if (why !== null) {
        this.#leave({ note, release: null, isConfirmed: true, why });
        return 'failed';
      }
      this.#deps.logger.info({ home_id: note.id, ref: note.ref }, 'home_gc.deleted');
    }
    await this.#forget(note, place);
    return answer;
  }

  /** Deletes the note, because the collection is finished. */
  async #forget(note: GcNote, place: HomePlace | null): Promise<void> {
    if (place !== null) await removeEmptyWay(place, this.#isFree(note.ref));
    await this.#notes.drop(note.id);
  }

  /** @returns the reason why the home could not be put back; null: it was put back */
  async #putBack(note: GcNote, place: HomePlace): Promise<string | null> {
    const where = `its files are in ${trashName(note.id)} beside it`;
    const why = await putBack(place, note.id).then(
      (isBack) => (isBack ? null : `${note.ref} is kept, but something else stands there; ${where}`),
      (error: unknown) => `${errorText(error)}; ${where}`,
    );
    if (why !== null) await this.#notes.write({ ...note, kept: true });
    return why;
  }

  /** @returns the reason why the home could not be removed; null: it was removed */
  async #remove(note: GcNote, place: HomePlace | null): Promise<string | null> {
    if (this.#closed.signal.aborted) return 'the agent ended';
    if (place === null)
      return this.#deps.volumes
        .remove(note.ref)
        .then((end) => (end === 'in_use' ? `${note.ref}: a container uses it` : null), errorText);
    return this.#removeBelow(place.root, [...place.way, trashName(note.id)]);
  }

  async #removeBelow(root: string, names: readonly string[]): Promise<string | null> {
    this.#removal = await removeBelow(root, names, this.#deps.clock);
    try {
      return await this.#removal.left;
    } finally {
      this.#removal = null;
    }
  }

  /** Stores a collection for the next run. */
  #leave(collection: LeftCollection): void {
    const { note, why } = collection;
    this.#left.set(note.id, collection);
    if (!this.#closed.signal.aborted)
      this.#deps.logger.warn({ home_id: note.id, ref: note.ref, error: why }, 'home_gc.left');
  }

  async #finishLeft(): Promise<void> {
    for (const [id, collection] of [...this.#left]) {
      if (this.#closed.signal.aborted) return;
      this.#left.delete(id);
      try {
        await this.#finishOne(collection);
      } catch (error) {
        this.#leave({ ...collection, why: errorText(error) });
      }
    }
  }

  async #finishOne(collection: LeftCollection): Promise<void> {
    const { note } = collection;
    let place: HomePlace | null = null;
    if (note.provider === 'local') {
      place = await placeOf(note.root, note.ref, this.#options.stateDir, null);
      const { isAside, isTaken } = await lookAt(place, note.id);
      if (!isAside) {
        collection.release?.();
        return this.#forget(note, place);
      }
      // The control plane is not queried, because it would then delete the record of the new home at this path.
      if (note.kept && isTaken)
        throw new CollectionError(`${note.ref} is kept, but something else stands there`);
    }
    if (collection.release === null && !collection.isConfirmed) {
      const { locks } = this.#deps;
      collection.release = await locks.take(note.ref, LEFTOVER_WAIT_MS, this.#closed.signal);
      if (collection.release === null) throw new CollectionError(`${note.ref} is in use`);
    }
    await this.#finish(collection, place);
  }

  /**
   * Finishes homes without a note. Such homes exist if the state directory was lost, or the disk was used in another
   * host. The original place of such a home is unknown.
   */
  async #finishUnnoted(): Promise<void> {
    const { path: root } = this.#options.root();
    for await (const { id, way } of findSetAside(root)) {
      if (this.#closed.signal.aborted) return;
      if (this.#left.has(id)) continue;
      const answer = await this.#answerFor(id);
      if (answer === null) return;
      const why =
        answer === 'kept'
          ? 'is kept, and its place is not known'
          : await this.#removeBelow(root, [...way, trashName(id)]);
      if (why !== null) this.#unplaced.set(id, `${[root, ...way, trashName(id)].join('/')}: ${why}`);
      else this.#deps.logger.info({ home_id: id }, 'home_gc.deleted');
    }
  }

  /** Queries the control plane until it answers. @returns null: the agent ended first */
  async #answerFor(id: string): Promise<CollectionAnswer | null> {
    const { clock, control, logger, random } = this.#deps;
    for (let attempt = 0; !this.#closed.signal.aborted; attempt++) {
      try {
        const answer = answerFor(id, await control.confirm([id]));
        if (answer !== null) return answer;
        throw new Error('the answer does not name the home');
      } catch (error) {
        if (attempt === 0) logger.warn({ home_id: id, error: errorText(error) }, 'home_gc.not_answered');
      }
      await pause(clock, backoffMs(attempt, random.number()), this.#closed.signal);
    }
    return null;
  }

  /** Looks where the files of a home are; null: unknown now, for example because the disk is not mounted. */
  async #look(note: GcNote): Promise<{ place: HomePlace; isAside: boolean } | null> {
    try {
      const place = await placeOf(note.root, note.ref, this.#options.stateDir, null);
      return { place, isAside: (await lookAt(place, note.id)).isAside };
    } catch {
      return null;
    }
  }

  /** Returns a function that returns whether no session uses a home in the parent directory. */
  #isFree(ref: string): () => boolean {
    const above = ref.slice(0, ref.lastIndexOf('/'));
    return () => this.#deps.locks.nestedWith(above) === null && !this.#deps.locks.isHeld(above);
  }
}
