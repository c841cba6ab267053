/**
 * The conditions of each verdict, as data: conditions that its rule tests, and conditions that are only shown. Pure.
 * Source: docs/troubleshooting.md, "Verdicts".
 */
import type { Estimator, Falsifier, VerdictName } from '@footlight/protocol/rest';
import { estimate } from './estimators.ts';
import type { Evidence, SeriesName } from './evidence.ts';
import { HIDES } from './judged-events.ts';
import type { Thresholds } from './thresholds.ts';

/** A verdict that a rule gives. */
export type RuledVerdict = Exclude<VerdictName, 'unknown'>;

/** A value that conditions compare. */
interface Measure {
  name: SeriesName;
  estimator: Estimator;
  unit: Falsifier['unit'];
}
export interface Condition extends Measure {
  op: Falsifier['op'];
  threshold: number;
  /** Whether the rule tests the condition; other conditions are only shown with their values. */
  decides: boolean;
  note?: string;
}

const LOST = { name: 'transport.packets_lost', estimator: 'delta', unit: 'count' } as const;
const RTT = { name: 'transport.rtt_ms', estimator: 'p95', unit: 'ms' } as const;
const ENCODE = { name: 'encoder.encode_ms_p95', estimator: 'p95', unit: 'ms' } as const;
const HOST_FPS = { name: 'encoder.fps', estimator: 'p10', unit: 'fps' } as const;
const SIGMA = { name: 'client.present_interval_sd_ms', estimator: 'max', unit: 'ms' } as const;
const HITCHES = {
  name: 'client.present_interval_sd_ms',
  estimator: 'count_ge_threshold',
  unit: 'count',
} as const;
const HIDDEN = { name: 'client.is_hidden', estimator: 'any', unit: 'bool' } as const;
const LONG_FRAMES = { name: 'client.present_long_frames', estimator: 'max', unit: 'count' } as const;
const BEATS = { name: 'client.present_beat_fraction', estimator: 'max', unit: 'fraction' } as const;

/**
 * A condition with this note never counts as met: a hidden page presents no frames, so its figures do not show the
 * quality of the path.
 */
const NOT_ASSESSABLE = 'not assessable while hidden';
const NO_SAMPLES = 'no samples';

/** The conditions of every verdict with a rule, in the order in which they are shown. */
export function conditionsOf(limits: Thresholds): Record<RuledVerdict, readonly Condition[]> {
  const tests = (measure: Measure, op: Condition['op'], threshold: number): Condition => {
    return { ...measure, op, threshold, decides: true };
  };
  const shows = (measure: Measure, op: Condition['op'], threshold: number, note?: string): Condition => {
    return { ...measure, op, threshold, decides: false, ...(note !== undefined && { note }) };
  };
  const calmNetwork = [shows(LOST, '<=', limits.lostPackets), shows(RTT, '<=', limits.rttMs)];
  const evenFrames = [shows(LONG_FRAMES, '==', 0), shows(BEATS, '<=', 1)];
  return {
    likely_network_congestion: [
      tests(LOST, '>', limits.lostPackets),
      tests(RTT, '>', limits.rttMs),
      shows(ENCODE, '<', limits.encodeCeilingMs),
      shows(HIDDEN, '==', 0),
    ],
    likely_encoder_saturation: [
      tests(ENCODE, '>=', limits.encodeCeilingMs),
      tests(HOST_FPS, '<', limits.steadyFps),
      ...calmNetwork,
    ],
    likely_client_presentation_limit: [
      tests(SIGMA, '>=', limits.hitchMs),
      tests(HITCHES, '>=', limits.hitches),
      tests(HOST_FPS, '>=', limits.steadyFps),
      ...calmNetwork,
      tests(HIDDEN, '==', 0),
      ...evenFrames,
    ],
    indeterminate_client_hidden: [
      tests(HIDDEN, '==', 1),
      shows(SIGMA, '<', limits.hitchMs, NOT_ASSESSABLE),
      shows(HOST_FPS, '>=', limits.steadyFps),
      ...calmNetwork,
    ],
    nominal: [
      shows(HOST_FPS, '>=', limits.steadyFps),
      shows(ENCODE, '<', limits.encodeCeilingMs),
      ...calmNetwork,
      shows(HITCHES, '<', limits.hitches),
      shows(SIGMA, '>=', 0, 'informative'),
      shows(HIDDEN, '==', 0),
      ...evenFrames,
    ],
  };
}

const HOLDS: Record<Condition['op'], (value: number, threshold: number) => boolean> = {
  '>=': (value, threshold) => value >= threshold,
  '<=': (value, threshold) => value <= threshold,
  '>': (value, threshold) => value > threshold,
  '<': (value, threshold) => value < threshold,
  '==': (value, threshold) => value === threshold,
};

/**
 * A condition with the measured value. Without a measured value the condition does not hold, so a rule with a missing
 * input does not match.
 */
export function falsifierOf(condition: Condition, evidence: Evidence, limits: Thresholds): Falsifier {
  const { name, estimator, op, threshold, unit, note } = condition;
  const values = valuesOf(name, evidence);
  const value = estimate(estimator, values, limits.hitchMs);
  const shown = note === NOT_ASSESSABLE || value !== null ? note : NO_SAMPLES;
  return {
    name,
    estimator,
    value,
    op,
    threshold,
    unit,
    n: value === null ? 0 : values.length,
    holds: value !== null && note !== NOT_ASSESSABLE && HOLDS[op](value, threshold),
    ...(shown !== undefined && { note: shown }),
  };
}

/** Each event that reports a hidden page counts as one more hidden sample. */
function valuesOf(name: SeriesName, evidence: Evidence): number[] {
  const values = evidence.points(name).map(({ v }) => v);
  if (name === HIDDEN.name) for (const _ of hidingEvents(evidence)) values.push(1);
  return values;
}

/**
 * Events that report that the page became hidden. An event that reports a visible page shows only that the page was
 * hidden before, so it is ignored.
 */
export const hidingEvents = ({ events }: Evidence) =>
  events.filter(
    ({ source, type, payload }) => source === 'browser' && type === HIDES && payload.hidden === true,
  );
