import { type Line, pathOf, type Span } from '../../diagnosis/chart-model.ts';
import styles from './load.module.css';
import type { LoadChart } from './load-model.ts';

/** Units of the drawing. The drawing is stretched to its box, but its lines keep their width. */
const SIZE = { width: 300, height: 60 };
/** Largest gap that a line joins. As in other series of a host, more than two missing samples are a gap. */
const HOST_LINE: Line = { name: 'host.load', label: '' };

/** The lines of a chart over its window. The page also shows the values as text. */
export function LoadDrawing({ chart, span }: { chart: LoadChart; span: Span }) {
  return (
    <svg
      className={styles.drawing}
      viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {chart.lines.map(({ label, points }, n) => {
        const path = pathOf(HOST_LINE, points, span, chart.top, SIZE);
        return <path key={label} className={styles.line} data-line={n % 4} d={path} />;
      })}
    </svg>
  );
}
