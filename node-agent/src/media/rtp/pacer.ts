/**
 * Paces bursts by a token bucket that refills at 1.5 × the stream's rate. An ordinary frame finds enough tokens and
 * leaves at once; a much larger keyframe leaves at the refill rate.
 *
 * `send` is called when an item leaves, so numbers assigned there are in sending order.
 */

const PACE_FACTOR = 1.5;
/** Bucket depth as refill time: slightly above two frames at 60 fps. */
const DEPTH_MS = 40;
/** Least bucket depth: a few packets at the lowest rate. */
const MIN_DEPTH_BYTES = 6_000;
const TICK_MS = 5;
/** Longest queue; a longer one is useless for a live viewer. */
const MAX_QUEUE_MS = 2_000;
/** Least queue limit: one large keyframe fits at any rate. */
const MIN_QUEUE_LIMIT_BYTES = 96 * 1024;

export interface PacerOptions<T> {
  rateKbps: number;
  monotonicMs(): number;
  send(item: T): void;
  /** The queue exceeded its limit and was cleared; a keyframe must follow. */
  onOverflow(): void;
}

export class Pacer<T> {
  readonly #options: PacerOptions<T>;
  readonly #queue: { item: T; bytes: number }[] = [];
  #head = 0;
  #queuedBytes = 0;
  #rateKbps: number;
  #tokens: number;
  #refilledAtMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: PacerOptions<T>) {
    this.#options = options;
    this.#rateKbps = options.rateKbps;
    this.#tokens = this.#depthBytes;
    this.#refilledAtMs = options.monotonicMs();
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
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #drain(): void {
    this.#timer = null;
    this.#refill();
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
    this.#timer = setTimeout(() => this.#drain(), TICK_MS);
  }

  #refill(): void {
    const nowMs = this.#options.monotonicMs();
    this.#tokens = Math.min(this.#depthBytes, this.#tokens + (nowMs - this.#refilledAtMs) * this.#bytesPerMs);
    this.#refilledAtMs = nowMs;
  }
}
