import type { SessionVerdict } from '@footlight/protocol/rest';
import { IconChartLine } from '@tabler/icons-react';
import type { PointerEvent } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { decimalLabel } from '../../i18n/number-labels.ts';
import { msg, rich, t } from '../../i18n/translate.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { ListTable } from '../frame/lists/list-table.tsx';
import {
  CHARTS,
  type Chart,
  HIDDEN_SERIES,
  type Line,
  pathOf,
  placeOf,
  pointsOf,
  type SeriesByName,
  type Span,
  tableOf,
  topOf,
  trueSpans,
  valueAt,
} from './chart-model.ts';
import styles from './diagnosis.module.css';
import { eventLabel, type TraceEvent, toneOf } from './event-labels.ts';
import { keyed } from './event-list.tsx';
import { timeLabel } from './time-labels.ts';

/** Units of the drawing. The drawing is stretched to its box, but its lines keep their width. */
const SIZE = { width: 1_000, height: 64 };
/** Rows of the table: each is a quarter of a minute in a window of five minutes. */
const TABLE_ROWS = 20;
const TICKS = 5;
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
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
    onCursor(Math.round(window.from_ms + share * (window.to_ms - window.from_ms)));
  };
  const hidden = trueSpans(series[HIDDEN_SERIES] ?? []);
  return (
    <div className={styles.charts}>
      <div className={styles.lane}>
        <span className={styles.laneName}>{t('Events')}</span>
        <Plot onPointer={follow} window={window} cursorMs={cursorMs} hidden={hidden} low>
          {keyed(events).map(({ key, event }) => (
            <path
              key={key}
              className={styles.mark}
              data-tone={toneOf(event)}
              d={`M${placeOf(event.ts_unix_ms, window) * SIZE.width} 8V${SIZE.height - 8}`}
            >
              <title>{eventLabel(event)}</title>
            </path>
          ))}
        </Plot>
      </div>
      {drawn.map((chart) => (
        <OneChart
          key={chart.label}
          chart={chart}
          window={window}
          series={series}
          hidden={hidden}
          cursorMs={cursorMs}
          bound={boundOf(chart, falsifiers)}
          onPointer={follow}
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
        <div className={styles.axisPlot}>
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
          <div className={styles.ticks} aria-hidden="true">
            {Array.from({ length: TICKS }, (_, n) => {
              const ms = window.from_ms + (n * (window.to_ms - window.from_ms)) / (TICKS - 1);
              return <span key={ms}>{timeLabel(ms)}</span>;
            })}
          </div>
        </div>
      </div>
      {hidden.length > 0 && <p className={styles.legend}>{t('Shaded: the page was hidden.')}</p>}
      <Disclosure label={t('The same as a table')}>
        <ValueTable window={window} series={series} drawn={drawn} />
      </Disclosure>
    </div>
  );
}

function boundOf({ bound }: Chart, falsifiers: SessionVerdict['falsifiers']): number | undefined {
  if (bound === undefined) return undefined;
  return falsifiers.find(
    // Threshold 0: the condition only shows the value and has no limit.
    ({ name, estimator, threshold }) => name === bound.name && estimator === bound.estimator && threshold > 0,
  )?.threshold;
}

function OneChart(props: {
  chart: Chart;
  window: Span;
  series: SeriesByName;
  hidden: readonly Span[];
  cursorMs: number;
  bound: number | undefined;
  onPointer: (event: PointerEvent<HTMLElement>) => void;
}) {
  const { chart, window, series, bound, cursorMs } = props;
  const lines = chart.lines.map((line) => ({ line, points: pointsOf(line, series) }));
  const top = topOf([...lines.flatMap(({ points }) => points.map(({ v }) => v)), bound ?? 0]);
  return (
    <figure className={styles.chart}>
      <figcaption>
        <span className={styles.chartName}>{t(chart.label)}</span>
        {lines.map(
          ({ line, points }, n) =>
            points.length > 0 && (
              <span key={line.name} className={styles.value}>
                <i className={styles.key} data-line={n} aria-hidden="true" />
                <span className={styles.valueName}>{t(line.label)}</span>
                <b>{valueLabel(valueAt(line, points, cursorMs), chart)}</b>
              </span>
            ),
        )}
      </figcaption>
      <Plot
        onPointer={props.onPointer}
        window={window}
        cursorMs={cursorMs}
        hidden={props.hidden}
        top={`${top} ${t(chart.unit)}`}
      >
        {bound !== undefined && (
          <path
            className={styles.bound}
            d={`M0 ${SIZE.height - (bound / top) * SIZE.height}H${SIZE.width}`}
          />
        )}
        {lines.map(({ line, points }, n) => (
          <path
            key={line.name}
            className={styles.line}
            data-line={n}
            data-dots={line.dots ?? false}
            d={pathOf(line, points, window, top, SIZE)}
          />
        ))}
      </Plot>
    </figure>
  );
}

/** The drawing of one chart. Its values are also shown as text and in the table, for screen readers. */
function Plot(props: {
  window: Span;
  cursorMs: number;
  hidden: readonly Span[];
  onPointer: (event: PointerEvent<HTMLElement>) => void;
  top?: string;
  low?: true;
  children: React.ReactNode;
}) {
  const { window } = props;
  return (
    <div
      className={styles.plot}
      data-low={props.low ?? false}
      onPointerMove={props.onPointer}
      onPointerDown={props.onPointer}
    >
      <svg viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} preserveAspectRatio="none" aria-hidden="true">
        {props.hidden.map((span) => {
          const from = placeOf(span.from_ms - SECOND_MS, window) * SIZE.width;
          return (
            <rect
              key={span.from_ms}
              className={styles.hidden}
              x={from}
              width={Math.max(1, placeOf(span.to_ms, window) * SIZE.width - from)}
              height={SIZE.height}
            />
          );
        })}
        {props.children}
        <path
          className={styles.cursorLine}
          d={`M${placeOf(props.cursorMs, window) * SIZE.width} 0V${SIZE.height}`}
        />
      </svg>
      {props.top !== undefined && <span className={styles.top}>{props.top}</span>}
    </div>
  );
}

function ValueTable(props: { window: Span; series: SeriesByName; drawn: readonly Chart[] }) {
  const shown = props.drawn.flatMap((chart) =>
    chart.lines
      .filter(({ name }) => (props.series[name]?.length ?? 0) > 0)
      .map((line): { chart: Chart; line: Line } => ({ chart, line })),
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

const valueLabel = (value: number | undefined, { digits, unit }: Chart): string =>
  value === undefined ? '–' : `${decimalLabel(value, digits)} ${t(unit)}`;
