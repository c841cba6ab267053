import type { SessionVerdict } from '@footlight/protocol/rest';
import { IconChartLine } from '@tabler/icons-react';
import { type PointerEvent, useMemo } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { decimalLabel } from '../../i18n/number-labels.ts';
import { msg, rich, t } from '../../i18n/translate.ts';
import { Chart, ChartKey } from '../frame/chart/chart.tsx';
import { type ChartProps, PLOT_INSET } from '../frame/chart/plot-options.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { ListTable } from '../frame/lists/list-table.tsx';
import {
  CHARTS,
  drawnLines,
  HIDDEN_SERIES,
  type Line,
  placeOf,
  pointsOf,
  type SeriesByName,
  type SeriesChart,
  type Span,
  tableOf,
  trueSpans,
  valueAt,
} from './chart-model.ts';
import styles from './diagnosis.module.css';
import { eventLabel, type TraceEvent, toneOf } from './event-labels.ts';
import { keyed } from './event-list.tsx';
import { axisTimeLabel, timeLabel } from './time-labels.ts';

/** Rows of the table: each is a quarter of a minute in a window of five minutes. */
const TABLE_ROWS = 20;
const SECOND_MS = 1_000;

/**
 * Series of a window on one time axis, with one cursor for all charts, which the pointer and the slider move.
 * @param props.cursorMs the moment whose values are shown
 */
export function SeriesCharts(props: {
  window: Span;
  series: SeriesByName;
  events: readonly TraceEvent[];
  falsifiers: SessionVerdict['falsifiers'];
  cursorMs: number;
  onCursor: (ms: number) => void;
}) {
  const { window, series, events, falsifiers, cursorMs, onCursor } = props;
  const hidden = useMemo(
    () =>
      trueSpans(series[HIDDEN_SERIES] ?? []).map(({ from_ms, to_ms }) => ({
        from: from_ms - SECOND_MS,
        to: to_ms,
      })),
    [series],
  );
  const marks = useMemo(
    () => events.map((event) => ({ at: event.ts_unix_ms, tone: toneOf(event) })),
    [events],
  );
  const drawn = CHARTS.filter(({ lines }) => lines.some(({ name }) => (series[name]?.length ?? 0) > 0));
  if (drawn.length === 0) {
    return (
      <EmptyState icon={IconChartLine} title={t('Nothing was measured in this window')}>
        {t(
          'The host and the viewer’s browser send samples while somebody watches the session. Samples of an ended session are kept for a day.',
        )}
      </EmptyState>
    );
  }
  const shared = {
    from: window.from_ms,
    to: window.to_ms,
    bands: hidden,
    marks,
    cursor: cursorMs,
    onCursor: (ms: number | undefined) => ms !== undefined && onCursor(ms),
  };
  const placeInPlot = (ms: number) => `${100 * placeOf(ms, window)}%`;
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
    onCursor(Math.round(window.from_ms + share * (window.to_ms - window.from_ms)));
  };
  return (
    <div className={styles.charts}>
      <div className={styles.lane}>
        <span className={styles.laneName}>{t('Events')}</span>
        <div style={PLOT_INSET} aria-hidden="true">
          <div className={styles.events} onPointerMove={follow} onPointerDown={follow}>
            {keyed(events).map(({ key, event }) => (
              <span
                key={key}
                className={styles.mark}
                data-tone={toneOf(event)}
                style={{ left: placeInPlot(event.ts_unix_ms) }}
                title={eventLabel(event)}
              />
            ))}
            <span className={styles.cursorLine} style={{ left: placeInPlot(cursorMs) }} />
          </div>
        </div>
      </div>
      {drawn.map((measure, n) => (
        <OneChart
          key={measure.label}
          measure={measure}
          series={series}
          shared={shared}
          limit={boundOf(measure, falsifiers)}
          isLast={n === drawn.length - 1}
        />
      ))}
      <div className={styles.axis}>
        <p className={styles.cursor}>
          {rich('Values at {time}', {
            time: (
              <b key="time" className="tabular">
                {timeLabel(cursorMs)}
              </b>
            ),
          })}
        </p>
        <div style={PLOT_INSET}>
          <input
            type="range"
            aria-label={t('Time in the window')}
            aria-valuetext={timeLabel(cursorMs)}
            min={window.from_ms}
            max={window.to_ms}
            step={SECOND_MS}
            value={Math.min(window.to_ms, Math.max(window.from_ms, cursorMs))}
            onChange={(event) => onCursor(Number(event.currentTarget.value))}
          />
        </div>
      </div>
      {hidden.length > 0 && <p className={styles.legend}>{t('Shaded: the page was hidden.')}</p>}
      <Disclosure label={t('The same as a table')}>
        <ValueTable window={window} series={series} drawn={drawn} />
      </Disclosure>
    </div>
  );
}

