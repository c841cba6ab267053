/** One heartbeat's round trip: offset is control plane minus agent. */
export interface ClockPair {
  offset_ms: number;
  rtt_ms: number;
}

const KEPT = 12;

/**
 * The clock difference to the control plane, from heartbeat echoes: of the last twelve pairs the one with the
 * smallest round trip, because a pair cannot be wrong by more than half of its round trip.
 */
export class ClockPairs {
  readonly #pairs: ClockPair[] = [];

  /** @param echoMs the agent's own time in the heartbeat; serverMs the control plane's; nowMs the agent's now */
  add(echoMs: number, serverMs: number, nowMs: number): void {
    const rtt = nowMs - echoMs;
    // The agent's clock was set meanwhile: the pair says nothing.
    if (rtt < 0) return;
    this.#pairs.push({ offset_ms: serverMs - (echoMs + rtt / 2), rtt_ms: rtt });
    if (this.#pairs.length > KEPT) this.#pairs.shift();
  }

  /** null until a first echo. */
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
