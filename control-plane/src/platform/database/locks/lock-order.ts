/**
 * The lock order, and a guard that refuses statements out of order. Two transactions that lock the same
 * rows in different orders deadlock.
 * docs/database.md has the rules with reasons.
 */

/** Entry of LOCK_ORDER for all names in ADVISORY_LOCKS. A transaction takes at most one of them. */
const ADVISORY = 'advisory locks';

/** Tables and the advisory locks, in lock order. Rows of one table are locked by ascending id. */
export const LOCK_ORDER = [
  'leases',
  ADVISORY,
  'users',
  'devices',
  'auth_tokens',
  'image_catalog',
  'apps',
  'entitlements',
  'favourites',
  'hosts',
  'gpus',
  'stream_profiles',
  'storage_homes',
  'sessions',
  'jobs',
  'job_runs',
  'library_scans',
  'catalog_version',
] as const;

const RANKS: ReadonlyMap<string, number> = new Map(LOCK_ORDER.map((name, rank) => [name, rank]));

/** Tables where one statement may change several rows; the transaction locks these rows by id first. */
const BY_ID: ReadonlySet<string> = new Set([
  'users',
  'apps',
  'entitlements',
  'hosts',
  'sessions',
  'gpus',
  'storage_homes',
]);

const WRITE = /^(?:update|delete from) "(\w+)"/;
const LOCKING_READ = /^select .*? from "(\w+)".*? for (?:no key update|update|share)$/;
const ADVISORY_LOCK = /^select pg_advisory_xact_lock\(/;
const ONE_ROW = /where \(?(?:"\w+"\.)?"id" (?:= \$|in \(\$\d+\))/;
const SKIPS_LOCKED = / skip locked\b/;
const ORDERED = / order by "?(?:\w+"?\."?)?id"? for /;

/** A statement that may cause a deadlock. */
class OutOfLockOrder extends Error {
  constructor(why: string, text: string) {
    super(`${why} (docs/database.md, "Lock order"): ${text.slice(0, 300)}`);
    this.name = 'OutOfLockOrder';
  }
}

/** Tracks the locks of one connection's transaction. A statement outside a transaction keeps no locks. */
export class LockOrderGuard {
  #inTransaction = false;
  #highest = -1;
  /** Statement of the advisory lock that the transaction holds; null: none. */
  #advisory: string | null = null;
  readonly #locked = new Set<string>();
  readonly #inOrder = new Set<string>();

  /** @throws OutOfLockOrder before the statement is sent */
  saw(sent: string): void {
    const text = sent.replaceAll(/\s+/g, ' ').trim();
    const word = text.split(' ', 1)[0];
    if (word === 'begin' || word === 'commit' || word === 'rollback') {
      this.#inTransaction = word === 'begin';
      this.#highest = -1;
      this.#advisory = null;
      this.#locked.clear();
      this.#inOrder.clear();
      return;
    }
    const write = WRITE.exec(text);
    const locked = ADVISORY_LOCK.test(text) ? ADVISORY : (write ?? LOCKING_READ.exec(text))?.[1];
    const rank = locked === undefined ? undefined : RANKS.get(locked);
    if (locked === undefined || rank === undefined) return;
    // `skip locked` never waits, so it is allowed anywhere.
    if (!SKIPS_LOCKED.test(text)) {
      if (rank < this.#highest && !this.#locked.has(locked))
        throw new OutOfLockOrder(`locked after ${LOCK_ORDER[this.#highest]}: ${locked}`, text);
      if (locked === ADVISORY) {
        if (this.#advisory !== null && this.#advisory !== text)
          throw new OutOfLockOrder('a second advisory lock is taken', text);
        this.#advisory = text;
      }
      if (
        this.#inTransaction &&
        write !== null &&
        BY_ID.has(locked) &&
        !ONE_ROW.test(text) &&
        !this.#inOrder.has(locked)
      )
        throw new OutOfLockOrder(`rows of ${locked} are changed that were not locked by id before`, text);
      this.#highest = Math.max(this.#highest, rank);
      if (write === null && ORDERED.test(text)) this.#inOrder.add(locked);
    }
    if (this.#inTransaction) this.#locked.add(locked);
    else this.#highest = -1;
  }
}
