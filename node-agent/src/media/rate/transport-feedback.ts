import type { PacketArrival } from '../rtp/rtcp.ts';

/** Packets remembered (count): some seconds of a fast stream; a power of two. */
const HISTORY_PACKETS = 4096;

export interface SentPacket {
  sequence: number;
  sentAtMs: number;
  bytes: number;
}

/** One packet that left and arrived; the two times are on different clocks, so only differences mean anything. */
export interface PacketFlight extends SentPacket {
  receivedAtMs: number;
}

interface Remembered extends SentPacket {
  /** Bytes sent up to and with this packet. */
  totalBytes: number;
}

/** What one feedback packet says about packets that are still remembered, in sending order. */
export interface FeedbackReport {
  flights: PacketFlight[];
  lost: SentPacket[];
}

/** Joins what left with what transport-wide feedback says of it. Bounded: it remembers the last 4096 packets. */
export class TransportFeedback {
  readonly #sent: (Remembered | undefined)[] = new Array(HISTORY_PACKETS);
  #totalBytes = 0;
  /** Bytes sent up to the newest packet that was spoken of. */
  #reportedBytes = 0;
  #seen = false;

  sent(sequence: number, sentAtMs: number, bytes: number): void {
    this.#totalBytes += bytes;
    const totalBytes = this.#totalBytes;
    this.#sent[sequence % HISTORY_PACKETS] = { sequence, sentAtMs, bytes, totalBytes };
  }

  received(arrivals: readonly PacketArrival[]): FeedbackReport {
    this.#seen = true;
    const report: FeedbackReport = { flights: [], lost: [] };
    for (const { sequence, receivedAtMs } of arrivals) {
      const packet = this.#sent[sequence % HISTORY_PACKETS];
      if (packet?.sequence !== sequence) continue;
      this.#reportedBytes = Math.max(this.#reportedBytes, packet.totalBytes);
      const { sentAtMs, bytes } = packet;
      if (receivedAtMs === null) {
        report.lost.push({ sequence, sentAtMs, bytes });
        continue;
      }
      // Arrives once, however often it is said.
      this.#sent[sequence % HISTORY_PACKETS] = undefined;
      report.flights.push({ sequence, sentAtMs, bytes, receivedAtMs });
    }
    return report;
  }

  /** Whether the receiver sends this feedback at all. */
  get seen(): boolean {
    return this.#seen;
  }

  /** Bytes sent after the newest packet that was spoken of: on the way, in a queue, or lost behind it. */
  get backlogBytes(): number {
    return this.#totalBytes - this.#reportedBytes;
  }
}
