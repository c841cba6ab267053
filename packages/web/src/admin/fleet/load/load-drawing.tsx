import { useMemo } from 'react';
import { t } from '../../../i18n/translate.ts';
import type { Span } from '../../diagnosis/chart-model.ts';
import { axisTimeLabel } from '../../diagnosis/time-labels.ts';
import { Chart } from '../../frame/chart/chart.tsx';
import { LOAD_GAP_MS, type LoadChart, type LoadWindow } from './load-model.ts';

/**
 * The lines of a chart over its window. The page also shows the values as text.
 * @param props.onCursor missing: the chart is too small for axes and a cursor
 */
export function LoadDrawing(props: {
  className: string | undefined;
  chart: LoadChart;
  span: Span;
  shown: LoadWindow;
  cursor?: number | undefined;
  onCursor?: (ms: number | undefined) => void;
}) {
  const { chart, span, shown, onCursor } = props;
  // The same array while the cursor moves, because the chart is drawn again for other lines.
  const lines = useMemo(
    () => chart.lines.map((line) => ({ ...line, gap: LOAD_GAP_MS[shown] })),
    [chart.lines, shown],
  );
  return (
    <Chart
      className={props.className}
      lines={lines}
      from={span.from_ms}
      to={span.to_ms}
      top={chart.top}
      {...(onCursor !== undefined && {
        cursor: props.cursor,
        onCursor,
        axes: { ...chart.axis, x: axisTimeLabel },
      })}
    />
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
