// The output of scripts/certify. Pure.

/** @param {string[]} head @param {string[][]} rows @param {string} aligned `l` or `r` for each column */
export function table(head, rows, aligned) {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (/** @type {string[]} */ row) =>
    row
      .map((text, i) => (aligned[i] === 'r' ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** @param {number | undefined} value @param {number} digits */
const figure = (value, digits) => (value === undefined ? '' : value.toFixed(digits));

/** @param {readonly import('./sweep.mjs').SweepCell[]} cells */
export function verdictTable(cells) {
  return table(
    ['Rung', 'kbit/s', 'Verdict', 'p50 ms', 'p95 ms', 'fps', 'Drops', 'Rate changes', 'Samples', ''],
    cells.map(({ stream_profile_id, bitrate_kbps, outcome }) => [
      stream_profile_id,
      String(bitrate_kbps),
      outcome === null ? 'open' : outcome.kind === 'verdict' ? (outcome.verdict ?? '') : outcome.kind,
      figure(outcome?.encode_ms_p50, 1),
      figure(outcome?.encode_ms_p95, 1),
      figure(outcome?.output_fps, 1),
      figure(outcome?.drop_rate, 2),
      outcome?.live_write_stable === undefined ? '' : outcome.live_write_stable ? 'stable' : 'unstable',
      outcome?.sample_count === undefined ? '' : String(outcome.sample_count),
      outcome?.why ?? '',
    ]),
    'lrlrrrrlrl',
  );
}

/** @param {readonly {n: number, encode_ms_p95: number, output_fps: number}[]} curve @param {number} budgetMs */
export function curveTable(curve, budgetMs) {
  return table(
    ['At once', 'p95 ms', 'of the frame time', 'fps'],
    curve.map(({ n, encode_ms_p95, output_fps }) => [
      String(n),
      figure(encode_ms_p95, 1),
      `${Math.round((100 * encode_ms_p95) / budgetMs)} %`,
      figure(output_fps, 1),
    ]),
    'rrrr',
  );
}

/**
 * The line of the agent's environment that sets a GPU's number of slots.
 * @param {number} sessions number of concurrent sessions
 * @param {number} gpu index of the GPU
 * @param {boolean} isWhole whether one more session was measured and was too slow
 */
export function slotsAdvice(sessions, gpu, isWhole) {
  if (sessions === 0) return 'Not even one session keeps up; choose a smaller rung.';
  if (!isWhole)
    return `${sessions} at once keep up, and the encoder was not at its limit. For more than that, set SERVICE_ENCODE_SLOTS higher for the measurement (and --most), and measure again.`;
  return gpu === 0
    ? `Set SERVICE_ENCODE_SLOTS=${sessions} in the environment of the agent, and restart it.`
    : `Set ${sessions} as number ${gpu + 1} in the list of SERVICE_ENCODE_SLOTS of the agent, and restart it.`;
}
