import type { Clock, Timer } from '@footlight/platform';

/**
 * A keyframe leaves faster than the stream's rate, but does not fill the path's queue at once. Chromium's pacer uses
 * 2.5, for paths whose rate is only estimated; a smaller factor makes shorter queues. Chosen, not measured.
 */
const PACE_FACTOR = 1.5;
/** Bucket depth as refill time: slightly above two frames at 60 fps, so that a late frame and its successor pass. */
const DEPTH_MS = 40;
/** Least bucket depth: five of the largest packets (PAYLOAD_MTU). */
const MIN_DEPTH_BYTES = 6_000;
/**
 * A third of a frame at 60 fps; shorter ticks cost wake-ups of the busy core (50 to 100 µs each,
 * docs/development.md, "Benches").
 */
const TICK_MS = 5;
/**
 * Longest time between two ticks for which the bucket is refilled in full. A process with a twentieth of a processor
 * runs every 100 ms. Refilled only to the bucket's depth, it would send 60 ms worth of packets each time, and the queue
 * would keep growing. Chosen, not measured.
 */
const MAX_LATE_MS = 500;
/** Longest queue, as MAX_DRAIN_MS of the rate control: later packets are useless for a live viewer. */
const MAX_QUEUE_MS = 2_000;
/** Least queue limit: a keyframe of hard edges (60 kB, docs/development.md, "Benches") fits at any rate. */
const MIN_QUEUE_LIMIT_BYTES = 96 * 1024;

export interface PacerOptions<T> {
  rateKbps: number;
  clock: Clock;
  send(item: T): void;
  /** The queue exceeded its limit and was cleared; a keyframe must follow. */
  onOverflow(): void;
}

/**
 * Paces bursts by a token bucket that refills at 1.5 × the stream's rate. An ordinary frame finds enough tokens and
 * leaves at once; a much larger keyframe leaves at the refill rate.
 *
 * `send` is called when an item leaves, so numbers assigned there are in sending order.
 */
export class Pacer<T> {
  readonly #options: PacerOptions<T>;
  readonly #queue: { item: T; bytes: number }[] = [];
  #head = 0;
  #queuedBytes = 0;
  #rateKbps: number;
  #tokens: number;
  #refilledAtMs: number;
  /** null: nothing waits. */
  #timer: Timer | null = null;
  readonly #step = () => this.#drain();

  constructor(options: PacerOptions<T>) {
    this.#options = options;
    this.#rateKbps = options.rateKbps;
    this.#tokens = this.#depthBytes;
    this.#refilledAtMs = options.clock.monotonicMs();
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  get #bytesPerMs(): number {
    return (this.#rateKbps * PACE_FACTOR) / 8;
  }

  get #depthBytes(): number {
    return Math.max(MIN_DEPTH_BYTES, this.#bytesPerMs * DEPTH_MS);
  }

  setRate(rateKbps: number): void {
    this.#refill();
    this.#rateKbps = rateKbps;
    this.#tokens = Math.min(this.#tokens, this.#depthBytes);
  }

  push(item: T, bytes: number): void {
    this.#queue.push({ item, bytes });
    this.#queuedBytes += bytes;
    if (this.#queuedBytes > Math.max(MIN_QUEUE_LIMIT_BYTES, this.#bytesPerMs * MAX_QUEUE_MS)) {
      this.clear();
      this.#options.onOverflow();
      return;
    }
    if (!this.#timer) this.#drain();
  }

  /** Drops the queue; also ends the pacer. */
  clear(): void {
    this.#queue.length = 0;
    this.#head = 0;
    this.#queuedBytes = 0;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #drain(): void {
    this.#refill();
    this.#timer = null;
    // The last packet may overdraw the bucket; the debt delays the next one.
    while (this.#head < this.#queue.length && this.#tokens > 0) {
      const next = this.#queue[this.#head++];
      if (!next) break;
      this.#queuedBytes -= next.bytes;
      this.#tokens -= next.bytes;
      this.#options.send(next.item);
    }
    if (this.#head === this.#queue.length) {
      this.#queue.length = 0;
      this.#head = 0;
      return;
    }
    this.#timer = this.#options.clock.setTimeout(this.#step, TICK_MS);
  }

  #refill(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const elapsedMs = nowMs - this.#refilledAtMs;
    // The depth limits the tokens that an idle stream saves up. While packets wait, tokens are used and not saved,
    // however late the tick is.
    const lateMs = this.#timer === null ? 0 : Math.min(elapsedMs, MAX_LATE_MS);
    const most = Math.max(this.#depthBytes, lateMs * this.#bytesPerMs);
    this.#tokens = Math.min(most, this.#tokens + elapsedMs * this.#bytesPerMs);
    this.#refilledAtMs = nowMs;
  }
}
