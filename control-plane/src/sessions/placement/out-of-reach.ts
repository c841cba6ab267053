import { type Clock, SECOND_MS } from '@footlight/platform';

/** After this time a host whose replica stopped has usually registered at another replica. */
const FORGOTTEN_AFTER_MS = 5 * SECOND_MS;

/**
 * Hosts that are stored as online, but to which a command recently could not be delivered. The number of hosts bounds
 * the map.
 */
export class OutOfReach {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Host id → time when a launch may try the host again. */
  readonly #until = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  add(hostId: string): void {
    this.#until.set(hostId, this.#clock.monotonicMs() + FORGOTTEN_AFTER_MS);
  }

  hosts(): ReadonlySet<string> {
    const now = this.#clock.monotonicMs();
    for (const [hostId, until] of this.#until) if (until <= now) this.#until.delete(hostId);
    return new Set(this.#until.keys());
  }
}
