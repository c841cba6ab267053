/**
 * Ring of sent packets for retransmission, with a budget.
 *
 * Without a budget, every NACK would be answered, which makes congestion worse. Therefore an answer uses tokens, which
 * are refilled with a share of the path's rate. A packet is not sent again while its last copy may be in flight, when
 * it is too old, or while the path has a long queue.
 */

export interface KeptPacket {
  data: Buffer;
  sequence: number;
  sentAtMs: number;
  /** Offset of the transport-wide sequence number in data; null: the packet does not contain this number. */
  transportSequenceAt: number | null;
}

/**
 * Number of packets in the ring: a second of 10 Mbit/s. It is a power of two, so that sequence numbers can be used as
 * an index even when they wrap.
 */
const RING_PACKETS = 1024;
/** Share of the path's rate that retransmissions may use. */
const BUDGET_SHARE = 0.1;
/** Size of the budget, as the time in which it is refilled. It is large enough to answer one lost burst at once. */
const BUDGET_DEPTH_MS = 2_000;
/**
 * Added to the round trip time to get the largest age of a packet. An older packet is useless for a receiver without a
 * buffer.
 */
const AGE_MARGIN_MS = 50;
/** Queueing delay above which nothing is retransmitted, because more packets only make the queue longer. */
const MAX_QUEUEING_MS = 100;
/** Largest age of a retransmitted packet in milliseconds, if the round trip time is unknown. */
const AGE_UNKNOWN_RTT_MS = 500;

export interface RingAnswer {
  /** Packets to send now, in the requested order. */
  packets: KeptPacket[];
  /** Requested sequence numbers that will never be sent again: too old, or overwritten. */
  gone: number[];
}

/**
 * Size of a slot. Packets up to this size are copied into the ring's own memory, so that no buffer must be allocated
 * per packet.
 */
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

  /** Number of retransmitted packets and of refused requests since the start. */
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

  /** Memory for the packet with this number. It is the memory of the packet that the new packet replaces. */
  room(sequence: number, bytes: number): Buffer {
    const slot = sequence % RING_PACKETS;
    this.#slots[slot] = undefined;
    const start = slot * SLOT_BYTES;
    return bytes > SLOT_BYTES ? Buffer.allocUnsafe(bytes) : this.#memory.subarray(start, start + bytes);
  }

  /** @param packet its bytes are in the memory that room() returned for its number, or in a buffer of their own */
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
   * @param rttMs last known round trip time; 0: unknown
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
