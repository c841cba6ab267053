import { sleep, systemClock } from '../platform/clock.ts';
import { type Database, isDown, type Tx } from '../platform/database/index.ts';

/** More than this in one transaction would hold the write lock noticeably long. */
const MAX_BATCH = 128;
/** So long writes gather behind others: a commit waits for the disk, however much or little is in it. */
const GATHER_MS = 10;
/** Where so many wait already, gathering saves little. */
const ENOUGH = 64;

interface Job {
  work: (tx: Tx) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs writes that arrive together in one transaction: when a thousand agents come back at once, a transaction each
 * would cost more than their registrations. The first after a rest waits for the end of its turn of the event loop;
 * those that follow it closely gather. Batches run one after the other, jobs in order of arrival. A job that fails
 * takes only itself down: the others are run again on their own.
 */
export class TurnBatch {
  readonly #database: Database;
  #waiting: Job[] = [];
  #running: Promise<void> | null = null;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @param work awaits only the database; may be run again after a rollback
   * @throws what `work` throws, or the database
   */
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
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
      await this.#together(this.#waiting.splice(0, MAX_BATCH));
      await (this.#waiting.length < ENOUGH ? sleep(systemClock, GATHER_MS) : nextTurn());
    }
    this.#running = null;
  }

  async #together(jobs: Job[]): Promise<void> {
    try {
      const results = await this.#database.transaction(async (tx) => {
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
