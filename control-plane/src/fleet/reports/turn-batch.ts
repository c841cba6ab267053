import { delay, systemClock } from '@footlight/platform';
import { type Database, isDown, lockRows, type RowsToLock, type Tx } from '../../platform/database/index.ts';
import { joinRows } from '../../platform/database/locks/row-locks.ts';

/** More than this in one transaction would hold the write lock noticeably long. */
const MAX_BATCH = 128;
/** So long writes gather behind others: a commit waits for the disk, however much or little is in it. */
const GATHER_MS = 10;
/** Where so many wait already, gathering saves little. */
const ENOUGH = 64;

interface Job {
  work: (tx: Tx) => Promise<unknown>;
  /** null: not known before; then it shares its transaction with no other. */
  rows: RowsToLock | null;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs writes that arrive together in one transaction: when a thousand agents come back at once, a transaction each
 * would cost more than their registrations. The first after a rest waits for the end of its turn of the event loop;
 * those that follow it closely gather. Batches run one after the other, jobs in order of arrival. A job that fails
 * takes only itself down: the others are run again on their own. The rows of all jobs are locked first: each job alone
 * locks in order, but not one after the other.
 */
export class TurnBatch {
  readonly #database: Database;
  #waiting: Job[] = [];
  #running: Promise<void> | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @param rows what `work` changes; null: not known before, so it gets a transaction of its own in its turn
   * @param work awaits only the database; may be run again after a rollback
   * @throws what `work` throws, or the database
   */
  run<T>(rows: RowsToLock | null, work: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ rows, work, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#drain();
    });
  }

  /** Resolves when nothing is waiting or running. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #drain(): Promise<void> {
    // Frames of other sockets that are readable in this turn join the batch.
    await nextTurn();
    while (this.#waiting.length > 0) {
      await this.#together(this.#waiting.splice(0, this.#lengthOfBatch()));
      await (this.#waiting.length < ENOUGH ? delay(systemClock, GATHER_MS) : nextTurn());
    }
    this.#running = null;
  }

  #lengthOfBatch(): number {
    const alone = this.#waiting.findIndex(({ rows }) => rows === null);
    return alone === -1 ? MAX_BATCH : Math.min(MAX_BATCH, Math.max(1, alone));
  }

  async #together(jobs: Job[]): Promise<void> {
    try {
      const results = await this.#database.transaction(async (tx) => {
        await lockRows(tx, joinRows(jobs.map(({ rows }) => rows ?? {})));
        const values: unknown[] = [];
        for (const job of jobs) values.push(await job.work(tx));
        return values;
      });
      for (const [index, job] of jobs.entries()) job.resolve(results[index]);
    } catch (error) {
      // Where the database is away it is so for each of them, and each would wait for it.
      if (jobs.length === 1 || isDown(error)) {
        for (const job of jobs) job.reject(error);
        return;
      }
      for (const job of jobs) await this.#together([job]);
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
