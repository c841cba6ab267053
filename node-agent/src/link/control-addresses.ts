import type { Random } from '@footlight/platform';

/**
 * The order in which replicas of the control plane are dialed: at random, so that a fleet spreads over them, and the
 * last one that took this host first, so that a short outage does not move it.
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

  /** The one that was dialed last; before that the first one. */
  get dialed(): URL {
    return this.#dialed;
  }

  /** The one to dial next. Each is dialed once before one is dialed again. */
  next(): URL {
    if (this.#round.length === 0) this.#round = this.#shuffled();
    this.#dialed = this.#round.shift() as URL;
    return this.#dialed;
  }

  /** The one that was dialed last took this host. */
  worked(): void {
    this.#good = this.#dialed;
    this.#round = [];
  }

  #shuffled(): URL[] {
    const keyed = this.#urls.map((url) => ({ url, key: url === this.#good ? -1 : this.#random.number() }));
    return keyed.sort((a, b) => a.key - b.key).map(({ url }) => url);
  }
}
