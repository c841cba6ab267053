import { type Clock, within } from '@footlight/platform';
import { DISPLAY_ACK_LIMIT_MS } from '@footlight/protocol/agent';
import type { DisplayUpdate } from '../../media/worker/worker-messages.ts';
import type { MediaWorker } from '../../media/worker/worker-pool.ts';

/** Time limit of a size change, shorter than the control plane's limit for the ack, so that the ack arrives in time. */
const LIMIT_MS = DISPLAY_ACK_LIMIT_MS - 500;
const LATE = 'the display did not change in time';

/**
 * Sends size changes to a session's worker, one at a time. A change that takes too long is withdrawn, so that the
 * worker does not make it after the command was refused.
 */
export class DisplayChanges {
  readonly #worker: Pick<MediaWorker, 'on' | 'send'>;
  readonly #clock: Clock;
  readonly #gone: Promise<string>;
  /** Number of changes sent to the worker. */
  #requests = 0;
  /** Settles when the newest change has ended. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param gone settles when the worker has exited */
  constructor(worker: Pick<MediaWorker, 'on' | 'send'>, clock: Clock, gone: Promise<unknown>) {
    this.#worker = worker;
    this.#clock = clock;
    this.#gone = gone.then(() => 'the session ended');
  }

  /**
   * @param sizes validated sizes
   * @returns null when the change is done; otherwise the reason of the failure, and the former sizes are restored
   */
  make(sizes: Omit<DisplayUpdate, 'type' | 'request'>): Promise<string | null> {
    const untilMs = this.#clock.monotonicMs() + LIMIT_MS;
    const outcome = this.#last.then(() => this.#request(sizes, untilMs));
    this.#last = outcome;
    return outcome;
  }

  async #request(sizes: Omit<DisplayUpdate, 'type' | 'request'>, untilMs: number): Promise<string | null> {
    const leftMs = untilMs - this.#clock.monotonicMs();
    if (leftMs <= 0) return LATE;
    this.#requests += 1;
    const request = this.#requests;
    let off: () => void = () => undefined;
    const done = new Promise<string | null>((resolve) => {
      off = this.#worker.on('display_done', (answer) => answer.request === request && resolve(answer.error));
    });
    this.#worker.send({ type: 'display', request, ...sizes });
    const outcome = await within(this.#clock, leftMs, Promise.race([done, this.#gone]), LATE);
    off();
    if (outcome === LATE) this.#worker.send({ type: 'withdraw_display', request });
    return outcome;
  }
}
