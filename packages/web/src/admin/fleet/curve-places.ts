/** Units of the drawing, which keeps its aspect ratio. */
export const CURVE_SIZE = { width: 260, height: 96 };
/** Room for the dots at the edges. */
const EDGE = 6;
/** Space above the highest value, so that it does not touch the edge. */
const HEADROOM = 1.1;

interface Dot {
  x: number;
  y: number;
  passes: boolean;
}

/**
 * Positions of a curve's points and of its limit in the drawing. Pure.
 * @param frameMs frame time at the rung's frame rate; null: unknown
 */
export function placesOf(
  { curve, sessions }: { curve: readonly { n: number; encode_ms_p95: number }[]; sessions: number },
  frameMs: number | null,
): { dots: Dot[]; limitY: number | null } {
  const top = Math.max(...curve.map(({ encode_ms_p95 }) => encode_ms_p95), frameMs ?? 0, 0.001) * HEADROOM;
  const most = Math.max(...curve.map(({ n }) => n), 2);
  const yOf = (ms: number) => CURVE_SIZE.height - EDGE - (ms / top) * (CURVE_SIZE.height - 2 * EDGE);
  return {
    dots: curve.map(({ n, encode_ms_p95 }) => ({
      x: EDGE + ((n - 1) / (most - 1)) * (CURVE_SIZE.width - 2 * EDGE),
      y: yOf(encode_ms_p95),
      passes: n <= sessions,
    })),
    limitY: frameMs === null ? null : yOf(frameMs),
  };
}
