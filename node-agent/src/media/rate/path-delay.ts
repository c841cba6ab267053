import type { PacketFlight } from './transport-feedback.ts';

/**
 * A packet's delay is compared with the smallest delay of the last two periods of this length. The older period is
 * dropped when a new one begins, so a smallest delay is always known. In two periods, two clocks drift by 3 ms (100
 * ppm), which is far below EXCESS_MS.
 */
const BASE_HALF_MS = 15_000;
/**
 * Excess over the expected delay above which the path is slower than the estimate. It is larger than a good path's
 * jitter (docs/media.md, "Delay") and the late readings of a busy receiver. Chosen, not measured.
 */
const EXCESS_MS = 25;
/** Delay below which the queue counts as empty: twice the jitter of a good path (docs/media.md). */
const EMPTY_MS = 10;
/** Jump of the receiver's clock after which all values are reset, because no queue is so long. */
const JUMP_MS = 20_000;
/**
 * Window in which the link's rate is measured while its queue is full. It is short, because packets from before a
 * slowdown show the old rate. If a link is too slow for enough packets, the longer window is used.
 */
const SHORT_WINDOW_MS = 60;
/** Time of four feedbacks of a browser (16 a second). */
const BUSY_WINDOW_MS = 250;
/** Shortest time and smallest number of packets for a measurement; with less, the rate would be that of one burst. */
const MIN_BUSY_MS = 20;
const MIN_BUSY_PACKETS = 4;
/** Limits the memory if a receiver's clock does not advance. */
const MAX_BUSY_PACKETS = 1_000;
/** Number of newest packets whose delays are compared, because a single packet may be late by chance. */
const NEWEST = 3;

export type PathVerdict = 'slower' | 'clear' | 'unclear';

/**
 * Computes the queueing on the path from send and arrival times. Pure.
 *
 * The queueing delay is a packet's delay minus the recent minimum; so the unknown offset of the two clocks cancels out.
 * Bursts of the host cause queueing too. Therefore a model of a link with the estimated rate computes the expected
 * delay, and only a delay above it lowers the estimate. So a slowdown is detected at the third packet of the first
 * frame, and an ordinary keyframe is not mistaken for one.
 */
export class PathDelay {
  #baseMs: number | null = null;
  #nextBaseMs: number | null = null;
  #baseSinceMs = 0;
  #modelBytes = 0;
  #modelAtMs: number | null = null;
  #newest: { queueMs: number; excessMs: number }[] = [];
  /** Packets that arrived since the queue was last empty, oldest first. */
  #busy: { receivedAtMs: number; bytes: number }[] = [];
  #lastExcessMs = 0;

  /** Queueing delay of the newest packets, in milliseconds. */
  get queueingDelayMs(): number {
    return this.#newest.length === 0 ? 0 : Math.min(...this.#newest.map(({ queueMs }) => queueMs));
  }

  /**
   * Rate of a link with a queue, in kbit/s; null: there is no queue, or too few packets. The longest pause between two
   * arrivals is left out, because a busy receiver causes it; a slow link spaces packets evenly.
   */
  get linkKbps(): number | null {
    const newest = this.#newestBusy();
    if (newest.length < MIN_BUSY_PACKETS) return null;
    let bytes = 0;
    let spanMs = 0;
    let longest = { pauseMs: 0, bytes: 0 };
    for (const [i, packet] of newest.entries()) {
      const before = newest[i - 1];
      if (!before) continue;
      const pauseMs = packet.receivedAtMs - before.receivedAtMs;
      bytes += packet.bytes;
      spanMs += pauseMs;
      if (pauseMs > longest.pauseMs) longest = { pauseMs, bytes: packet.bytes };
    }
    const restMs = spanMs - longest.pauseMs;
    return restMs < MIN_BUSY_MS ? null : ((bytes - longest.bytes) * 8) / restMs;
  }

