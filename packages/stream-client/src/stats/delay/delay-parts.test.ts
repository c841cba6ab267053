import { describe, expect, test } from 'vitest';
import { type ClockFacts, DelayParts } from './delay-parts.ts';

/** The host's clock is 5 s ahead of this page's, whose monotonic zero was at 1,000,000. */
const CLOCK: ClockFacts = { offsetMs: 5_000, originUnixMs: 1_000_000, rttMs: 10 };
/**
 * On this page's clock: captured at 100 ms, encoded in 8 ms, 5 ms on the network, received at 118, decoded in 3, shown
 * at 130.
 */
const host = (rtp_timestamp: number, atMs = 100) => ({
  rtp_timestamp,
  capture_ms: 1_005_000 + atMs,
  encode_ms: 8,
});
const shown = (rtpTimestamp: number, laterMs = 0) => ({
  rtpTimestamp,
  receivedMs: 118 + laterMs,
  decodeMs: 3,
  displayMs: 130 + laterMs,
});
const SPLIT = { capture_ms: 5, encode_ms: 8, network_ms: 5, decode_ms: 3, present_ms: 9, total_ms: 30 };

describe('the parts of the delay', () => {
  test('add up to the time from capture to display, whichever side reports first', () => {
    const parts = new DelayParts();
    parts.timed(host(1));
    parts.frame(shown(1));
    expect(parts.take(CLOCK)).toEqual(SPLIT);
    parts.frame(shown(2));
    parts.timed(host(2));
    expect(parts.take(CLOCK)).toEqual(SPLIT);
  });

  test('are the median of one second, and each second is reported once', () => {
    const parts = new DelayParts();
    for (const [rtp, laterMs] of [
      [1, 0],
      [2, 40],
      [3, 4],
    ] as const) {
      parts.timed(host(rtp));
      parts.frame(shown(rtp, laterMs));
    }
    expect(parts.take(CLOCK)).toMatchObject({ capture_ms: 9, total_ms: 34 });
    expect(parts.take(CLOCK)).toBeNull();
  });

  test('a frame that waits three seconds on the host counts with its full delay', () => {
    const parts = new DelayParts();
    parts.timed(host(1));
    parts.frame(shown(1, 3_000));
    expect(parts.take(CLOCK)).toMatchObject({ capture_ms: 3_005, total_ms: 3_030 });
  });

  test('are unknown without a common clock, without both reports, and without the arrival time', () => {
    const parts = new DelayParts();
    parts.timed(host(1));
    parts.frame(shown(1));
    expect(parts.take(null)).toBeNull();
    parts.timed(host(2));
    parts.frame(shown(3));
    parts.timed(host(4));
    parts.frame({ ...shown(4), receivedMs: null });
    expect(parts.take(CLOCK)).toBeNull();
    // Nothing of a previous connection counts.
    parts.reset();
    parts.frame(shown(2));
    expect(parts.take(CLOCK)).toBeNull();
  });

  test('are never negative, although the clocks are only known to a few milliseconds', () => {
    const parts = new DelayParts();
    parts.timed(host(1, 112));
    parts.frame(shown(1));
    expect(parts.take(CLOCK)).toMatchObject({ capture_ms: 0 });
  });
});
