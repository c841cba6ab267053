/**
 * Packets kept for retransmission, and the budget within which they are sent again.
 *
 * A stock responder answers every NACK and makes congestion worse. Here an answer costs tokens that refill with
 * a share of what the path carries, a packet is not sent again while its last copy may still be on the way, none
 * that is too old to be of use, and none at all while a queue stands on the path.
 */

export interface KeptPacket {
  data: Buffer;
  sequence: number;
  sentAtMs: number;
  /** Where the transport-wide sequence number lies in data; null when it has none. */
  transportSequenceAt: number | null;
}

/** Packets kept (count): a second of 10 Mbit/s; a power of two so that sequence numbers index it over the wrap. */
const RING_PACKETS = 1024;
/** Share of the path's rate that retransmissions may take. */
const BUDGET_SHARE = 0.1;
/** The budget's depth as time of refilling, so that one lost burst can be answered at once. */
const BUDGET_DEPTH_MS = 2_000;
/** Added to the round trip: a packet older than both is of no use to a receiver without a buffer. */
const AGE_MARGIN_MS = 50;
/** Where the queue delays this much, one more packet only lengthens it. */
const MAX_QUEUEING_MS = 100;
/** Oldest packet answered while no round trip is known yet, milliseconds. */
const AGE_UNKNOWN_RTT_MS = 500;

export interface RingAnswer {
  /** To send again now, in the order asked for. */
  packets: KeptPacket[];
  /** Sequence numbers asked for that are never sent again: too old, or not kept any more. */
  gone: number[];
}

/** Packets of the usual size lie in memory of the ring's own; no allocation lives as long as a packet then. */
const SLOT_BYTES = 1_280;

interface Slot extends KeptPacket {
  resentAtMs: number | null;
}

export class RetransmitRing {
  readonly #slots: (Slot | undefined)[] = new Array(RING_PACKETS);
  readonly #memory = Buffer.allocUnsafeSlow(RING_PACKETS * SLOT_BYTES);
  #rateKbps: number;
  #tokensBytes: number;
  #refilledAtMs: number | null = null;
  #resent = 0;
  #refused = 0;

  constructor(rateKbps: number) {
    this.#rateKbps = rateKbps;
    this.#tokensBytes = this.#depthBytes;
  }

  /** Packets sent again, and asked for but refused (counts since the start). */
  get counts(): { resent: number; refused: number } {
    return { resent: this.#resent, refused: this.#refused };
  }

  get #depthBytes(): number {
    return (this.#rateKbps / 8) * BUDGET_SHARE * BUDGET_DEPTH_MS;
  }

  setRate(rateKbps: number): void {
    this.#rateKbps = rateKbps;
    this.#tokensBytes = Math.min(this.#tokensBytes, this.#depthBytes);
  }

  /** Memory for the packet of that number, in place of the one that is kept there no longer. */
  room(sequence: number, bytes: number): Buffer {
    const slot = sequence % RING_PACKETS;
    this.#slots[slot] = undefined;
    const start = slot * SLOT_BYTES;
    return bytes > SLOT_BYTES ? Buffer.allocUnsafe(bytes) : this.#memory.subarray(start, start + bytes);
  }

  /** @param packet its bytes in room() of its number, or its own */
  keep(packet: KeptPacket): void {
    const { data, sequence, sentAtMs, transportSequenceAt } = packet;
    this.#slots[sequence % RING_PACKETS] = {
      data,
      sequence,
      sentAtMs,
      transportSequenceAt,
      resentAtMs: null,
    };
  }

  /**
   * @param rttMs last known round trip, 0 when unknown
   * @param queueingDelayMs of the path, now
   */
  answer(lost: readonly number[], nowMs: number, rttMs: number, queueingDelayMs = 0): RingAnswer {
    this.#refill(nowMs);
    if (queueingDelayMs > MAX_QUEUEING_MS) {
      this.#refused += lost.length;
      return { packets: [], gone: [] };
    }
    const maxAgeMs = rttMs > 0 ? rttMs + AGE_MARGIN_MS : AGE_UNKNOWN_RTT_MS;
    const packets: KeptPacket[] = [];
    const gone: number[] = [];
    for (const sequence of lost) {
      const slot = this.#slots[sequence % RING_PACKETS];
      if (slot?.sequence !== sequence || nowMs - slot.sentAtMs > maxAgeMs) {
        this.#refused++;
        gone.push(sequence);
        continue;
      }
      const usable =
        (slot.resentAtMs === null || nowMs - slot.resentAtMs >= rttMs) &&
        slot.data.length <= this.#tokensBytes;
      if (!usable) {
        this.#refused++;
        continue;
      }
      this.#tokensBytes -= slot.data.length;
      slot.resentAtMs = nowMs;
      this.#resent++;
      packets.push(slot);
    }
    return { packets, gone };
  }

  #refill(nowMs: number): void {
    const elapsedMs = this.#refilledAtMs === null ? 0 : Math.max(0, nowMs - this.#refilledAtMs);
    this.#refilledAtMs = nowMs;
    const refill = (this.#rateKbps / 8) * BUDGET_SHARE * elapsedMs;
    this.#tokensBytes = Math.min(this.#depthBytes, this.#tokensBytes + refill);
  }
}
