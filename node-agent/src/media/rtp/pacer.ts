import type { Clock, Timer } from '@footlight/platform';

/**
 * Sending rate of a burst, as a factor of the stream's rate. So a keyframe is sent faster than the stream's rate, but
 * does not fill the path's queue at once. Chromium's pacer uses 2.5, for paths whose rate is only estimated; a smaller
 * factor makes shorter queues. Chosen, not measured.
 */
const PACE_FACTOR = 1.5;
/**
 * Depth of the bucket, as the time in which it is refilled: slightly more than two frames at 60 fps, so that a late
 * frame and the next one can be sent at once.
 */
const DEPTH_MS = 40;
/** Smallest depth of the bucket: five of the largest packets (PAYLOAD_MTU). */
const MIN_DEPTH_BYTES = 6_000;
/**
 * Interval of the ticks: a third of a frame at 60 fps. Shorter ticks would wake the worker's thread more often, and
 * each wake-up costs 50 to 100 µs while an encoder runs (docs/development.md, "Benches").
 */
const TICK_MS = 5;
/**
 * Longest time between two ticks for which the bucket is refilled in full. A process that gets a twentieth of a
 * processor runs every 100 ms. If the bucket were refilled only to its depth, the process would send 60 ms worth of
 * packets each time, and its queue would keep growing. Chosen, not measured.
 */
const MAX_LATE_MS = 500;
/**
 * Longest queue in milliseconds, the same as MAX_DRAIN_MS of the rate control. Packets that wait longer are useless for
 * a live viewer.
 */
const MAX_QUEUE_MS = 2_000;
/** Smallest limit of the queue: a keyframe of hard edges (60 kB, docs/development.md, "Benches") fits at any rate. */
const MIN_QUEUE_LIMIT_BYTES = 96 * 1024;

export interface PacerOptions<T> {
  rateKbps: number;
  clock: Clock;
  send(item: T): void;
  /** Called when the queue exceeded its limit and was cleared; a keyframe must then be encoded. */
  onOverflow(): void;
}

/**
 * Paces bursts by a token bucket that refills at 1.5 × the stream's rate. For an ordinary frame there are enough
 * tokens, so it is sent at once; a much larger keyframe is sent at the refill rate.
 *
 * `send` is called when an item leaves the queue, so numbers that `send` assigns are in sending order.
 */
export class Pacer<T> {
  readonly #options: PacerOptions<T>;
  readonly #queue: { item: T; bytes: number }[] = [];
  #head = 0;
  #queuedBytes = 0;
  #rateKbps: number;
  #tokens: number;
  #refilledAtMs: number;
  /** null: the queue is empty. */
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

  /** Drops all queued items; also called at the end. */
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
    // A packet may use more tokens than the bucket contains; the debt then delays the next packet.
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
    // The depth limits the tokens that an idle stream collects. While packets wait, tokens are used at once, so the
    // limit does not apply, even if the tick is late.
    const lateMs = this.#timer === null ? 0 : Math.min(elapsedMs, MAX_LATE_MS);
    const most = Math.max(this.#depthBytes, lateMs * this.#bytesPerMs);
    this.#tokens = Math.min(most, this.#tokens + elapsedMs * this.#bytesPerMs);
    this.#refilledAtMs = nowMs;
  }
}
