/**
 * Rules for judging a bench: reference and subject alternate within one run, and the order changes every round. The
 * first round is discarded. The result is the median of the ratios of all rounds.
 */
import { availableParallelism, loadavg } from 'node:os';
import { type TableRow, tableRow } from './table.ts';

export interface Round {
  readonly reference: number;
  readonly subject: number;
}

export type Judgement = {
  readonly bench: string;
  readonly rounds: number;
  readonly referenceMedian: number;
  readonly subjectMedian: number;
  readonly ratioMedian: number;
  readonly ratioMin: number;
  readonly ratioMax: number;
  /** Ratio of the largest to the smallest reference figure: above 1.5 the machine was too noisy to judge. */
  readonly referenceSpread: number;
  readonly verdict: 'met' | 'missed' | 'repeat';
  /** Unit of the medians, for example "ms"; absent = a plain number. */
  readonly unit?: string;
};

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Linear interpolation between the closest ranks; NaN for no values. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = (sorted.length - 1) * p;
  const low = sorted[Math.floor(rank)] ?? Number.NaN;
  const high = sorted[Math.ceil(rank)] ?? Number.NaN;
  return low + (high - low) * (rank - Math.floor(rank));
}

const NOISY_REFERENCE = 1.5;

/**
 * @param isMet whether the mark is met, given the medians of the ratio and of the subject
 * @param unit of reference and subject
 */
export function judge(
  bench: string,
  rounds: readonly Round[],
  isMet: (ratio: number, subject: number) => boolean,
  unit?: string,
): Judgement {
  const ratios = rounds.map((round) => round.subject / round.reference);
  const references = rounds.map((round) => round.reference);
  const subjects = rounds.map((round) => round.subject);
  const spread = Math.max(...references) / Math.min(...references);
  const met = isMet(median(ratios), median(subjects));
  return {
    bench,
    rounds: rounds.length,
    referenceMedian: round2(median(references)),
    subjectMedian: round2(median(subjects)),
    ratioMedian: round2(median(ratios)),
    ratioMin: round2(Math.min(...ratios)),
    ratioMax: round2(Math.max(...ratios)),
    referenceSpread: round2(spread),
    verdict: spread > NOISY_REFERENCE ? 'repeat' : met ? 'met' : 'missed',
    ...(unit === undefined ? {} : { unit }),
  };
}

export function round2(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Exit status of a bench: 0 met, 1 missed, 3 the reference itself varied too much. */
export function exitStatus(verdict: Judgement['verdict']): number {
  return { met: 0, missed: 1, repeat: 3 }[verdict];
}

export function printLine(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Prints a verdict as a JSON line and as a row of the table in docs/benches.md. */
export function printVerdict(verdict: TableRow): void {
  printLine(verdict);
  const machine = { cores: availableParallelism(), load: loadavg()[0] ?? 0 };
  process.stdout.write(`${tableRow(verdict, new Date(), machine)}\n`);
}

/**
 * Runs one discarded round and then `count` judged rounds, alternating the order. Prints one JSON line per round to
 * standard output.
 */
export async function alternate(
  count: number,
  measure: { reference: () => Promise<number[]>; subject: () => Promise<number[]> },
  names: readonly string[],
): Promise<Round[][]> {
  const kept: Round[][] = names.map(() => []);
  for (let i = 0; i <= count; i++) {
    const order = i % 2 === 0 ? (['reference', 'subject'] as const) : (['subject', 'reference'] as const);
    const figures: Partial<Record<'reference' | 'subject', number[]>> = {};
    for (const side of order) figures[side] = await measure[side]();
    const { reference = [], subject = [] } = figures;
    names.forEach((name, n) => {
      const line = {
        bench: name,
        round: i,
        discarded: i === 0,
        reference: round2(reference[n] ?? Number.NaN),
        subject: round2(subject[n] ?? Number.NaN),
      };
      printLine(line);
      if (i > 0) kept[n]?.push({ reference: reference[n] ?? Number.NaN, subject: subject[n] ?? Number.NaN });
    });
  }
  return kept;
}
