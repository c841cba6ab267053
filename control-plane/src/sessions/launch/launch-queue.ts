/** Batches concurrent launches, so that they share reads and one transaction. */
import { systemClock } from '@footlight/platform';

/** Largest batch. */
const MAX_TOGETHER = 64;
/** A transaction that takes longer probably waits for a lock; the next batch then starts without waiting for it. */
const PATIENCE_MS = 250;

/** Passes launches on in arrival order. Launches that arrive during a batch form the next batch. */
export class LaunchQueue<Job> {
  readonly #settle: (jobs: readonly Job[]) => Promise<void>;
  readonly #waiting: Job[] = [];
  #busy = false;

  /** @param settle handles one batch; never rejects */
  constructor(settle: (jobs: readonly Job[]) => Promise<void>) {
    this.#settle = settle;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    if (!this.#busy) this.#goOn();
  }

  #goOn(): void {
    this.#busy = true;
    // Let requests on other sockets that are readable in this turn join the batch.
    setImmediate(() => {
      const jobs = this.#waiting.splice(0, MAX_TOGETHER);
      if (jobs.length === 0) {
        this.#busy = false;
        return;
      }
      let waitedFor = true;
      const done = (): void => {
        if (!waitedFor) return;
        waitedFor = false;
        patience.cancel();
        this.#goOn();
      };
      const patience = systemClock.setTimeout(done, PATIENCE_MS);
      void this.#settle(jobs).then(done);
    });
  }
}
