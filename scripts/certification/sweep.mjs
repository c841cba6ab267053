// Rules of a sweep: selects the next cell, skips cells, and estimates the remaining time. Pure.

/**
 * @typedef {object} Cell  a planned cell
 * @property {string} profile_id
 * @property {string} stream_profile_id
 * @property {string} codec
 * @property {number} bitrate_kbps
 *
 * @typedef {object} Outcome
 * @property {'verdict' | 'skipped' | 'refused'} kind
 * @property {string} [verdict]
 * @property {number} [encode_ms_p50]
 * @property {number} [encode_ms_p95]
 * @property {number} [output_fps]
 * @property {number} [drop_rate]
 * @property {boolean} [live_write_stable]
 * @property {number} [sample_count]
 * @property {string} [why]
 *
 * @typedef {Cell & {outcome: Outcome | null}} SweepCell
 */

/**
 * Time to start and end the session of a cell, in addition to its dwell time. On a machine without a GPU it was 3 s.
 */
export const AROUND_MS = 3_000;

/**
 * Returns the next cell to measure. Sets the outcome of cells that need no measurement.
 * @param {SweepCell[]} cells in their order
 * @returns {SweepCell | null} null: the sweep is complete
 */
export function nextCell(cells) {
  for (const cell of cells) {
    if (cell.outcome !== null) continue;
    const unsafe = cells.find(
      (other) =>
        other.stream_profile_id === cell.stream_profile_id &&
        other.bitrate_kbps < cell.bitrate_kbps &&
        other.outcome?.verdict === 'unsafe',
    );
    if (unsafe === undefined) return cell;
    cell.outcome = { kind: 'skipped', why: `unsafe at ${unsafe.bitrate_kbps} kbit/s` };
  }
  return null;
}

/**
 * @param {readonly SweepCell[]} cells
 * @param {number} dwellMs
 * @param {readonly number[]} tookMs times of the measured cells
 * @returns {number} milliseconds for the cells without an outcome; the real time is less if some of them are skipped
 */
export function remainingMs(cells, dwellMs, tookMs) {
  const open = cells.filter(({ outcome }) => outcome === null).length;
  const mean = tookMs.length === 0 ? dwellMs + AROUND_MS : tookMs.reduce((a, b) => a + b, 0) / tookMs.length;
  return open * mean;
}

/**
 * Whether concurrent sessions passed: every session encodes within the frame time and drops almost no frames.
 * @param {readonly {encode_ms_p95: number, output_fps: number, drop_rate: number}[]} verdicts
 * @param {number} fps
 */
export function passes(verdicts, fps) {
  return verdicts.every(({ encode_ms_p95, drop_rate }) => encode_ms_p95 <= 1000 / fps && drop_rate <= 0.05);
}

/** @param {readonly {encode_ms_p95: number, output_fps: number}[]} verdicts of concurrent sessions */
export const slowest = (verdicts) => ({
  n: verdicts.length,
  encode_ms_p95: Math.max(...verdicts.map(({ encode_ms_p95 }) => encode_ms_p95)),
  output_fps: Math.min(...verdicts.map(({ output_fps }) => output_fps)),
});

/** A duration as text. @param {number} ms */
export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