  #newestBusy() {
    const newestMs = this.#busy.at(-1)?.receivedAtMs ?? 0;
    const from = this.#busy.findIndex(({ receivedAtMs }) => newestMs - receivedAtMs <= SHORT_WINDOW_MS);
    return this.#busy.slice(Math.max(0, Math.min(from, this.#busy.length - MIN_BUSY_PACKETS)));
  }

  /**
   * @param flights packets of one feedback, in sending order
   * @param estimateKbps estimated rate of the link
   */
  add(flights: readonly PacketFlight[], estimateKbps: number): PathVerdict {
    const before = this.#lastExcessMs;
    for (const flight of flights) this.#addOne(flight, estimateKbps);
    if (flights.length === 0 || this.#newest.length < NEWEST) return 'unclear';
    const [, excessMs = 0] = this.#newest.map((packet) => packet.excessMs).sort((a, b) => a - b);
    this.#lastExcessMs = excessMs;
    // If the queue becomes shorter, the estimate is right, so it is not lowered.
    if (excessMs >= EXCESS_MS) return excessMs >= before - 1 ? 'slower' : 'unclear';
    return excessMs < EMPTY_MS ? 'clear' : 'unclear';
  }

  /** Called when the queue was drained: old readings are dropped. */
  drained(): void {
    this.#newest = [];
    this.#busy = [];
    this.#modelBytes = 0;
    this.#lastExcessMs = 0;
  }

  #addOne(flight: PacketFlight, estimateKbps: number): void {
    const delayMs = flight.receivedAtMs - flight.sentAtMs;
    if (this.#baseMs === null || Math.abs(delayMs - this.#baseMs) > JUMP_MS)
      this.#start(delayMs, flight.sentAtMs);
    this.#followBase(delayMs, flight.sentAtMs);
    const queueMs = delayMs - (this.#baseMs ?? delayMs);
    const expectedMs = this.#expected(flight, estimateKbps);
    this.#newest.push({ queueMs, excessMs: queueMs - expectedMs });
    if (this.#newest.length > NEWEST) this.#newest.shift();
    if (queueMs < EMPTY_MS) this.#busy = [];
    this.#busy.push({ receivedAtMs: flight.receivedAtMs, bytes: flight.bytes });
    while (this.#busy[0] && this.#isOld(this.#busy[0], flight)) this.#busy.shift();
  }

  #isOld(packet: { receivedAtMs: number }, newest: PacketFlight): boolean {
    const isLongAgo = newest.receivedAtMs - packet.receivedAtMs > BUSY_WINDOW_MS;
    return isLongAgo || this.#busy.length > MAX_BUSY_PACKETS;
  }

  #start(delayMs: number, nowMs: number): void {
    this.#baseMs = delayMs;
    this.#nextBaseMs = null;
    this.#baseSinceMs = nowMs;
    this.drained();
  }

  #followBase(delayMs: number, nowMs: number): void {
    if (nowMs - this.#baseSinceMs > BASE_HALF_MS) {
      this.#baseMs = this.#nextBaseMs ?? this.#baseMs;
      this.#nextBaseMs = null;
      this.#baseSinceMs = nowMs;
    }
    this.#baseMs = Math.min(this.#baseMs ?? delayMs, delayMs);
    this.#nextBaseMs = Math.min(this.#nextBaseMs ?? delayMs, delayMs);
  }

  /** Expected delay of this packet on a link with the estimated rate, in milliseconds. */
  #expected({ sentAtMs, bytes }: PacketFlight, estimateKbps: number): number {
    const bytesPerMs = Math.max(estimateKbps, 1) / 8;
    const elapsedMs = this.#modelAtMs === null ? 0 : Math.max(0, sentAtMs - this.#modelAtMs);
    this.#modelBytes = Math.max(0, this.#modelBytes - elapsedMs * bytesPerMs) + bytes;
    this.#modelAtMs = sentAtMs;
    return this.#modelBytes / bytesPerMs;
  }
}
