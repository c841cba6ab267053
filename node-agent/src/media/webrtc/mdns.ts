import type { Clock } from '@footlight/platform';
import multicastDns from 'multicast-dns';
import { isAllowedAddress } from './candidates.ts';

/** Time limit for an answer from the LAN. The viewer's other candidates do not wait for this answer. */
const LOOKUP_MS = 2_000;
/**
 * Largest number of concurrent look-ups, because more would flood the LAN. A browser has one name for each of its
 * addresses.
 */
const MAX_LOOKUPS = 8;
/**
 * Interval at which a query is repeated, three times within the limit, because multicast packets may be lost (RFC 6762,
 * 5.1).
 */
const REPEAT_MS = 500;

export interface LocalNameResolver {
  /**
   * @returns the first allowed address; null: no answer within 2 s, the address is refused, eight other look-ups are
   * running, or multicast is not available
   */
  resolve(name: string): Promise<string | null>;
  close(): void;
}

type Responder = ReturnType<typeof multicastDns>;

export function createLocalNameResolver(clock: Clock): LocalNameResolver {
  return new MulticastResolver(clock);
}

/**
 * Uses multicast DNS to resolve the names that browsers send instead of local addresses. The WebRTC library would use
 * the system's resolver, which does not resolve `.local` in most containers.
 */
class MulticastResolver implements LocalNameResolver {
  readonly #clock: Clock;
  #socket: Responder | null = null;
  readonly #lookups = new Map<string, Promise<string | null>>();
  readonly #waiting = new Map<string, (address: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  resolve(name: string): Promise<string | null> {
    const known = this.#lookups.get(name);
    if (known) return known;
    if (this.#lookups.size >= MAX_LOOKUPS) return Promise.resolve(null);
    const lookup = this.#lookUp(name).finally(() => {
      this.#lookups.delete(name);
      this.#waiting.delete(name);
      // The socket is closed when it is not used, because other programs on the host share its port.
      if (this.#lookups.size === 0) this.close();
    });
    this.#lookups.set(name, lookup);
    return lookup;
  }

  #lookUp(name: string): Promise<string | null> {
    return new Promise((resolve) => {
      const socket = this.#open();
      const query = () =>
        socket.query(
          [
            { name, type: 'A' },
            { name, type: 'AAAA' },
          ],
          () => undefined,
        );
      const repeat = this.#clock.setInterval(query, REPEAT_MS);
      const finish = (address: string | null) => {
        repeat.cancel();
        limit.cancel();
        resolve(address);
      };
      const limit = this.#clock.setTimeout(() => finish(null), LOOKUP_MS);
      this.#waiting.set(name, finish);
      query();
    });
  }

  #open(): Responder {
    if (this.#socket) return this.#socket;
    const socket = multicastDns({ reuseAddr: true });
    socket.on('response', (response) => {
      for (const answer of [...(response.answers ?? []), ...(response.additionals ?? [])]) {
        if (answer.type !== 'A' && answer.type !== 'AAAA') continue;
        const waiting = this.#waiting.get(answer.name.toLowerCase());
        if (waiting && isAllowedAddress(answer.data)) waiting(answer.data);
      }
    });
    // Errors are ignored: without a multicast route or a shareable port, the look-up ends at its time limit.
    socket.on('error', () => undefined);
    socket.on('warning', () => undefined);
    this.#socket = socket;
    return socket;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }
}
