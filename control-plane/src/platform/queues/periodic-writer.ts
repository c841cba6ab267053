import { type Clock, SECOND_MS, type Timer } from '@footlight/platform';
import type { RowsToLock, Tx } from '../database/index.ts';
import type { WriteBatch } from './write-batch.ts';

/** Values that a feature has collected in memory since the last write. */
export interface CollectedValues {
  /** Rows that `write` changes. */
  rows: RowsToLock;
  /** Awaits only the database; may be retried after a rollback. */
  write(tx: Tx): Promise<void>;
  /** The values are lost: the write failed. */
  lost(error: unknown): void;
}

/** A feature that collects values. */
export interface Collector {
  /** Returns the collected values and forgets them; null: no value was collected. */
  take(): CollectedValues | null;
}

/**
 * Writes the values that features collect in memory, once a second: a transaction for each heartbeat and each sample of
 * a large fleet would cost more than all other work of the service. Each collector gets its own transaction, in the
 * order of their registration, so that rows of hosts are not locked while telemetry is written.
 *
 * The timer runs only while values wait. Owner: the composition of the service, which closes it after all features and
 * before the database.
 */
export class PeriodicWriter {
  readonly #clock: Clock;
  readonly #batch: Pick<WriteBatch, 'run'>;
  readonly #collectors: Collector[] = [];
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;

  constructor(clock: Clock, batch: Pick<WriteBatch, 'run'>) {
    this.#clock = clock;
    this.#batch = batch;
  }

  /** @returns a function to call when the collector has values; they are written within a second */
  register(collector: Collector): () => void {
    this.#collectors.push(collector);
    return () => {
      this.#timer ??= this.#clock.setTimeout(() => {
        this.#timer = null;
        void this.flush();
      }, SECOND_MS);
    };
  }

  /** Writes the collected values, for a caller that reads them now. Never rejects. */
  async flush(): Promise<void> {
    // Another caller may have started the next write in the meantime.
    while (this.#writing !== null) await this.#writing;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  /** Writes the collected values; values that are collected later are lost. */
  async close(): Promise<void> {
    await this.flush();
    this.#timer?.cancel();
    this.#timer = null;
  }

  async #write(): Promise<void> {
    for (const collector of this.#collectors) {
      const values = collector.take();
      if (values === null) continue;
      await this.#batch.run(values.rows, (tx) => values.write(tx)).catch(values.lost);
    }
  }
}
