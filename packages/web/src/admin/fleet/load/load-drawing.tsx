import { t } from '../../../i18n/translate.ts';
import { type Line, pathOf, type Span } from '../../diagnosis/chart-model.ts';
import styles from './load.module.css';
import type { LoadChart, LoadWindow } from './load-model.ts';

/** Units of the drawing. The drawing is stretched to its box, but its lines keep their width. */
const SIZE = { width: 300, height: 60 };
/**
 * As in other series of a host, more than two missing samples are a gap. Longer windows have one sample for each minute.
 */
const LINES: Readonly<Record<LoadWindow, Line>> = {
  minutes: { name: 'host.load', label: '' },
  hour: { name: 'host.load', label: '', gapMs: 150_000 },
};

/** The lines of a chart over its window. The page also shows the values as text. */
export function LoadDrawing(props: { chart: LoadChart; span: Span; shown: LoadWindow }) {
  const { chart, span, shown } = props;
  return (
    <svg
      className={styles.drawing}
      viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {chart.lines.map(({ label, points }, n) => {
        const path = pathOf(LINES[shown], points, span, chart.top, SIZE);
        return <path key={label} className={styles.line} data-line={n % 4} d={path} />;
      })}
    </svg>
  );
}

/** The newest values of a chart. */
export function ChartNow({ chart: { now, spoken } }: { chart: LoadChart }) {
  if (spoken === undefined) return now ?? t('not measured');
  return (
    <>
      <span aria-hidden="true">{now}</span>
      <span className="visually-hidden">{spoken}</span>
    </>
  );
}
