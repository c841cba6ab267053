import type { Concurrency } from '@footlight/protocol/rest';
import { useMemo } from 'react';
import { Chart } from '../frame/chart/chart.tsx';
import { curveLines } from './curve-lines.ts';
import styles from './fleet.module.css';

/**
 * The encode time for each number of concurrent sessions, with the frame time as its limit. The page also shows the
 * values as text.
 * @param props.frameMs null: unknown
 */
export function CurveDrawing({ curve, frameMs }: { curve: Concurrency; frameMs: number | null }) {
  const lines = useMemo(() => curveLines(curve), [curve]);
  return (
    <Chart
      className={styles.drawing}
      lines={lines}
      from={0.5}
      to={Math.max(...curve.curve.map(({ n }) => n)) + 0.5}
      limit={frameMs ?? undefined}
      axes={{ unit: 'ms', step: 0.1, x: String, xStep: 1 }}
    />
  );
}
