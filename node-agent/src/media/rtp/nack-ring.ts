/**
 * Ring of sent packets for retransmission, with a budget.
 *
 * A responder without a budget answers every NACK and makes congestion worse. Here an answer costs tokens that refill
 * with a share of the path's rate. A packet is not sent again while its last copy may be in flight, when it is too old,
 * or while the path has a long queue.
 */

export interface KeptPacket {
  data: Buffer;
  sequence: number;
  sentAtMs: number;
  /** Offset of the transport-wide sequence number in data; null: none. */
  transportSequenceAt: number | null;
}

/** Ring size (count): a second of 10 Mbit/s; a power of two, so that sequence numbers index it over their wrap. */
const RING_PACKETS = 1024;
/** Share of the path's rate for retransmissions. */
const BUDGET_SHARE = 0.1;
/** Depth of the budget as refill time, so that one lost burst can be answered at once. */
const BUDGET_DEPTH_MS = 2_000;
/** Added to the round trip: an older packet is useless for a receiver without a buffer. */
const AGE_MARGIN_MS = 50;
/** Queueing delay at which one more packet only lengthens the queue. */
const MAX_QUEUEING_MS = 100;
/** Oldest retransmitted packet without a known round trip, milliseconds. */
const AGE_UNKNOWN_RTT_MS = 500;

export interface RingAnswer {
  /** Packets to send now, in the requested order. */
  packets: KeptPacket[];
  /** Requested sequence numbers that will never be sent again: too old, or overwritten. */
  gone: number[];
}

/** Packets of usual size are copied into the ring's own memory, so that no allocation lives as long as a packet. */
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

  /** Retransmitted and refused packets (counts since the start). */
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

  /** Memory for the packet with this number; overwrites the one it replaces. */
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
   * @param queueingDelayMs current queueing delay of the path
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
