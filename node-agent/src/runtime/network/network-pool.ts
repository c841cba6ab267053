import type { Clock, Timer } from '@footlight/platform';
import { type AppNetwork, openOutwardNetwork } from './app-network.ts';
import { type PortRange, UdpPorts } from './udp-ports.ts';

/** Delay of the next prefetch after a network was taken; its app usually draws by then. */
export const REFILL_AFTER_MS = 1_000;

export interface NetworkPoolOptions {
  clock: Clock;
  /** Whether to prefetch a network; false = made on demand. */
  keep: boolean;
  /** UDP ports of the media workers; null = any. */
  mediaPorts: PortRange | null;
  /** Default: made with pasta. */
  open?: (clock: Clock, udpPorts: UdpPorts) => Promise<AppNetwork | null>;
}

/**
 * Networks for apps that may use the network. One is prefetched, because making one takes as long as the start of a
 * display (`scripts/bench launch`).
 *
 * Each network serves one app and is never reused. The pool owns it until take() returns it; then the caller owns it. A
 * network that ended, has no connection, or was made with other host addresses or resolvers is discarded. The kernel
 * ends the prefetched one when this process is killed.
 */
export class NetworkPool {
  readonly #clock: Clock;
  readonly #keep: boolean;
  readonly #open: () => Promise<AppNetwork | null>;
  /** Settles with null if none can be prefetched. */
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
   * Returns an exclusive network.
   * @returns null: the app uses the host's network, because pasta is not installed
   * @throws when no namespace can be made
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

  /** Ends the prefetched network; networks in use are not affected. */
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

  /** Never throws: a network that does not end is abandoned, and ends with this process. */
  async close(): Promise<void> {
    await this.network.close().catch(() => undefined);
  }
}
