/**
 * One heartbeat's round trip time, and the clock offset measured with it: the control plane's clock minus the agent's.
 */
export interface ClockPair {
  offset_ms: number;
  rtt_ms: number;
}

/** Heartbeats of one minute. Two clocks drift apart by at most 6 ms in a minute (100 ppm). */
const KEPT_PAIRS = 12;

/**
 * Measures the clock offset to the control plane from heartbeat echoes. Uses the pair with the smallest round trip of
 * the last twelve, because the error of an offset is at most half its round trip.
 */
export class ClockPairs {
  readonly #pairs: ClockPair[] = [];

  /**
   * @param echoMs the agent's time when it sent the heartbeat; serverMs the control plane's time; nowMs the agent's
   * current time
   */
  add(echoMs: number, serverMs: number, nowMs: number): void {
    const rtt = nowMs - echoMs;
    // A negative round trip: the agent's clock was set in the meantime, so the pair is useless.
    if (rtt < 0) return;
    this.#pairs.push({ offset_ms: serverMs - (echoMs + rtt / 2), rtt_ms: rtt });
    if (this.#pairs.length > KEPT_PAIRS) this.#pairs.shift();
  }

  /** The pair with the smallest round trip; null: no echo has arrived yet. */
  best(): ClockPair | null {
    return this.#pairs.reduce<ClockPair | null>(
      (best, pair) => (best === null || pair.rtt_ms < best.rtt_ms ? pair : best),
      null,
    );
  }

  clear(): void {
    this.#pairs.length = 0;
  }
}
