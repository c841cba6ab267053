import type { ChartLine } from '../frame/chart/chart-lines.ts';

/**
 * The encode time for each number of concurrent sessions: a line, and dots for the numbers that the host sustains and
 * for those that it does not. Pure.
 * @param curve.sessions the largest number that the host sustains
 */
export function curveLines({
  curve,
  sessions,
}: {
  curve: readonly { n: number; encode_ms_p95: number }[];
  sessions: number;
}): ChartLine[] {
  const points = curve.map(({ n, encode_ms_p95 }) => ({ x: n, y: encode_ms_p95 }));
  return [
    { points },
    { points: points.filter(({ x }) => x <= sessions), dots: true, tone: 'success' },
    { points: points.filter(({ x }) => x > sessions), dots: true, tone: 'danger' },
  ];
}
