/** One heartbeat's round trip; offset is control plane minus agent. */
export interface ClockPair {
  offset_ms: number;
  rtt_ms: number;
}

/** A minute of heartbeats: two clocks drift by 6 ms in it (100 ppm). */
const KEPT_PAIRS = 12;

/**
 * Clock offset to the control plane from heartbeat echoes: the pair with the smallest round trip of the last twelve,
 * because the error is at most half the round trip.
 */
export class ClockPairs {
  readonly #pairs: ClockPair[] = [];

  /**
   * @param echoMs the agent's time in the heartbeat; serverMs the control plane's time; nowMs the agent's current
   *   time
   */
  add(echoMs: number, serverMs: number, nowMs: number): void {
    const rtt = nowMs - echoMs;
    // The agent's clock was set in between, so the pair is useless.
    if (rtt < 0) return;
    this.#pairs.push({ offset_ms: serverMs - (echoMs + rtt / 2), rtt_ms: rtt });
    if (this.#pairs.length > KEPT_PAIRS) this.#pairs.shift();
  }

  /** null before the first echo. */
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
