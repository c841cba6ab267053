import type { Clock, Timer } from '@footlight/platform';
import { type AppNetwork, openOutwardNetwork } from './app-network.ts';

/** The next network is made this long after one was taken: by then its app usually draws. */
export const REFILL_AFTER_MS = 1_000;

export interface NetworkPoolOptions {
  clock: Clock;
  /** Whether one is kept ready; false = each is made when it is asked for. */
  keep: boolean;
  /** Left out: makes them with pasta. */
  open?: (clock: Clock) => Promise<AppNetwork | null>;
}

/**
 * Networks of apps that may use the network. One is made ahead of need, because that takes as long as the start of a
 * display (`scripts/bench launch`).
 *
 * Each is given to one app and never used again. The pool owns a network until take() hands it over; from then on
 * the taker does. One that has ended, that leads nowhere, or that was made when the host had other addresses or
 * resolvers is never handed over. The kernel ends what is kept when this process is killed.
 */
export class NetworkPool {
  readonly #clock: Clock;
  readonly #keep: boolean;
  readonly #open: () => Promise<AppNetwork | null>;
  /** Settles with null where none can be kept. */
  #kept: Promise<KeptNetwork | null> | null = null;
  #refillTimer: Timer | null = null;
  #closed = false;

  constructor({ clock, keep, open = openOutwardNetwork }: NetworkPoolOptions) {
    this.#clock = clock;
    this.#keep = keep;
    this.#open = () => open(clock);
    this.#refill();
  }

  /**
   * A network that is nobody else's.
   * @returns null where the app keeps the host's network: pasta is not installed
   * @throws when not even a namespace can be made
   */
  async take(): Promise<AppNetwork | null> {
    const taken = this.#kept;
    this.#kept = null;
    this.#armRefill();
    const kept = await taken;
    if (kept?.isUsable) return kept.network;
    kept?.close();
    return this.#open();
  }

  /** Ends what is kept, and waits for that. Networks that were taken stay. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#refillTimer?.cancel();
    const kept = await this.#kept;
    this.#kept = null;
    await kept?.close();
  }

  #armRefill(): void {
    this.#refillTimer?.cancel();
    this.#refillTimer = this.#clock.setTimeout(() => this.#refill(), REFILL_AFTER_MS);
  }

  #refill(): void {
    if (this.#keep && !this.#closed) this.#kept ??= this.#make();
  }

  /** Never throws: the next caller makes one and learns why that does not work. */
  async #make(): Promise<KeptNetwork | null> {
    const network = await this.#open().catch(() => null);
    if (network === null) return null;
    const kept = new KeptNetwork(network);
    if (kept.isUsable) return kept;
    await kept.close();
    return null;
  }
}

class KeptNetwork {
  readonly network: AppNetwork;
  #ended = false;

  constructor(network: AppNetwork) {
    this.network = network;
    void network.exited.then(() => {
      this.#ended = true;
    });
  }

  get isUsable(): boolean {
    return !this.#ended && this.network.problem === null && this.network.isCurrent;
  }

  /** Never throws: one that does not end is nobody's, and ends with this process. */
  async close(): Promise<void> {
    await this.network.close().catch(() => undefined);
  }
}
