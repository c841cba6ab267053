/** Lines and axes of a chart in the form that uPlot draws. */
import uPlot from 'uplot';
import type { Tone } from '../../../components/state-chip.tsx';
import { decimalLabel } from '../../../i18n/number-labels.ts';

export interface ChartPoint {
  x: number;
  y: number;
}
export interface ChartLine {
  /** In ascending order of x. */
  points: readonly ChartPoint[];
  /** Longest distance on the x axis between two points that the line joins; missing: any distance. */
  gap?: number;
  /** Draws the points and does not join them. */
  dots?: true;
  /** Colour; missing: by the position among the chart's lines. */
  tone?: Tone;
}

/** uPlot's mode in which a null interrupts a line up to its neighbouring values. */
const NULL_EXPAND = 2;

/**
 * One column of x values for all lines, and a column of y values for each line. undefined: the line has no point there.
 * null: the line is interrupted.
 */
export function alignedData(lines: readonly ChartLine[]): uPlot.AlignedData {
  if (lines.length === 0) return [[]];
  return uPlot.join(
    lines.map(columnsOf),
    lines.map(() => [0, NULL_EXPAND]),
  );
}

function columnsOf({ points, gap = Number.POSITIVE_INFINITY }: ChartLine): uPlot.AlignedData {
  const xs: number[] = [];
  const ys: (number | null)[] = [];
  for (const { x, y } of points) {
    const before = xs.at(-1);
    if (before !== undefined && x - before > gap) {
      xs.push((before + x) / 2);
      ys.push(null);
    }
    xs.push(x);
    ys.push(y);
  }
  return [xs, ys];
}

/** Indexes of the values between two gaps. A line does not show them, so they are drawn as dots. */
export function lonePoints(ys: ArrayLike<number | null | undefined>): number[] {
  const known = Array.from(ys, (y, index) => ({ y, index })).filter(({ y }) => y !== undefined);
  return known
    .filter(({ y }, n) => y !== null && known[n - 1]?.y == null && known[n + 1]?.y == null)
    .map(({ index }) => index);
}

/** Possible distances between two labels of an axis: 1, 2 and 5 times a power of ten times the smallest distance. */
export function axisSteps(smallest: number): number[] {
  return Array.from({ length: 12 }, (_, power) =>
    [1, 2, 5].map((digit) => digit * 10 ** power * smallest),
  ).flat();
}

/** Upper end of an axis that starts at 0. A limit, or a value above the usual end, gets room above it. */
export function axisEnd(
  { top = 1, limit = 0 }: { top?: number; limit?: number | undefined },
  largest: number | null | undefined,
): number {
  const most = Math.max(limit, largest ?? 0);
  return most > top ? most * 1.1 : top;
}

/**
 * Labels of an axis. The highest label names the unit, so that the labels stay short.
 * @param unitSize values in one unit
 */
export const unitLabels = (values: readonly number[], unit: string, unitSize: number): string[] =>
  values.map((value, n) => {
    const shown = value / unitSize;
    const label = decimalLabel(shown, Number.isInteger(shown) ? 0 : 1);
    return n === values.length - 1 ? `${label} ${unit}`.trimEnd() : label;
  });