function boundOf({ bound }: SeriesChart, falsifiers: SessionVerdict['falsifiers']): number | undefined {
  if (bound === undefined) return undefined;
  return falsifiers.find(
    // Threshold 0: the condition only shows the value and has no limit.
    ({ name, estimator, threshold }) => name === bound.name && estimator === bound.estimator && threshold > 0,
  )?.threshold;
}

/** One chart with its values at the cursor. */
function OneChart(props: {
  measure: SeriesChart;
  series: SeriesByName;
  shared: Pick<ChartProps, 'from' | 'to' | 'bands' | 'marks' | 'cursor' | 'onCursor'>;
  limit: number | undefined;
  /** The charts share one time axis, below the last chart. */
  isLast: boolean;
}) {
  const { measure, series, shared, limit, isLast } = props;
  const lines = useMemo(() => drawnLines(measure, series), [measure, series]);
  return (
    <figure className={styles.chart}>
      <figcaption>
        <span className={styles.chartName}>{t(measure.label)}</span>
        {measure.lines.map((line, n) => {
          const points = pointsOf(line, series);
          return (
            points.length > 0 && (
              <span key={line.name} className={styles.value}>
                <ChartKey line={n} />
                <span className={styles.valueName}>{t(line.label)}</span>
                <b>{valueLabel(valueAt(line, points, shared.cursor ?? 0), measure)}</b>
              </span>
            )
          );
        })}
      </figcaption>
      <Chart
        {...shared}
        className={isLast ? styles.lastPlot : styles.plot}
        lines={lines}
        limit={limit}
        axes={{
          unit: measure.unit,
          step: 10 ** -measure.digits,
          ...(isLast && { x: axisTimeLabel }),
        }}
      />
    </figure>
  );
}

function ValueTable(props: { window: Span; series: SeriesByName; drawn: readonly SeriesChart[] }) {
  const shown = props.drawn.flatMap((chart) =>
    chart.lines
      .filter(({ name }) => (props.series[name]?.length ?? 0) > 0)
      .map((line): { chart: SeriesChart; line: Line } => ({ chart, line })),
  );
  const rows = tableOf(
    shown.map(({ line }) => line),
    props.series,
    props.window,
    TABLE_ROWS,
  );
  return (
    <ListTable
      label={t('Means over the window')}
      columns={[
        { head: msg('From'), cell: ({ from_ms }) => timeLabel(from_ms) },
        ...shown.map(({ chart, line }, n) => ({
          head: `${t(chart.label)}${chart.lines.length > 1 ? `, ${t(line.label)}` : ''}`,
          translated: true as const,
          kind: 'number' as const,
          cell: ({ means }: (typeof rows)[number]) => valueLabel(means[n], chart),
        })),
      ]}
      rows={rows}
      rowKey={({ from_ms }) => from_ms}
    />
  );
}

const valueLabel = (value: number | undefined, { digits, unit }: SeriesChart): string =>
  value === undefined ? '–' : `${decimalLabel(value, digits)} ${unit}`;
