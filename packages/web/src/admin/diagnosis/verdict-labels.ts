/** Verdicts and their conditions for administrators. Pure. Source: docs/troubleshooting.md, "Verdicts". */
import type { Falsifier, SessionVerdict, VerdictName } from '@footlight/protocol/rest';
import type { Tone } from '../../components/state-chip.tsx';
import { localeTag, msg, t } from '../../i18n/translate.ts';

type JudgedVerdict = Pick<SessionVerdict, 'verdict' | 'falsifiers'>;

/** Note of the service on a value that means nothing while the page is hidden. */
const NOT_ASSESSABLE = 'not assessable while hidden';

/** The conditions that the rule of each verdict tests (docs/troubleshooting.md, "Verdicts"): series and estimator. */
const DECIDING: Readonly<Record<string, readonly string[]>> = {
  likely_network_congestion: ['transport.packets_lost delta', 'transport.rtt_ms p95'],
  likely_encoder_saturation: ['encoder.encode_ms_p95 p95', 'encoder.fps p10'],
  likely_client_presentation_limit: [
    'client.present_interval_sd_ms max',
    'client.present_interval_sd_ms count_ge_threshold',
    'encoder.fps p10',
    'client.is_hidden any',
  ],
  indeterminate_client_hidden: ['client.is_hidden any'],
};

export interface VerdictText {
  tone: Tone;
  /** What limited the session, in two or three words. */
  title: string;
  /** What an administrator can do about it. */
  remedy: string;
}

const TEXTS: Readonly<Record<VerdictName, VerdictText>> = {
  likely_network_congestion: {
    tone: 'warning',
    title: msg('Probably the network'),
    remedy: msg(
      'A wired or closer connection, a profile with a lower bitrate, less other traffic on the path, or rate control.',
    ),
  },
  likely_encoder_saturation: {
    tone: 'warning',
    title: msg('Probably the encoder'),
    remedy: msg(
      'Fewer sessions on this GPU, a smaller size or frame rate, a GPU encoder instead of software, or rate control that also reduces size and frame rate.',
    ),
  },
  likely_client_presentation_limit: {
    tone: 'warning',
    title: msg('Probably the viewer’s device'),
    remedy: msg(
      'Close other programs and tabs there, decode in hardware, or choose another codec or a frame rate that divides the refresh rate of the display.',
    ),
  },
  indeterminate_client_hidden: {
    tone: 'info',
    title: msg('The page was hidden'),
    remedy: msg('Choose a window in which the page was visible.'),
  },
  nominal: {
    tone: 'success',
    title: msg('Nothing limited it'),
    remedy: msg('If the person still complains, choose a window around the moment when it happened.'),
  },
  unknown: {
    tone: 'neutral',
    title: msg('Too little is known'),
    remedy: msg(
      'Choose a window in which the session ran and was watched. Samples are kept for a day after the end.',
    ),
  },
};

/** No rule matched, but a measured value is outside its bound. */
const NO_SINGLE_LIMIT: VerdictText = {
  tone: 'info',
  title: msg('No single limit found'),
  remedy: msg(
    'A limit is named only if all its conditions are true together, for example slow encoding and a low frame rate. The conditions that are not true show where to look.',
  ),
};

/** A newer service may send verdicts without a label in this page; such a verdict is shown unchanged. */
export function verdictLabel({ verdict, falsifiers }: JudgedVerdict): VerdictText {
  if (!Object.hasOwn(TEXTS, verdict))
    return { tone: 'info', title: verdict.replaceAll('_', ' '), remedy: '' };
  const isMixed =
    verdict === 'nominal' && falsifiers.some((each) => conditionResult(each).tone === 'warning');
  const { tone, title, remedy } = isMixed ? NO_SINGLE_LIMIT : TEXTS[verdict as VerdictName];
  return { tone, title: t(title), remedy: t(remedy) };
}

/**
 * A text for an administrator: whether a condition holds. If the value cannot be judged, the condition neither holds
 * nor fails.
 */
export function conditionResult({ holds, value, note }: Falsifier): { tone: Tone; label: string } {
  if (holds) return { tone: 'success', label: t('Holds') };
  if (note === NOT_ASSESSABLE) return { tone: 'neutral', label: t('Not assessed') };
  return value === null
    ? { tone: 'neutral', label: t('Not measured') }
    : { tone: 'warning', label: t('Does not hold') };
}

