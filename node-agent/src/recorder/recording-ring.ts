import { MINUTE_MS } from '@footlight/platform';
import type { StreamRecord } from '../media/recording/stream-records.ts';

/** Limits of a ring. Source: docs/recordings.md. */
export const RING_MS = MINUTE_MS;
export const RING_BYTES = 64 * 1024 * 1024;
/** Largest number of records: a minute at 240 frames per second. Limits the overhead of many tiny records. */
const RING_RECORDS = 60 * 240;

export interface RingLimits {
  ms: number;
  bytes: number;
  records: number;
}

/**
 * The newest part of one session's encoded stream. Times are arrival times in this process, because the worker that
 * sends the records is not trusted. Owner: the flight recorder.
 */
export class RecordingRing {
  readonly #limits: RingLimits;
  #records: (StreamRecord & { atMs: number })[] = [];
  /** Index of the oldest record that is not dropped. */
  #first = 0;
  #bytes = 0;

  constructor(limits: Partial<RingLimits> = {}) {
    this.#limits = { ms: RING_MS, bytes: RING_BYTES, records: RING_RECORDS, ...limits };
  }

  /** Bytes of all kept records. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param nowMs monotonic time */
  add(record: StreamRecord, nowMs: number): void {
    this.#records.push({ ...record, atMs: nowMs });
    this.#bytes += record.bytes.length;
    this.#expire(nowMs);
  }

  /** Drops the oldest records above a limit. */
  #expire(nowMs: number): void {
    const { ms, bytes, records } = this.#limits;
    for (;;) {
      const oldest = this.#records[this.#first];
      if (oldest === undefined) break;
      const kept = this.#records.length - this.#first;
      if (nowMs - oldest.atMs <= ms && this.#bytes <= bytes && kept <= records) break;
      this.#bytes -= oldest.bytes.length;
      this.#first += 1;
    }
    // The list is compacted only when half of its entries were dropped, so that a record costs constant time on
    // average.
    if (this.#first * 2 < this.#records.length) return;
    this.#records = this.#records.slice(this.#first);
    this.#first = 0;
  }

  /**
   * The records from the oldest keyframe on, because only these can be decoded; empty if there is no keyframe. The
   * buffers are shared, not copied.
   */
  frozen(): Buffer[] {
    const kept = this.#records.slice(this.#first);
    const start = kept.findIndex(({ isKeyframe }) => isKeyframe);
    return start === -1 ? [] : kept.slice(start).map(({ bytes }) => bytes);
  }
}
