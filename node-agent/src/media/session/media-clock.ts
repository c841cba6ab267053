/**
 * The two clocks of a media worker: the monotonic one that times buffers and waits, and the wall clock that is
 * told to viewers. Injected, so that tests advance both by hand.
 */
export interface MediaClock {
  /** Epoch milliseconds with fractions. */
  wallMs(): number;
  /** CLOCK_MONOTONIC in milliseconds with fractions: GStreamer's system clock. */
  monotonicMs(): number;
}

/** CLOCK_MONOTONIC when performance.now() was 0. */
const ORIGIN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * Wall-clock readings come from the monotonic clock plus an offset that follows steps of the system clock, since
 * Date.now() alone has no fractions.
 */
export const systemMediaClock: MediaClock = {
  wallMs() {
    const wallMs = performance.timeOrigin + performance.now();
    const systemMs = Date.now();
    // The origin is fixed at start; when somebody set the clock since, the coarse reading is the right one.
    return Math.abs(wallMs - systemMs) < 2 ? wallMs : systemMs;
  },
  monotonicMs() {
    // Read several times for every packet, so without a BigInt each time.
    return ORIGIN_MS + performance.now();
  },
};

/** Wall-clock time of an instant on the monotonic clock. */
export function wallTimeOf(monotonicMs: number, clock: MediaClock): number {
  return clock.wallMs() - (clock.monotonicMs() - monotonicMs);
}
