import type { PacketArrival } from './rtcp.ts';

/** Packets remembered on both sides (count): some seconds of a fast stream; a power of two. */
const HISTORY_PACKETS = 2048;
const HISTORY_ARRIVALS = 512;

export interface SentPacket {
  sequence: number;
  sentAtMs: number;
  bytes: number;
}

/** One packet that left and arrived; the two times are on different clocks, so only differences mean anything. */
export interface PacketFlight extends SentPacket {
  receivedAtMs: number;
}

/**
 * What transport-wide feedback says about the path: which packets arrived, and when on the receiver's clock.
 * Bounded: it remembers the last 2048 packets sent and the last 512 flights.
 */
export class TransportFeedback {
  readonly #sent: (SentPacket | undefined)[] = new Array(HISTORY_PACKETS);
  readonly #flights: PacketFlight[] = [];
  #lost = 0;
  #arrived = 0;
  #lastAtMs: number | null = null;

  sent(sequence: number, sentAtMs: number, bytes: number): void {
    this.#sent[sequence % HISTORY_PACKETS] = { sequence, sentAtMs, bytes };
  }

  received(arrivals: readonly PacketArrival[], nowMs: number): void {
    this.#lastAtMs = nowMs;
    for (const { sequence, receivedAtMs } of arrivals) {
      const packet = this.#sent[sequence % HISTORY_PACKETS];
      if (packet?.sequence !== sequence) continue;
      if (receivedAtMs === null) {
        this.#lost++;
        continue;
      }
      this.#arrived++;
      this.#flights.push({ ...packet, receivedAtMs });
    }
    if (this.#flights.length > HISTORY_ARRIVALS) {
      this.#flights.splice(0, this.#flights.length - HISTORY_ARRIVALS);
    }
  }

  /** Newest flights, oldest first. */
  get flights(): readonly PacketFlight[] {
    return this.#flights;
  }

  /** Packets reported since the start, and the monotonic time of the last report; null before the first. */
  get counts(): { arrived: number; lost: number; lastAtMs: number | null } {
    return { arrived: this.#arrived, lost: this.#lost, lastAtMs: this.#lastAtMs };
  }
}
