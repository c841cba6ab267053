/** Limits with which a verdict compares the measured values. Pure. Source: docs/troubleshooting.md, "Verdicts". */

/** Must change whenever one of the limits changes. */
export const THRESHOLDS_VERSION = '1';

export interface Thresholds {
  /** A sample whose frame intervals deviate (sigma, ms) by this or more is a hitch. */
  hitchMs: number;
  /** Minimum number of hitches for a verdict. */
  hitches: number;
  /** An encoder with this 95th percentile (ms) or more is too slow. */
  encodeCeilingMs: number;
  /** A host whose 10th percentile (fps) is this or more is steady. */
  steadyFps: number;
  /** More lost packets than this are a fault. */
  lostPackets: number;
  /** A round trip with a 95th percentile (ms) above this is long. */
  rttMs: number;
}

/**
 * The limits of a session: 18 ms, 16 ms and 50 fps at 60 fps, and proportional values at other frame rates.
 * @param fps frame rate of the session's stream, above 0
 */
export function thresholdsOf(fps: number): Thresholds {
  return {
    // 1.08 and 0.96 frame times, and 5/6 of the rate, computed with only one rounding, so that they are exact at 60
    // fps.
    hitchMs: 1_080 / fps,
    hitches: 2,
    encodeCeilingMs: 960 / fps,
    steadyFps: (5 * fps) / 6,
    lostPackets: 5,
    rttMs: 50,
  };
}
