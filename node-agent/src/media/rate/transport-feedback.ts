import type { PacketArrival } from '../rtp/rtcp.ts';

/** Remembered packets (count): 2 s at 20 Mbit/s; divides 65,536, so that slots stay unique when numbers wrap. */
const HISTORY_PACKETS = 4096;

export interface SentPacket {
  sequence: number;
  sentAtMs: number;
  bytes: number;
}

/** One packet with send and arrival time. The clocks differ, so only differences are meaningful. */
export interface PacketFlight extends SentPacket {
  receivedAtMs: number;
}

interface Remembered extends SentPacket {
  /** Bytes sent up to and including this packet. */
  totalBytes: number;
}

/** Content of one feedback packet about remembered packets, in sending order. */
export interface FeedbackReport {
  flights: PacketFlight[];
  lost: SentPacket[];
}

/** Joins sent packets with transport-wide feedback. Bounded to the last 4096 packets. */
export class TransportFeedback {
  readonly #sent: (Remembered | undefined)[] = new Array(HISTORY_PACKETS);
  #totalBytes = 0;
  /** Bytes sent up to the newest reported packet. */
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
      // A packet counts once, however often it is reported.
      this.#sent[sequence % HISTORY_PACKETS] = undefined;
      report.flights.push({ sequence, sentAtMs, bytes, receivedAtMs });
    }
    return report;
  }

  /** Whether the receiver sends this feedback. */
  get seen(): boolean {
    return this.#seen;
  }

  /** Bytes sent after the newest reported packet: in flight, queued, or lost behind it. */
  get backlogBytes(): number {
    return this.#totalBytes - this.#reportedBytes;
  }
}
