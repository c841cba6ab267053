import type { Concurrency } from '@footlight/protocol/rest';
import { CURVE_SIZE, placesOf } from './curve-places.ts';
import styles from './fleet.module.css';

/**
 * The encode time for each number of concurrent sessions, with the frame time as its limit. The page also shows the
 * values as text.
 * @param props.frameMs null: unknown
 */
export function CurveDrawing({ curve, frameMs }: { curve: Concurrency; frameMs: number | null }) {
  const { dots, limitY } = placesOf(curve, frameMs);
  return (
    <svg
      className={styles.drawing}
      viewBox={`0 0 ${CURVE_SIZE.width} ${CURVE_SIZE.height}`}
      aria-hidden="true"
    >
      {limitY !== null && (
        <line className={styles.limit} x1="0" x2={CURVE_SIZE.width} y1={limitY} y2={limitY} />
      )}
      <polyline className={styles.line} points={dots.map(({ x, y }) => `${x},${y}`).join(' ')} />
      {dots.map(({ x, y, passes }) => (
        <circle key={x} className={styles.dot} data-passes={passes} cx={x} cy={y} r="4" />
      ))}
    </svg>
  );
}
