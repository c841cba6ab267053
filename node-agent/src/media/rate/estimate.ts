import { PathDelay } from './path-delay.ts';
import type { PacketFlight } from './transport-feedback.ts';

/**
 * What the path to one viewer carries. Pure: feedback and instants go in.
 *
 * The lesser of two: what the receiver's feedback shows (delay over transport-wide feedback, else its REMB), and what
 * losses allow. A path that proved slower caps the estimate until a probe or ten quiet seconds disprove it; otherwise
 * it grows, though never far beyond what arrived, because what was not sent proves nothing.
 * Source: docs/rate-control.md, "Estimate".
 */

/** Share of a link's measured speed that is thought usable. */
const USABLE = 0.95;
const GROW_PER_STEP = 1.08;
const GROW_STEP_MS = 200;
const MAX_BEYOND_ARRIVED = 1.5;
/** Estimate over the launch bitrate: at the start, and at most. */
const START_FACTOR = 1.1;
const TOP_FACTOR = 1.5;
const MIN_KBPS = 50;
const ARRIVED_WINDOW_MS = 500;
/** A receiver whose clock stands still fills no memory. */
const MAX_ARRIVED = 4_096;
/** A link at less than this share of what it last proved to carry became slower; above it, it may be chance. */
const FELL_FAR = 0.5;
const CAP_FORGOTTEN_MS = 10_000;
const LOSS_LIMIT = 0.1;
/** The losses before a cliff are heard of only when packets come again behind them. */
const LOSS_DEAF_MS = 1_500;
const LONG_QUEUE_MS = 100;

export interface PathView {
  /** Estimate, kbit/s of RTP; null before the receiver said anything. */
  kbps: number | null;
  queueingDelayMs: number;
  /** Since when the queueing delay has been over 100 ms; null = it is not. */
  longQueueSinceMs: number | null;
}

export class BandwidthEstimate {
  readonly #topKbps: number;
  readonly #delay = new PathDelay();
  #kbps: number;
  #lossKbps = Number.POSITIVE_INFINITY;
  #known = false;
  #overTransport = false;
  /** Speed of the link when it last proved slower than the estimate, kbit/s. */
  #cap: { kbps: number; sinceMs: number } | null = null;
  #arrived: { atMs: number; bytes: number }[] = [];
  #grownAtMs: number | null = null;
  #longQueueSinceMs: number | null = null;
  #lossDeafUntilMs = Number.NEGATIVE_INFINITY;

  /** @param launchKbps all tracks together */
  constructor(launchKbps: number) {
    this.#topKbps = launchKbps * TOP_FACTOR;
    this.#kbps = launchKbps * START_FACTOR;
  }

  get view(): PathView {
    return {
      kbps: this.#known ? Math.min(this.#kbps, this.#lossKbps) : null,
      queueingDelayMs: this.#delay.queueingDelayMs,
      longQueueSinceMs: this.#longQueueSinceMs,
    };
  }

  /** Speed of the link as its full queue shows it, kbit/s; null while it has none. */
  get linkKbps(): number | null {
    return this.#delay.linkKbps;
  }

  onFeedback(flights: readonly PacketFlight[], nowMs: number): void {
    this.#known = true;
    this.#overTransport = true;
    for (const { receivedAtMs, bytes } of flights) this.#arrived.push({ atMs: receivedAtMs, bytes });
    const newestMs = this.#arrived.at(-1)?.atMs ?? 0;
    this.#arrived = this.#arrived
      .filter(({ atMs }) => newestMs - atMs <= ARRIVED_WINDOW_MS)
      .slice(-MAX_ARRIVED);
    const verdict = this.#delay.add(flights, this.#kbps);
    if (verdict === 'slower') this.#lower(nowMs);
    else if (verdict === 'clear') this.#grow(nowMs);
    if (verdict !== 'clear') this.#grownAtMs = null;
    if (this.#delay.queueingDelayMs <= LONG_QUEUE_MS) this.#longQueueSinceMs = null;
    else this.#longQueueSinceMs ??= nowMs;
  }

  /** Losses of the picture, about once a second. @param fractionLost 0–1 */
  onLoss(fractionLost: number, nowMs: number): void {
    if (nowMs < this.#lossDeafUntilMs) return;
    const kbps = Math.min(this.#kbps, this.#lossKbps);
    if (fractionLost > LOSS_LIMIT) this.#lossKbps = Math.max(MIN_KBPS, kbps * (1 - fractionLost / 2));
    else if (this.#lossKbps < this.#kbps) this.#lossKbps *= GROW_PER_STEP;
    else this.#lossKbps = Number.POSITIVE_INFINITY;
    this.#known = true;
  }

  /** Counts only while there is no transport-wide feedback. */
  onRemb(kbps: number): void {
    if (this.#overTransport) return;
    this.#known = true;
    this.#kbps = Math.min(this.#topKbps, Math.max(MIN_KBPS, kbps));
  }

  /** A probe arrived. @param clean without added queueing delay and without loss */
  onProbe(receivedKbps: number, clean: boolean): void {
    if (!clean) return;
    if (this.#cap && receivedKbps > this.#cap.kbps) this.#cap = null;
    this.#kbps = Math.min(this.#topKbps, Math.max(this.#kbps, receivedKbps * USABLE));
  }

  /** Sending stops until the queue is empty: what a full queue lost has been answered by that. */
  held(): void {
    this.#lossDeafUntilMs = Number.POSITIVE_INFINITY;
  }

  /** Sending stopped until the queue was empty. */
  drained(nowMs: number): void {
    this.#delay.drained();
    this.#arrived = [];
    this.#longQueueSinceMs = null;
    this.#grownAtMs = null;
    this.#lossDeafUntilMs = nowMs + LOSS_DEAF_MS;
  }

  get #arrivedKbps(): number {
    return (this.#arrived.reduce((sum, { bytes }) => sum + bytes, 0) * 8) / ARRIVED_WINDOW_MS;
  }

  #lower(nowMs: number): void {
    const seenKbps = this.#delay.linkKbps;
    if (seenKbps === null) return;
    // A few packets of a slow link may come slowly by chance; what it carried for half a second it can carry. When it fell
    // far that would count what came while it was still fast.
    const isChance = this.#cap !== null && seenKbps > this.#cap.kbps * FELL_FAR;
    const linkKbps = isChance ? Math.max(seenKbps, this.#arrivedKbps) : seenKbps;
    if (linkKbps * USABLE >= this.#kbps) return;
    this.#cap = { kbps: linkKbps, sinceMs: nowMs };
    this.#kbps = Math.max(MIN_KBPS, linkKbps * USABLE);
  }

  #grow(nowMs: number): void {
    const elapsedMs = this.#grownAtMs === null ? 0 : nowMs - this.#grownAtMs;
    this.#grownAtMs = nowMs;
    if (this.#cap && nowMs - this.#cap.sinceMs > CAP_FORGOTTEN_MS) this.#cap = null;
    const capKbps = this.#cap ? this.#cap.kbps * USABLE : this.#topKbps;
    const grownKbps = Math.min(
      this.#kbps * GROW_PER_STEP ** (elapsedMs / GROW_STEP_MS),
      this.#arrivedKbps * MAX_BEYOND_ARRIVED,
      capKbps,
      this.#topKbps,
    );
    this.#kbps = Math.max(this.#kbps, grownKbps);
  }
}
