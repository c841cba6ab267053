import type uPlot from 'uplot';
import type { Tone } from '../../../components/state-chip.tsx';
import { axisEnd, axisSteps, type ChartLine, lonePoints, unitLabels } from './chart-lines.ts';

/**
 * Space next to the plot, px: on the left for the labels of the y axis, on the right for half a label of the x axis.
 * Equal in all charts, so that the same time is at the same place. Parts above and below charts use it too.
 */
export const PLOT_INSET = { paddingLeft: 68, paddingRight: 24 };

export interface ChartProps {
  /** Sets the height. */
  className?: string | undefined;
  lines: readonly ChartLine[];
  /** Ends of the x axis; times in ms since 1970. */
  from: number;
  to: number;
  /** Upper end of the y axis, unless a value or the limit is above it; missing: 1. */
  top?: number;
  /** Missing: lines only. */
  axes?: ChartAxes;
  /** A value that should not be exceeded; drawn as a dashed line. */
  limit?: number | undefined;
  /** Shaded parts of the x axis. */
  bands?: readonly { from: number; to: number }[];
  /** Vertical lines. */
  marks?: readonly { at: number; tone: Tone }[];
  /** Place of the cursor on the x axis. */
  cursor?: number | undefined;
  /** Called with the place of the pointer, and with undefined when the pointer leaves. Missing: no cursor. */
  onCursor?: (x: number | undefined) => void;
}

export interface ChartAxes {
  /** Unit of the labels of the y axis; empty: a number of things. */
  unit: string;
  /** Values of the lines in one unit, for example 1,024 for MB and labels in GB; missing: 1. */
  unitSize?: number;
  /** Smallest distance between two labels, in the unit. */
  step: number;
  /** Label of a place on the x axis; missing: no labels. @param step distance between two labels */
  x?: (value: number, step: number) => string;
  /** Smallest distance between two labels of an axis of numbers; missing: an axis of times. */
  xStep?: number;
}

const LINE_TONES: readonly Tone[] = ['info', 'neutral', 'success', 'warning'];
const DOT_PX = 6;
const LABEL_PX = 12;
/** Smallest distance between labels, px: the longest time is 70 px wide. */
const LABEL_SPACE = { x: 75, y: 15 };
/** A sample at most this far from the cursor, px, is marked with a dot. */
const CURSOR_REACH_PX = 20;
const X_LABELS_HEIGHT = 24;
const MINUTE_MS = 60_000;
/** Windows are at most an hour long. */
const TIME_STEPS_MS = [1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2, 5, 10, 15, 20, 30].map(
  (minutes) => minutes * MINUTE_MS,
);

/**
 * Options of a plot in a box. uPlot reads most values only once, so the plot is made again when the number of lines, the
 * colours or the labelled axes change.
 * @param latest the current properties
 */
export function plotOptions(box: HTMLElement, latest: () => ChartProps): uPlot.Options {
  const css = getComputedStyle(box);
  const color = (name: string) => css.getPropertyValue(`--fl-${name}`);
  const { axes, lines, onCursor } = latest();
  return {
    width: box.clientWidth,
    height: box.clientHeight,
    ms: 1,
    legend: { show: false },
    padding: axes === undefined ? [2, 2, 2, 2] : [8, PLOT_INSET.paddingRight, axes.x ? 0 : 8, 0],
    scales: {
      x: { time: axes?.xStep === undefined, range: () => [latest().from, latest().to] },
      y: { range: (_plot, _min, max) => [0, axisEnd(latest(), max)] },
    },
    series: [{}, ...lines.map((line, n) => seriesOf(line, n, color))],
    axes: axes === undefined ? [{ show: false }, { show: false }] : axesOf(axes, css, color),
    cursor: {
      show: onCursor !== undefined,
      y: false,
      points: { size: DOT_PX },
      hover: { prox: CURSOR_REACH_PX },
    },
    hooks: {
      drawAxes: [(plot) => drawBackground(plot, latest(), color)],
      draw: [(plot) => placeCursor(plot, latest().cursor)],
    },
  };
}

function seriesOf(line: ChartLine, n: number, color: (name: string) => string): uPlot.Series {
  const tone = line.tone ?? LINE_TONES[n % LINE_TONES.length];
  const stroke = color(`${tone}-text`);
  if (line.dots)
    return { stroke, paths: () => null, points: { show: true, size: DOT_PX, width: 0, fill: stroke } };
  return {
    stroke,
    width: 1.75,
    cap: 'round',
    // Two lines of one chart differ without colours too.
    ...(tone === 'neutral' && { dash: [1, 4] }),
    points: {
      show: false,
      filter: (plot, index) => lonePoints(plot.data[index] ?? []),
      size: DOT_PX,
      width: 0,
      fill: stroke,
    },
  };
}

function axesOf(
  { x, xStep, unit, unitSize = 1, step }: ChartAxes,
  css: CSSStyleDeclaration,
  color: (name: string) => string,
): uPlot.Axis[] {
  const common = {
    font: `${LABEL_PX}px ${css.fontFamily}`,
    stroke: color('dim'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
    gap: 6,
  };
  return [
    {
      ...common,
      size: x === undefined ? 0 : X_LABELS_HEIGHT,
      space: xStep === undefined ? LABEL_SPACE.x : LABEL_SPACE.y,
      incrs: xStep === undefined ? TIME_STEPS_MS : axisSteps(xStep),
      values: (_plot, splits, _axis, _space, distance) => splits.map((value) => x?.(value, distance) ?? null),
    },
    {
      ...common,
      size: PLOT_INSET.paddingLeft,
      space: LABEL_SPACE.y,
      incrs: axisSteps(step * unitSize),
      values: (_plot, splits) => unitLabels(splits, unit, unitSize),
    },
  ];
}

/** Draws shaded parts, marks and the limit: over the lines of the axes, below the lines of the chart. */
function drawBackground(
  plot: uPlot,
  { bands = [], marks = [], limit }: ChartProps,
  color: (name: string) => string,
): void {
  const { ctx, bbox } = plot;
  const px = devicePixelRatio;
  const xOf = (x: number) => plot.valToPos(x, 'x', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = color('hover');
  for (const { from, to } of bands) ctx.fillRect(xOf(from), bbox.top, xOf(to) - xOf(from), bbox.height);
  ctx.globalAlpha = 0.5;
  for (const { at, tone } of marks) {
    ctx.fillStyle = color(`${tone}-text`);
    ctx.fillRect(Math.round(xOf(at) - px / 2), bbox.top, px, bbox.height);
  }
  ctx.globalAlpha = 1;
  if (limit !== undefined) {
    const y = Math.round(plot.valToPos(limit, 'y', true)) + px / 2;
    ctx.strokeStyle = color('warning-text');
    ctx.lineWidth = px;
    ctx.setLineDash([6 * px, 4 * px]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

/** Shows the cursor at a place on the x axis; undefined: hides it. */
export function placeCursor(plot: uPlot, x: number | undefined): void {
  plot.setCursor({ left: x === undefined ? -10 : plot.valToPos(x, 'x'), top: 0 }, false);
}
