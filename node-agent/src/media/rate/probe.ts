import type { FeedbackReport } from './transport-feedback.ts';

/** Added delay above which the probe caused a queue; the same value as EMPTY_MS of PathDelay. */
const ADDED_QUEUE_MS = 10;
/**
 * Number of last packets whose smallest delay shows whether a queue existed at the end of the probe. A single packet
 * may be late by chance.
 */
const TAIL_PACKETS = 4;
/** Smallest number of packets with which a rate can be measured: twice the tail. */
const MIN_PACKETS = 8;
/**
 * Longest wait for a probe's last feedback, in addition to the round trip: four feedbacks of a browser (16 a second).
 */
const PATIENCE_MS = 250;

export interface ProbeResult {
  receivedKbps: number;
  clean: boolean;
}

/**
 * One padding probe: all packets that are sent in a short time, including the picture's packets. Pure.
 *
 * A probe is clean when all its packets arrived and the last packets waited no longer than the packets before the
 * probe.
 */
export class ProbeRun {
  readonly #startedAtMs: number;
  readonly #queueBeforeMs: number;
  readonly #sequences = new Set<number>();
  #arrivals: { receivedAtMs: number; delayMs: number; bytes: number }[] = [];
  #lost = false;
  #sentBytes = 0;
  #endedAtMs: number | null = null;
  #baseDelayMs: number | null = null;

  /** @param queueBeforeMs queueing delay before the probe, in milliseconds */
  constructor(queueBeforeMs: number, nowMs: number) {
    this.#queueBeforeMs = queueBeforeMs;
    this.#startedAtMs = nowMs;
  }

  get sentBytes(): number {
    return this.#sentBytes;
  }

  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  get isSending(): boolean {
    return this.#endedAtMs === null;
  }

  sent(sequence: number, bytes: number): void {
    if (!this.isSending) return;
    this.#sequences.add(sequence);
    this.#sentBytes += bytes;
  }

  /** Ends the part of the probe in which packets are sent. */
  end(nowMs: number): void {
    this.#endedAtMs ??= nowMs;
  }

  /** @returns the result when all packets were reported; null: not yet */
  heard({ flights, lost }: FeedbackReport): ProbeResult | null {
    for (const { sequence } of lost) this.#lost = this.#sequences.delete(sequence) || this.#lost;
    for (const { sequence, sentAtMs, receivedAtMs, bytes } of flights) {
      const delayMs = receivedAtMs - sentAtMs;
      if (!this.#sequences.delete(sequence)) continue;
      this.#baseDelayMs = Math.min(this.#baseDelayMs ?? delayMs, delayMs);
      this.#arrivals.push({ receivedAtMs, delayMs, bytes });
    }
    return !this.isSending && this.#sequences.size === 0 ? this.#result() : null;
  }

  /** @returns a result without a rate when feedback is overdue; null: not yet */
  overdue(rttMs: number, nowMs: number): ProbeResult | null {
    const late = this.#endedAtMs !== null && nowMs - this.#endedAtMs > rttMs + PATIENCE_MS;
    return late ? { receivedKbps: 0, clean: false } : null;
  }

  #result(): ProbeResult {
    const first = this.#arrivals[0];
    const last = this.#arrivals.at(-1);
    if (!first || !last || this.#arrivals.length < MIN_PACKETS) return { receivedKbps: 0, clean: false };
    const spanMs = Math.max(1, last.receivedAtMs - first.receivedAtMs);
    const bytes = this.#arrivals.reduce((sum, arrival) => sum + arrival.bytes, 0) - first.bytes;
    const tailMs = Math.min(...this.#arrivals.slice(-TAIL_PACKETS).map(({ delayMs }) => delayMs));
    const addedMs = tailMs - (this.#baseDelayMs ?? tailMs);
    const clean = !this.#lost && addedMs <= ADDED_QUEUE_MS && this.#queueBeforeMs <= ADDED_QUEUE_MS * 3;
    return { receivedKbps: (bytes * 8) / spanMs, clean };
  }
}
