import { delay, systemClock } from '@footlight/platform';
import { type Database, isDown, lockRows, type RowsToLock, type Tx } from '../../platform/database/index.ts';
import { joinRows } from '../../platform/database/locks/row-locks.ts';

/** Largest batch, so that the write lock is not held noticeably long. */
const MAX_BATCH = 128;
/** Time to collect writes after a previous batch: a commit waits for the disk regardless of its size. */
const GATHER_MS = 10;
/** Pending writes at which waiting longer saves little. */
const ENOUGH = 64;

interface Job {
  work: (tx: Tx) => Promise<unknown>;
  /** null: unknown beforehand; the job gets its own transaction. */
  rows: RowsToLock | null;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Batches concurrent writes into one transaction, because a transaction for each of a thousand reconnecting agents
 * costs more than the registrations. The first write after a pause waits for the end of its turn of the event loop;
 * later ones are collected. Batches run one after the other, jobs in arrival order. If a batch fails, its jobs are
 * retried alone. The rows of all jobs are locked first, because each job locks in order only within itself.
 */
export class TurnBatch {
  readonly #database: Database;
  #waiting: Job[] = [];
  #running: Promise<void> | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @param rows rows that `work` changes; null: unknown beforehand, so it gets its own transaction in its turn
   * @param work awaits only the database; may be retried after a rollback
   * @throws exceptions of `work` and of the database
   */
  run<T>(rows: RowsToLock | null, work: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ rows, work, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#drain();
    });
  }

  /** Resolves when no job waits or runs. */
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
      // While the database is down every job would fail, each after a wait.
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
