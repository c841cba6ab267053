/** Finds remarkable parts of a window for the diagnostic bundle (docs/recordings.md). Pure. */
import { conditionsOf, falsifierOf } from './conditions.ts';
import { evidenceOf, type Point, type VerdictFacts } from './evidence.ts';
import { thresholdsOf } from './thresholds.ts';

/** Times are epoch milliseconds. */
export interface DerivedWindows {
  /**
   * Runs of samples with hitches, each with the largest deviation; empty when there are too few hitches for the
   * verdict.
   */
  hitches: { from_ms: number; to_ms: number; present_interval_sd_ms: number }[];
  /** Each drop of the rate control's target, at the first sample with the lower target. */
  abr_downshifts: { ts_unix_ms: number; from_kbps: number; to_kbps: number }[];
  /** Runs of samples with an encoder over its ceiling, each with its largest encode time. */
  encoder_saturation: { from_ms: number; to_ms: number; encode_ms_p95: number }[];
  /** The whole window if the rule for network congestion matches, otherwise empty. */
  likely_network_congestion: {
    from_ms: number;
    to_ms: number;
    packets_lost_delta: number;
    rtt_ms_p95: number;
  }[];
}

/** @param facts the facts of the verdict, so that both use the same samples */
export function deriveWindows(facts: VerdictFacts): DerivedWindows {
  const evidence = evidenceOf(facts);
  const limits = thresholdsOf(facts.fps);
  const sigma = evidence.points('client.present_interval_sd_ms');
  const isHitch = ({ v }: Point) => v >= limits.hitchMs;
  const setpoints = evidence.points('abr.setpoint_kbps');
  const [lost, rtt] = conditionsOf(limits)
    .likely_network_congestion.filter(({ decides }) => decides)
    .map((condition) => falsifierOf(condition, evidence, limits));
  const { from_ms, to_ms } = facts.window;
  return {
    hitches:
      sigma.filter(isHitch).length < limits.hitches
        ? []
        : runsOf(sigma, isHitch).map(({ most, ...run }) => ({ ...run, present_interval_sd_ms: most })),
    abr_downshifts: setpoints.flatMap(({ ts_unix_ms, v }, n) => {
      const before = setpoints[n - 1]?.v ?? v;
      return v < before ? [{ ts_unix_ms, from_kbps: before, to_kbps: v }] : [];
    }),
    encoder_saturation: runsOf(
      evidence.points('encoder.encode_ms_p95'),
      ({ v }) => v >= limits.encodeCeilingMs,
    ).map(({ most, ...run }) => ({ ...run, encode_ms_p95: most })),
    likely_network_congestion:
      lost?.holds && rtt?.holds && lost.value !== null && rtt.value !== null
        ? [{ from_ms, to_ms, packets_lost_delta: lost.value, rtt_ms_p95: rtt.value }]
        : [],
  };
}

/** The longest parts of a series in which every point meets the condition, with their largest value. */
function runsOf(
  points: readonly Point[],
  isMet: (point: Point) => boolean,
): { from_ms: number; to_ms: number; most: number }[] {
  const runs: { from_ms: number; to_ms: number; most: number }[] = [];
  let isOpen = false;
  for (const point of points) {
    const run = isOpen ? runs.at(-1) : undefined;
    isOpen = isMet(point);
    if (!isOpen) continue;
    const { ts_unix_ms, v } = point;
    if (run === undefined) runs.push({ from_ms: ts_unix_ms, to_ms: ts_unix_ms, most: v });
    else {
      run.to_ms = ts_unix_ms;
      run.most = Math.max(run.most, v);
    }
  }
  return runs;
}
