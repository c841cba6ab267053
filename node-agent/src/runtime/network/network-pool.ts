import type { Clock, Timer } from '@footlight/platform';
import { type AppNetwork, openOutwardNetwork } from './app-network.ts';
import { type PortRange, UdpPorts } from './udp-ports.ts';

/**
 * Delay before the next network is prefetched. After this delay, the app that took the previous network has usually
 * drawn.
 */
export const REFILL_AFTER_MS = 1_000;

export interface NetworkPoolOptions {
  clock: Clock;
  /** Whether to prefetch a network; false: networks are created on demand. */
  keep: boolean;
  /** UDP ports of the media workers; null: any ports. */
  mediaPorts: PortRange | null;
  /** Creates a network. Default: with `pasta`. */
  open?: (clock: Clock, udpPorts: UdpPorts) => Promise<AppNetwork | null>;
}

/**
 * Networks for apps that may use the network. One network is prefetched, because creating a network takes as long as
 * starting a display (`scripts/bench launch`).
 *
 * Each network serves one app and is never reused. The pool owns a network until take() returns it; then the caller
 * owns it. A network that has ended, has no connection, or was created with other host addresses or resolvers is
 * discarded. When this process is killed, the kernel ends the prefetched network.
 */
export class NetworkPool {
  readonly #clock: Clock;
  readonly #keep: boolean;
  readonly #open: () => Promise<AppNetwork | null>;
  /** The prefetched network. Settles with null if no network can be prefetched. */
  #kept: Promise<KeptNetwork | null> | null = null;
  #refillTimer: Timer | null = null;
  #closed = false;

  constructor({ clock, keep, mediaPorts, open = openOutwardNetwork }: NetworkPoolOptions) {
    this.#clock = clock;
    this.#keep = keep;
    const udpPorts = new UdpPorts(mediaPorts);
    this.#open = () => open(clock, udpPorts);
    this.#refill();
  }

  /**
   * Returns a network for one app.
   * @returns null: the app uses the host's network, because `pasta` is not installed
   * @throws when no namespace can be created
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

  /** Ends the prefetched network. Networks of running apps are not affected. */
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

  /** Never throws: the next take() then creates a network itself and gets the error. */
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

  /** Closes the network. Never throws: a network that does not end is abandoned, and ends with this process. */
  async close(): Promise<void> {
    await this.network.close().catch(() => undefined);
  }
}