/** Whether the rule of the verdict tests the condition; the other conditions are only shown for comparison. */
export const decides = (verdict: string, { name, estimator }: Falsifier): boolean =>
  Object.hasOwn(DECIDING, verdict) && DECIDING[verdict]?.includes(`${name} ${estimator}`) === true;

export const TIER_LABELS: Readonly<Record<SessionVerdict['evidence_tier'], string>> = {
  full: msg('host and viewer, on one clock'),
  host_only: msg('the host; the viewer is missing or its clock was not compared'),
  client_only: msg('the viewer alone'),
  insufficient: msg('too few samples of both'),
};

const SERIES: Readonly<Record<string, string>> = {
  'transport.packets_lost': msg('Lost packets'),
  'transport.rtt_ms': msg('Round trip'),
  'encoder.encode_ms_p95': msg('Encoding of a frame'),
  'encoder.fps': msg('Frames of the host'),
  'client.present_interval_sd_ms': msg('Unevenness of frames'),
  'client.is_hidden': msg('Page hidden'),
  'client.present_long_frames': msg('Long frames in a second'),
  'client.present_beat_fraction': msg('Share of doubled frames'),
};
const ESTIMATORS: Readonly<Record<Falsifier['estimator'], string>> = {
  p10: msg('lowest tenth'),
  p95: msg('95th percentile'),
  max: msg('largest'),
  delta: msg('in the window'),
  mean: msg('mean'),
  any: msg('at any time'),
  count_ge_threshold: msg('seconds at or over the limit'),
};

/** The condition that the page was never hidden. Its values say "hidden", which a reader would take for the result. */
const isAlwaysShown = ({ name, op, threshold }: Falsifier): boolean =>
  name === 'client.is_hidden' && op === '==' && threshold === 0;

/** "Round trip, 95th percentile" */
export const conditionLabel = (each: Falsifier): string =>
  isAlwaysShown(each)
    ? t('Page shown the whole time')
    : `${t(SERIES[each.name] ?? each.name)}, ${t(ESTIMATORS[each.estimator] ?? each.estimator)}`;

/** The measured value of a condition in its unit. */
export const measuredLabel = (each: Falsifier): string =>
  figureLabel(isAlwaysShown(each) && each.value !== null ? 1 - each.value : each.value, each.unit);

const NOTES: Readonly<Record<string, string>> = {
  'no samples': msg('no samples'),
  'not assessable while hidden': msg('not assessable while hidden'),
  informative: msg('informative'),
};

/** A remark of the service on a condition; a remark that this page does not know is shown unchanged. */
export const noteLabel = (note: string): string => t(NOTES[note] ?? note);

/** A value in its unit; null: not measured. */
export function figureLabel(value: number | null, unit: Falsifier['unit']): string {
  if (value === null) return t('not measured');
  if (unit === 'bool') return value === 0 ? t('no') : t('yes');
  const rounded = value.toLocaleString(localeTag(), { maximumFractionDigits: 2, useGrouping: false });
  return unit === 'ms' || unit === 'fps' ? `${rounded} ${unit}` : rounded;
}

const OPERATORS: Readonly<Record<Falsifier['op'], string>> = {
  '>=': msg('at least'),
  '<=': msg('at most'),
  '>': msg('more than'),
  '<': msg('less than'),
  '==': '',
};

/** "more than 5", "at least 16 ms" */
export const boundLabel = (each: Falsifier): string =>
  isAlwaysShown(each)
    ? t('yes')
    : `${t(OPERATORS[each.op] ?? each.op)} ${figureLabel(each.threshold, each.unit)}`.trim();

/** The measured difference between the clocks of host and viewer. */
export function clockLabel(clock: SessionVerdict['clock']): string {
  const { offset_ms, uncertainty_ms, age_ms } = clock;
  if (clock.quality === 'unmeasured' || offset_ms === undefined)
    return t('not compared; the times of the viewer are as its browser reported them');
  const off = Math.round(Math.abs(offset_ms));
  const time = off < 1000 ? `${off} ms` : `${Math.round(off / 100) / 10} s`;
  const relation =
    off === 0
      ? t('in step')
      : offset_ms < 0
        ? t('the viewer {time} ahead', { time })
        : t('the viewer {time} behind', { time });
  const ms = Math.round((uncertainty_ms ?? 0) * 10) / 10;
  if (age_ms === undefined) return `${relation}, ±${ms} ms`;
  return t('{relation}, ±{ms} ms, compared {age} s before the end of the window', {
    relation,
    ms,
    age: Math.round(age_ms / 1000),
  });
}
