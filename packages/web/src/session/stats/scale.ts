/** Scales of the graphs. Pure. */

/** Round steps of a scale within a power of ten. */
const STEPS = [1, 2, 5, 10] as const;
/** Largest number of lines in a graph. More lines would be unreadable at its height. */
const MAX_LINES = 3;

/**
 * Marked values of an axis from 0, ascending. The last value is the upper end of the axis. @param most largest value to
 * show
 */
export function scaleOf(most: number): number[] {
  const wanted = Number.isFinite(most) && most > 0 ? most : 1;
  const power = 10 ** Math.floor(Math.log10(wanted / MAX_LINES));
  const step = (STEPS.find((each) => wanted / (each * power) <= MAX_LINES) ?? 10) * power;
  const lines = Math.max(1, Math.ceil(wanted / step - 1e-9));
  return Array.from({ length: lines + 1 }, (_, line) => Number((line * step).toPrecision(6)));
}

/**
 * The line of a graph as an SVG path. The newest value is at the right edge. A missing value is a gap, never a zero.
 */
export function pathOf(
  values: readonly (number | undefined)[],
  { width, height, slots, top }: { width: number; height: number; slots: number; top: number },
): string {
  let pen = 'M';
  let path = '';
  for (const [index, value] of values.entries()) {
    if (value === undefined) {
      pen = 'M';
      continue;
    }
    const x = width - ((values.length - 1 - index) * width) / (slots - 1);
    const y = height - (Math.min(top, Math.max(0, value)) / top) * height;
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = 'L';
  }
  return path;
}
