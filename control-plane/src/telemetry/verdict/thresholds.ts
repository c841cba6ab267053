/** Limits that a verdict compares with. Pure. Source: docs/troubleshooting.md, "Verdicts". */

/** Changes whenever one of the limits does. */
export const THRESHOLDS_VERSION = '1';

export interface Thresholds {
  /** A sample whose frame intervals deviate (sigma, ms) by this or more is a hitch. */
  hitchMs: number;
  /** This many hitches count. */
  hitches: number;
  /** An encoder with this 95th percentile (ms) or more is too slow. */
  encodeCeilingMs: number;
  /** A host whose 10th percentile (fps) is this or more is steady. */
  steadyFps: number;
  /** More lost packets than this count. */
  lostPackets: number;
  /** A round trip with a 95th percentile (ms) above this is long. */
  rttMs: number;
}

/**
 * The limits of a session: 18 ms, 16 ms and 50 fps at 60 fps, in the same proportion at any other rate.
 * @param fps frame rate of its stream, above 0
 */
export function thresholdsOf(fps: number): Thresholds {
  return {
    // 1.08 and 0.96 frame times, and 5/6 of the rate, each by one rounding: at 60 fps they are exact.
    hitchMs: 1_080 / fps,
    hitches: 2,
    encodeCeilingMs: 960 / fps,
    steadyFps: (5 * fps) / 6,
    lostPackets: 5,
    rttMs: 50,
  };
}
