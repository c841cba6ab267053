/** Draws this close together belong to one picture, milliseconds: an app at 240 fps draws every 4. Chosen. */
const SAME_PICTURE_MS = 2;
/** Pictures from which a phase can be told (count): 20 fps in a window of 400 ms. Chosen, not measured. */
const MIN_PICTURES = 8;
/**
 * Concentration of the phases, 0 to 1, from which capture follows them. At 60 fps 0.7 is a deviation of 2.2 ms, with
 * which capture waits 5.5 ms after a draw; at a random phase it waits 8.3.
 */
const MIN_CONCENTRATION = 0.7;
/** Time from the end of a draw to its capture, beside the deviation of the draws, milliseconds. Chosen. */
const MARGIN_MS = 1;
/** Deviations by which capture keeps behind the mean draw: 97.5 % of them are over by then. */
const DEVIATIONS = 2;

/** Time of the last draw of each picture. Pure. @param drawnAtMs oldest first */
export function pictureEnds(drawnAtMs: readonly number[]): number[] {
  return drawnAtMs.filter(
    (atMs, i) => (drawnAtMs[i + 1] ?? Number.POSITIVE_INFINITY) - atMs > SAME_PICTURE_MS,
  );
}

/**
 * How much later capture has to run so that it follows the app's drawing closely: a picture drawn just after a
 * capture waits a whole frame for the next one. Pure.
 * @param positionsMs ends of draws, milliseconds after the capture before each
 * @param frameMs time between two captures
 * @returns milliseconds, from -frameMs / 2 to frameMs / 2; null: the app draws too seldom or at no steady phase
 */
export function captureShiftMs(positionsMs: readonly number[], frameMs: number): number | null {
  if (positionsMs.length < MIN_PICTURES) return null;
  const radians = (2 * Math.PI) / frameMs;
  let x = 0;
  let y = 0;
  for (const atMs of positionsMs) {
    x += Math.cos(atMs * radians) / positionsMs.length;
    y += Math.sin(atMs * radians) / positionsMs.length;
  }
  // The mean and the deviation of angles. Source: Mardia, Statistics of Directional Data, 2.2 and 2.4.
  const concentration = Math.min(1, Math.hypot(x, y));
  if (concentration < MIN_CONCENTRATION) return null;
  const meanMs = Math.atan2(y, x) / radians;
  const deviationMs = Math.sqrt(-2 * Math.log(concentration)) / radians;
  const laterMs = meanMs + MARGIN_MS + DEVIATIONS * deviationMs;
  return laterMs - frameMs * Math.round(laterMs / frameMs);
}
