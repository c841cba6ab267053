import type { PacketArrival } from '../rtp/rtcp.ts';

/**
 * Number of stored packets: 2 s at 20 Mbit/s. The number divides 65,536, so that each slot stays unique when sequence
 * numbers wrap.
 */
const HISTORY_PACKETS = 4096;

export interface SentPacket {
  sequence: number;
  sentAtMs: number;
  bytes: number;
}

/**
 * One packet with its send and arrival time. The two clocks differ, so only differences between packets are meaningful.
 */
export interface PacketFlight extends SentPacket {
  receivedAtMs: number;
}

interface Remembered extends SentPacket {
  /** Number of bytes sent up to and including this packet. */
  totalBytes: number;
}

/** Content of one feedback packet: the packets in it that are stored here, in sending order. */
export interface FeedbackReport {
  flights: PacketFlight[];
  lost: SentPacket[];
}

/** Matches transport-wide feedback with the sent packets. Only the last 4096 packets are stored. */
export class TransportFeedback {
  readonly #sent: (Remembered | undefined)[] = new Array(HISTORY_PACKETS);
  #totalBytes = 0;
  /** Number of bytes sent up to the newest reported packet. */
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
      // The packet is removed, so that it counts only once if it is reported again.
      this.#sent[sequence % HISTORY_PACKETS] = undefined;
      report.flights.push({ sequence, sentAtMs, bytes, receivedAtMs });
    }
    return report;
  }

  /** Whether the receiver sends this feedback. */
  get seen(): boolean {
    return this.#seen;
  }

  /** Number of bytes sent after the newest reported packet. They are in flight, queued or lost. */
  get backlogBytes(): number {
    return this.#totalBytes - this.#reportedBytes;
  }
}
