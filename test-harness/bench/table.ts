/** Verdict of a bench, with the figures behind it. */
export type TableRow = { bench: string; verdict: string } & Record<string, unknown>;

/** The machine when the bench ended. */
export interface Machine {
  cores: number;
  /** Load average of the last minute. */
  load: number;
}

/** Keys that have a column of their own. */
const OWN_COLUMN = new Set(['bench', 'rounds', 'verdict', 'mark', 'unit', 'ratioMin', 'ratioMax']);

/**
 * One row of docs/benches.md: bench, figure, spread, reference, date, machine. A verdict that compares a subject with
 * a reference shows the subject and the median of the ratios; any other verdict shows all its figures.
 */
export function tableRow(verdict: TableRow, today: Date, machine: Machine): string {
  const unit = verdict.unit === undefined ? '' : ` ${verdict.unit}`;
  const isCompared = 'ratioMedian' in verdict && 'referenceMedian' in verdict;
  const figure = isCompared
    ? `${verdict.subjectMedian}${unit}, ${verdict.ratioMedian} of the reference`
    : Object.entries(verdict)
        .filter(([key]) => !OWN_COLUMN.has(key))
        .map(([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
        .join(', ');
  const spread = [
    ...(isCompared ? [`${verdict.ratioMin} to ${verdict.ratioMax}`] : []),
    ...(verdict.rounds === undefined ? [] : [`${verdict.rounds} rounds`]),
  ].join('; ');
  const reference = [
    ...(isCompared ? [`${verdict.referenceMedian}${unit}, varied by ${verdict.referenceSpread}`] : []),
    `mark${verdict.mark === undefined ? '' : ` ${verdict.mark}`}: ${verdict.verdict}`,
  ].join('; ');
  const where = `${machine.cores} cores, load ${machine.load.toFixed(1)}`;
  const cells = [`\`${verdict.bench}\``, figure, spread, reference, today.toISOString().slice(0, 10), where];
  return `| ${cells.join(' | ')} |`;
}
