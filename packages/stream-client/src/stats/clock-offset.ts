import type { Pong } from '@footlight/protocol/input';
import type { ClockRecord } from '../types.ts';

/**
 * Number of pongs that are kept. They cover a minute of pings, in which two clocks drift apart by at most 6 ms (100
 * ppm).
 */
const KEPT_RESULTS = 64;
/** Pongs with a longer round trip are ignored, because half of the round trip is the largest possible error. */
const MAX_RTT_MS = 5_000;
/**
 * Number of pongs that a measurement needs: the first pings of a connection (PING_BURST). A single ping may be slow by
 * chance.
 */
const FIRST_AFTER = 8;
/**
 * Time between two reports. KEPT_RESULTS cover the same time, so all results of the previous report have been replaced.
 */
const REPEAT_MS = 60_000;
/** Changes below this value are not reported, because they change no number that a page shows. */
const MIN_MOVE_MS = 2;

/**
 * Measures the offset of the host's clock to this page's clock in ms, from ping and pong. Pure; call reset() for a new
 * connection.
 * Source: RFC 5905, the on-wire protocol: offset = ((t1 − t0) + (t2 − t3)) / 2, delay = (t3 − t0) − (t2 − t1).
 */
export class ClockOffset {
  #samples: { offset: number; rtt: number }[] = [];
  #reported: { record: ClockRecord; atMs: number } | null = null;

  /** Restarts for a new connection. */
  reset(): void {
    this.#samples = [];
    this.#reported = null;
  }

  /**
   * @param receivedUnixMs arrival of the pong, on the clock of client_ms
   * @param nowMs monotonic
   * @returns a record that should be posted now; null: none is due
   */
  add(
    pong: Pick<Pong, 'client_ms' | 'receive_ms' | 'send_ms'>,
    receivedUnixMs: number,
    nowMs: number,
  ): ClockRecord | null {
    const { client_ms, receive_ms, send_ms } = pong;
    const rtt = receivedUnixMs - client_ms - (send_ms - receive_ms);
    if (!(rtt >= 0 && rtt <= MAX_RTT_MS)) return null;
    this.#samples.push({ offset: (receive_ms - client_ms + (send_ms - receivedUnixMs)) / 2, rtt });
    if (this.#samples.length > KEPT_RESULTS) this.#samples.shift();
    const record = this.record;
    if (record === null || !this.#isWorthReporting(record, nowMs)) return null;
    this.#reported = { record, atMs: nowMs };
    return record;
  }

  /**
   * The best of the last 64 pongs: the smallest round trip has the smallest possible error. null: fewer than eight
   * pongs arrived.
   */
  get record(): ClockRecord | null {
    if (this.#samples.length < FIRST_AFTER) return null;
    let best: { offset: number; rtt: number } | null = null;
    for (const sample of this.#samples) if (best === null || sample.rtt < best.rtt) best = sample;
    return best === null ? null : { client_offset_ms: best.offset, uncertainty_ms: best.rtt / 2 };
  }

  #isWorthReporting(record: ClockRecord, nowMs: number): boolean {
    if (this.#reported === null || nowMs - this.#reported.atMs >= REPEAT_MS) return true;
    const moved = Math.abs(record.client_offset_ms - this.#reported.record.client_offset_ms);
    return moved > Math.max(MIN_MOVE_MS, record.uncertainty_ms);
  }
}
