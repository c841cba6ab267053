import { PathDelay } from './path-delay.ts';
import type { PacketFlight } from './transport-feedback.ts';

/** Share of a link's measured rate that is used; the rest of the rate empties the queue. Chosen, not measured. */
const USABLE = 0.95;
/**
 * With this factor the estimate doubles in 1.8 s. draft-ietf-rmcat-gcc-02, 5.5, uses the same factor per second, which
 * doubles the estimate only in 9 s. A person with a reduced picture would have to wait too long. The arrived rate
 * limits the growth (MAX_BEYOND_ARRIVED).
 */
const GROW_PER_STEP = 1.08;
const GROW_STEP_MS = 200;
/** Largest ratio of estimate and arrived rate. Source: draft-ietf-rmcat-gcc-02 section 5.5. */
const MAX_BEYOND_ARRIVED = 1.5;
/**
 * Initial estimate, as a factor of the launch bitrate. It is above 1, so that the first report decides the bitrate
 * instead of this guess.
 */
const START_FACTOR = 1.1;
/**
 * Largest estimate, as a factor of the launch bitrate. The bitrate never exceeds the launch bitrate; the additional
 * half is for retransmissions and padding.
 */
const TOP_FACTOR = 1.5;
/**
 * Smallest estimate: half of the smallest setpoint. So the estimate can show that a path is too slow for any picture,
 * and can grow again from there.
 */
const MIN_KBPS = 50;
/** Window of the arrived rate. Source: draft-ietf-rmcat-gcc-02 section 5.5. */
const ARRIVED_WINDOW_MS = 500;
/** Largest number of stored packets; limits the memory if a receiver's clock does not advance. */
const MAX_ARRIVED = 4_096;
/**
 * If a link's rate falls below this share of its last proven rate, the link has become slower. A smaller fall may be
 * chance, because the rate is measured with few packets.
 */
const FELL_FAR = 0.5;
/** Time after which a path that was slow may be fast again; the same time as MAX_PROBE_INTERVAL_MS. */
const CAP_FORGOTTEN_MS = 10_000;
/** Share of lost packets above which losses lower the estimate. Source: draft-ietf-rmcat-gcc-02 section 6. */
const LOSS_LIMIT = 0.1;
/**
 * Losses before a cliff are reported late, when packets arrive again. After a cliff, losses are ignored for this time:
 * a window of LossShare plus a slow round trip.
 */
const LOSS_DEAF_MS = 1_500;
/**
 * Queueing delay that counts as long: six frames at 60 fps. People notice a longer delay of a click. Chosen, not
 * measured.
 */
const LONG_QUEUE_MS = 100;

export interface PathView {
  /** Estimate in kbit/s of RTP; null: no report has arrived yet. */
  kbps: number | null;
  queueingDelayMs: number;
  /** Time since which the queueing delay exceeds 100 ms; null: it does not. */
  longQueueSinceMs: number | null;
}

/**
 * Estimates the bandwidth of the path to one viewer. Pure.
 *
 * The estimate is the smaller of two values: one from the receiver's feedback (the delays in transport-wide feedback,
 * or REMB if there is no such feedback), and one from losses. If the path proves slower, its rate limits the estimate
 * until a probe succeeds or ten seconds pass without a queue. Otherwise the estimate grows, but not far beyond the
 * arrived rate, because unsent data proves nothing. Source: docs/media.md, "Rate control".
 */
export class BandwidthEstimate {
  readonly #topKbps: number;
  readonly #delay = new PathDelay();
  #kbps: number;
  #lossKbps = Number.POSITIVE_INFINITY;
  #known = false;
  #overTransport = false;
  /** Rate of the link when it last proved slower than the estimate, in kbit/s. */
  #cap: { kbps: number; sinceMs: number } | null = null;
  #arrived: { atMs: number; bytes: number }[] = [];
  #grownAtMs: number | null = null;
  #longQueueSinceMs: number | null = null;
  #lossDeafUntilMs = Number.NEGATIVE_INFINITY;

  /** @param launchKbps sum of the bitrates of all tracks */
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

  /** Rate of the link, measured while its queue is full, in kbit/s; null: there is no queue. */
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

  /** Called about once a second with the losses of the picture. @param fractionLost 0-1 */
  onLoss(fractionLost: number, nowMs: number): void {
    if (nowMs < this.#lossDeafUntilMs) return;
    const kbps = Math.min(this.#kbps, this.#lossKbps);
    if (fractionLost > LOSS_LIMIT) this.#lossKbps = Math.max(MIN_KBPS, kbps * (1 - fractionLost / 2));
    else if (this.#lossKbps < this.#kbps) this.#lossKbps *= GROW_PER_STEP;
    else this.#lossKbps = Number.POSITIVE_INFINITY;
    this.#known = true;
  }

  /** Handles a REMB. Ignored if the receiver sends transport-wide feedback. */
  onRemb(kbps: number): void {
    if (this.#overTransport) return;
    this.#known = true;
    this.#kbps = Math.min(this.#topKbps, Math.max(MIN_KBPS, kbps));
  }

  /** Handles the result of a probe. @param clean whether the probe caused no queueing delay and no loss */
  onProbe(receivedKbps: number, clean: boolean): void {
    if (!clean) return;
    if (this.#cap && receivedKbps > this.#cap.kbps) this.#cap = null;
    this.#kbps = Math.min(this.#topKbps, Math.max(this.#kbps, receivedKbps * USABLE));
  }

  /**
   * Called when sending stops until the queue is empty. Losses of the full queue are then ignored, because the stop is
   * already the reaction to them.
   */
  held(): void {
    this.#lossDeafUntilMs = Number.POSITIVE_INFINITY;
  }

  /** Called when sending resumes with an empty queue. */
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
    // The rate of the last half second is used, because a few packets may be slow by chance. After a large fall, this
    // window would include packets from before the fall.
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
