import type { Random } from '@footlight/platform';

/**
 * Order of connection attempts to the control plane's replicas. The order is random, so that the agents of a fleet
 * spread over the replicas. But the last successful replica is tried first, so that a short outage does not move a
 * host.
 */
export class ControlAddresses {
  readonly #urls: readonly URL[];
  readonly #random: Pick<Random, 'number'>;
  #round: URL[] = [];
  #dialed: URL;
  #good: URL | null = null;

  /** @param urls at least one */
  constructor(urls: readonly URL[], random: Pick<Random, 'number'>) {
    this.#urls = urls;
    this.#random = random;
    this.#dialed = urls[0] as URL;
  }

  /** The URL of the last connection attempt; before the first attempt, the first URL. */
  get dialed(): URL {
    return this.#dialed;
  }

  /** The next URL. Each URL is tried once before any URL is tried again. */
  next(): URL {
    if (this.#round.length === 0) this.#round = this.#shuffled();
    this.#dialed = this.#round.shift() as URL;
    return this.#dialed;
  }

  /** Records that the last connection attempt succeeded. */
  worked(): void {
    this.#good = this.#dialed;
    this.#round = [];
  }

  #shuffled(): URL[] {
    const keyed = this.#urls.map((url) => ({ url, key: url === this.#good ? -1 : this.#random.number() }));
    return keyed.sort((a, b) => a.key - b.key).map(({ url }) => url);
  }
}
