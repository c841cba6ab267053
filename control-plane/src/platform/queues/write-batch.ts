import { delay, systemClock } from '@footlight/platform';
import {
  type Database,
  Failed,
  lockRows,
  type RowsToLock,
  runWithIndividualRetry,
  type Tx,
} from '../database/index.ts';
import { joinRows } from '../database/locks/row-locks.ts';
import { BatchQueue } from './batch-queue.ts';

/** Largest batch, so that the write lock is not held noticeably long. */
const MAX_BATCH = 128;
/** Time to collect writes after a previous batch: a commit waits for the disk regardless of its size. */
const GATHER_MS = 10;
/** With this number of pending writes, a longer wait would save little. */
const MAX_WAITING = 64;

interface Job {
  work: (tx: Tx) => Promise<unknown>;
  /** null: unknown beforehand; the job gets its own transaction. */
  rows: RowsToLock | null;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Batches concurrent writes into one transaction, because a transaction for each of a thousand reconnecting agents
 * costs more than the registrations. Batches run one after the other. If a batch fails, its jobs are retried alone. The
 * rows of all jobs are locked first, because each job follows the lock order only for its own rows.
 */
export class WriteBatch {
  readonly #database: Database;
  readonly #queue = new BatchQueue<Job>((jobs) => this.#handle(jobs), { max: MAX_BATCH });

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @param rows rows that `work` changes; null: unknown beforehand, so it gets its own transaction
   * @param work awaits only the database; may be retried after a rollback
   * @throws exceptions of `work` and of the database
   */
  run<T>(rows: RowsToLock | null, work: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.add({ rows, work, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Resolves when no job waits or runs. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #handle(jobs: readonly Job[]): Promise<void> {
    for (let from = 0; from < jobs.length; ) {
      const alone = jobs.findIndex(({ rows }, n) => n >= from && rows === null);
      const to = alone === -1 ? jobs.length : Math.max(alone, from + 1);
      await this.#settle(jobs.slice(from, to));
      from = to;
    }
    if (this.#queue.waiting < MAX_WAITING) await delay(systemClock, GATHER_MS);
  }

  async #settle(jobs: readonly Job[]): Promise<void> {
    const results = await runWithIndividualRetry(jobs, (some) => this.#write(some));
    for (const [n, { resolve, reject }] of jobs.entries()) {
      const result = results[n];
      if (result instanceof Failed) reject(result.error);
      else resolve(result);
    }
  }

  #write(jobs: readonly Job[]): Promise<unknown[]> {
    return this.#database.transaction(async (tx) => {
      await lockRows(tx, joinRows(jobs.map(({ rows }) => rows ?? {})));
      const values: unknown[] = [];
      for (const { work } of jobs) values.push(await work(tx));
      return values;
    });
  }
}
