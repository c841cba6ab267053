/** Launches that wait for one another, so that those who come together share what they read and their transaction. */
import { systemClock } from '@footlight/platform';

/** Most launches of one transaction. */
const MAX_TOGETHER = 64;
/** A transaction that takes longer than this waits for somebody, and who comes next is not to wait with it. */
const PATIENCE_MS = 250;

/** Hands launches on in the order in which they came, as many at once as came while others were under way. */
export class LaunchQueue<Job> {
  readonly #settle: (jobs: readonly Job[]) => Promise<void>;
  readonly #waiting: Job[] = [];
  #busy = false;

  /** @param settle sees a few launches through; never rejects */
  constructor(settle: (jobs: readonly Job[]) => Promise<void>) {
    this.#settle = settle;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    if (!this.#busy) this.#goOn();
  }

  #goOn(): void {
    this.#busy = true;
    // Requests on other sockets that are readable in this turn join.
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
