import { PathDelay } from './path-delay.ts';
import type { PacketFlight } from './transport-feedback.ts';

/** Share of a link's measured rate: the rest empties the queue that showed the rate. Chosen, not measured. */
const USABLE = 0.95;
/**
 * The estimate doubles in 1.8 s. draft-ietf-rmcat-gcc-02, 5.5, has the same factor for a whole second, which doubles in
 * 9 s: too long for a person with a reduced picture. The arrived rate limits the growth (MAX_BEYOND_ARRIVED).
 */
const GROW_PER_STEP = 1.08;
const GROW_STEP_MS = 200;
/** Largest estimate over the arrived rate. Source: draft-ietf-rmcat-gcc-02 section 5.5. */
const MAX_BEYOND_ARRIVED = 1.5;
/**
 * Initial estimate, as a factor of the launch bitrate. Above 1, so that the first report decides and not this guess.
 */
const START_FACTOR = 1.1;
/**
 * The bitrate never exceeds the launch's, so a higher estimate changes nothing; half more leaves room for
 * retransmissions and padding.
 */
const TOP_FACTOR = 1.5;
/**
 * Half of the least setpoint, so that the estimate can say "slower than any picture" and grow back from it.
 */
const MIN_KBPS = 50;
/** Window of the arrived rate. Source: draft-ietf-rmcat-gcc-02 section 5.5. */
const ARRIVED_WINDOW_MS = 500;
/** Bounds memory for a receiver whose clock stands still. */
const MAX_ARRIVED = 4_096;
/** Below this share of its last proven rate a link has become slower; above, a reading of few packets may be chance. */
const FELL_FAR = 0.5;
/** A path that was slow may be fast again after this time, as MAX_PROBE_INTERVAL_MS. */
const CAP_FORGOTTEN_MS = 10_000;
/** Share of lost packets above which losses lower the estimate. Source: draft-ietf-rmcat-gcc-02 section 6. */
const LOSS_LIMIT = 0.1;
/**
 * Losses before a cliff are reported late, when packets arrive again. They are ignored for this time: a window of
 * LossShare and a slow round trip.
 */
const LOSS_DEAF_MS = 1_500;
/** Six frames at 60 fps; people notice a longer delay of a click. Chosen, not measured. */
const LONG_QUEUE_MS = 100;

export interface PathView {
  /** Estimate, kbit/s of RTP; null before the first report. */
  kbps: number | null;
  queueingDelayMs: number;
  /** Since when the queueing delay exceeds 100 ms; null = it does not. */
  longQueueSinceMs: number | null;
}

/**
 * Estimate of the path to one viewer. Pure: feedback and times in.
 *
 * The lesser of two values: what the receiver's feedback shows (delay of transport-wide feedback, else its REMB), and
 * what losses allow. A path that proved slower caps the estimate until a probe or ten quiet seconds disprove it.
 * Otherwise the estimate grows, but not far beyond what arrived, because unsent data proves nothing.
 * Source: docs/media.md, "Rate control".
 */
export class BandwidthEstimate {
  readonly #topKbps: number;
  readonly #delay = new PathDelay();
  #kbps: number;
  #lossKbps = Number.POSITIVE_INFINITY;
  #known = false;
  #overTransport = false;
  /** Rate of the link when it last proved slower than the estimate, kbit/s. */
  #cap: { kbps: number; sinceMs: number } | null = null;
  #arrived: { atMs: number; bytes: number }[] = [];
  #grownAtMs: number | null = null;
  #longQueueSinceMs: number | null = null;
  #lossDeafUntilMs = Number.NEGATIVE_INFINITY;

  /** @param launchKbps sum of all tracks */
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

  /** Rate of the link, read from its full queue, kbit/s; null without a queue. */
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

  /** Used only without transport-wide feedback. */
  onRemb(kbps: number): void {
    if (this.#overTransport) return;
    this.#known = true;
    this.#kbps = Math.min(this.#topKbps, Math.max(MIN_KBPS, kbps));
  }

  /** Result of a probe. @param clean without added queueing delay and loss */
  onProbe(receivedKbps: number, clean: boolean): void {
    if (!clean) return;
    if (this.#cap && receivedKbps > this.#cap.kbps) this.#cap = null;
    this.#kbps = Math.min(this.#topKbps, Math.max(this.#kbps, receivedKbps * USABLE));
  }

  /** Sending stops until the queue is empty, which is the response to the losses of the full queue. */
  held(): void {
    this.#lossDeafUntilMs = Number.POSITIVE_INFINITY;
  }

  /** Sending resumed with an empty queue. */
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
    // A few packets may be slow by chance, so the rate of half a second counts. After a large fall that window would
    // include packets from before the fall.
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
