/**
 * Decides what limited a session in a window: the first rule whose conditions are met gives the verdict. Pure: the same
 * facts give the same answer, byte for byte. Source: docs/troubleshooting.md, "Verdicts".
 */
import type { SessionVerdict, VerdictName } from '@footlight/protocol/rest';
import { type Condition, conditionsOf, falsifierOf, hidingEvents, type RuledVerdict } from './conditions.ts';
import { type Evidence, evidenceOf, type VerdictFacts } from './evidence.ts';
import { costOfPath, reasonOf, remarksOn } from './reason.ts';
import { reportOf } from './report.ts';
import { THRESHOLDS_VERSION, type Thresholds, thresholdsOf } from './thresholds.ts';

/** The rules in order; the first match decides, and the last one always matches. */
const RULES: readonly {
  verdict: RuledVerdict;
  /** Additional test that must succeed in addition to the conditions. */
  also?: (evidence: Evidence, limits: Thresholds) => boolean;
}[] = [
  { verdict: 'likely_network_congestion' },
  { verdict: 'likely_encoder_saturation' },
  {
    verdict: 'likely_client_presentation_limit',
    also: (evidence, limits) => !hitchesWithHost(evidence, limits),
  },
  { verdict: 'indeterminate_client_hidden' },
  { verdict: 'nominal' },
];

/** Judges a window. @param stored facts; a series without points may be left out */
export function decideVerdict(facts: VerdictFacts): SessionVerdict {
  const evidence = evidenceOf(facts);
  const limits = thresholdsOf(facts.fps);
  const conditions = conditionsOf(limits);
  const verdict = evidence.tier === 'insufficient' ? 'unknown' : firstMatch(conditions, evidence, limits);
  const falsifiers =
    verdict === 'unknown'
      ? []
      : conditions[verdict].map((condition) => falsifierOf(condition, evidence, limits));
  const remarks = remarksOn(evidence.events);
  const report = reportOf(verdict, facts, evidence, limits);
  return {
    verdict,
    reason: reasonOf(verdict, falsifiers, evidence, remarks, costOfPath(facts.path, falsifiers)),
    evidence: [
      ...new Set([
        ...decidingSeries(verdict, conditions, evidence),
        ...eventsBehind(verdict, evidence),
        ...remarks.map(({ type }) => type),
      ]),
    ],
    window: evidence.window,
    clock: evidence.clock,
    evidence_tier: evidence.tier,
    falsifiers,
    thresholds_version: THRESHOLDS_VERSION,
    ...(facts.path !== null && { path: facts.path }),
    ...(report !== undefined && { report }),
  };
}

function firstMatch(
  conditions: Record<RuledVerdict, readonly Condition[]>,
  evidence: Evidence,
  limits: Thresholds,
): RuledVerdict {
  const holds = (condition: Condition) => falsifierOf(condition, evidence, limits).holds;
  const rule = RULES.find(
    ({ verdict, also }) =>
      conditions[verdict].filter(({ decides }) => decides).every(holds) && (also?.(evidence, limits) ?? true),
  );
  return rule?.verdict ?? 'nominal';
}

/**
 * Whether a hitch of the viewer is simultaneous with a slow sample of the host; then the host is the cause. This can
 * only be decided if the clocks were compared.
 */
function hitchesWithHost(evidence: Evidence, limits: Thresholds): boolean {
  const { toleranceMs } = evidence;
  if (toleranceMs === null) return false;
  const slow = evidence.points('encoder.fps').filter(({ v }) => v < limits.steadyFps);
  return evidence
    .points('client.present_interval_sd_ms')
    .some(
      ({ v, ts_unix_ms }) =>
        v >= limits.hitchMs && slow.some((host) => Math.abs(host.ts_unix_ms - ts_unix_ms) <= toleranceMs),
    );
}

/** Types of the events behind a verdict. Faults are remarks and decide nothing. */
function eventsBehind(verdict: VerdictName, evidence: Evidence): string[] {
  return verdict === 'indeterminate_client_hidden' ? hidingEvents(evidence).map(({ type }) => type) : [];
}

/**
 * Series behind a verdict, in the order in which the rules read them. For nominal these are all series that were
 * measured.
 */
function decidingSeries(
  verdict: VerdictName,
  conditions: Record<RuledVerdict, readonly Condition[]>,
  evidence: Evidence,
): string[] {
  if (verdict === 'unknown') return [];
  const read = verdict === 'nominal' ? RULES.map((rule) => rule.verdict) : [verdict];
  const names = read.flatMap((each) =>
    conditions[each].filter(({ decides }) => decides).map(({ name }) => name),
  );
  // Skip the series `client.is_hidden` if no sample is hidden: the page may have reported this only with an event.
  const speaks = (v: number) => verdict !== 'indeterminate_client_hidden' || v !== 0;
  return names.filter((name) => evidence.points(name).some(({ v }) => speaks(v)));
}
