import type { Timer } from '@footlight/platform/timer';
import type { ClockRecord, Environment, TraceEvent } from './types.ts';

/** Wait for the clock's eight pings; without an answer the launch time is omitted. */
const CLOCK_WAIT_MS = 3_000;

export interface FirstFrameFacts {
  width: number;
  height: number;
  flat: boolean;
  /** when the frame was shown, in Unix ms and monotonic ms of this browser */
  atUnixMs: number;
  atMs: number;
  /** arrival of the offer, monotonic ms */
  offeredAtMs: number;
  /** session's created_at in Unix ms of the service; null = unknown */
  createdAtMs: number | null;
}

/**
 * Reports the time to the first picture once per connect(), when the host's clock is known or unavailable.
 *
 * idle → (shown) → waiting for the clock → (measured, or CLOCK_WAIT_MS) → reported, which is idle. Owns one timer while it
 * waits; dispose() frees it and reports nothing. Times are milliseconds on the clocks that FirstFrameFacts names.
 */
export class FirstFrameReport {
  #environment: Environment;
  #onTrace: (event: TraceEvent) => void;
  #waiting: { facts: FirstFrameFacts; timer: Timer } | null = null;

  constructor(environment: Environment, onTrace: (event: TraceEvent) => void) {
    this.#environment = environment;
    this.#onTrace = onTrace;
  }

  shown(facts: FirstFrameFacts, clock: ClockRecord | null): void {
    this.#waiting?.timer.cancel();
    const timer = this.#environment.setTimeout(() => this.#report(null), CLOCK_WAIT_MS);
    this.#waiting = { facts, timer };
    if (clock !== null || facts.createdAtMs === null) this.#report(clock);
  }

  measured(clock: ClockRecord): void {
    this.#report(clock);
  }

  dispose(): void {
    this.#waiting?.timer.cancel();
    this.#waiting = null;
  }

  #report(clock: ClockRecord | null): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    waiting.timer.cancel();
    this.#waiting = null;
    const { facts } = waiting;
    const { atUnixMs, atMs } = facts;
    const payload: TraceEvent['payload'] = {
      since_load_ms: Math.round(atMs),
      since_offer_ms: Math.round(atMs - facts.offeredAtMs),
      width: facts.width,
      height: facts.height,
      flat: facts.flat,
    };
    if (clock !== null && facts.createdAtMs !== null) {
      payload.since_launch_ms = Math.round(atUnixMs + clock.client_offset_ms - facts.createdAtMs);
    }
    this.#onTrace({ ts_unix_ms: Math.round(atUnixMs), type: 'client.first_frame', payload });
  }
}
