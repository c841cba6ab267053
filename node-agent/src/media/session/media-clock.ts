import { type Clock, systemClock } from '@footlight/platform';

/** The clock of a media worker. Both times have fractions of milliseconds, because a frame at 240 fps lasts 4 ms. */
export interface MediaClock extends Clock {
  /** Wall-clock time for viewers, in epoch milliseconds with fractions. */
  nowMs(): number;
  /** CLOCK_MONOTONIC in milliseconds with fractions, the time of GStreamer's system clock. */
  monotonicMs(): number;
}

/** Value of CLOCK_MONOTONIC at the time when performance.now() was 0. */
const ORIGIN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * The wall clock is the monotonic clock plus an offset, because Date.now() has no fractions. After a change of the
 * system clock, it is Date.now().
 */
export const systemMediaClock: MediaClock = {
  ...systemClock,
  nowMs() {
    const wallMs = performance.timeOrigin + performance.now();
    const systemMs = Date.now();
    // The offset was computed at the start. After a change of the system clock, the less exact value is used.
    return Math.abs(wallMs - systemMs) < 2 ? wallMs : systemMs;
  },
  monotonicMs() {
    // Uses no BigInt, because it is called several times per packet.
    return ORIGIN_MS + performance.now();
  },
};

/** Wall-clock time of a monotonic time. */
export function wallTimeOf(monotonicMs: number, clock: MediaClock): number {
  return clock.nowMs() - (clock.monotonicMs() - monotonicMs);
}
