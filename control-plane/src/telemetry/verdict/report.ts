/**
 * Describes the quality of a session to the person who used it, from the facts and the verdict of a window. Pure.
 * Source: docs/troubleshooting.md, "Verdicts".
 */
import { SECOND_MS } from '@footlight/platform';
import type { SessionReport, VerdictName } from '@footlight/protocol/rest';
import type { Evidence, Point, VerdictFacts } from './evidence.ts';
import type { Thresholds } from './thresholds.ts';

/**
 * Below this share of smooth seconds the person has seen uneven pictures, even if no rule matched. Chosen, not
 * measured.
 */
const MOSTLY_SMOOTH = 0.9;
/**
 * A shorter session without a found cause gets the text "too short"; a longer one without measurements gets the text
 * "too little was measured". Chosen, not measured.
 */
const SHORT_MS = 30 * SECOND_MS;

/** Maximum clicks per second that are counted, because a viewer may report any number. Chosen, not measured. */
const MAX_CLICKS = 100;

/**
 * What limited a session and what its owner can do about it, in words that people without technical knowledge
 * understand.
 */
type Words = Pick<SessionReport, 'limit' | 'remedy'>;

const WORDS: Record<Exclude<VerdictName, 'nominal' | 'unknown'>, Words> = {
  likely_network_congestion: {
    limit: 'The connection to this device lost data and answered slowly.',
    remedy:
      'Use a cable or move closer to the Wi-Fi, pause other downloads, or choose a quality with a lower bitrate.',
  },
  likely_encoder_saturation: {
    limit: 'The machine that ran the app could not make the picture fast enough.',
    remedy: 'Choose a lower quality. If it happens again, tell an administrator.',
  },
  likely_client_presentation_limit: {
    limit: 'The picture arrived in time, but this device showed it unevenly.',
    remedy:
      'Close other programs and tabs, turn on hardware acceleration in the browser, or choose another quality.',
  },
  indeterminate_client_hidden: {
    limit: 'The page was hidden for a part of the time, so its picture cannot be judged.',
    remedy: null,
  },
};

/**
 * @param verdict the verdict on the same facts
 * @returns undefined when the viewer received no picture in the window
 */
export function reportOf(
  verdict: VerdictName,
  facts: VerdictFacts,
  evidence: Evidence,
  limits: Thresholds,
): SessionReport | undefined {
  const received = (point: Point) => point.v > 0;
  if (!evidence.points('client.fps').some(received) && !evidence.points('client.present_n').some(received))
    return undefined;
  const playedMs = playedMsOf(facts);
  const { seconds, smooth } = countSeconds(evidence, limits);
  const { clicks, medianMs } = clickToPhoton(evidence);
  const share = seconds === 0 ? null : smooth / seconds;
  return {
    played_ms: playedMs,
    seconds,
    smooth_fraction: share,
    clicks,
    click_to_photon_ms: medianMs,
    ...wordsOf(verdict, share, playedMs),
  };
}

/**
 * Time between the start of the state `running` and the session's end; for a live session, until the end of the window.
 */
function playedMsOf({ startedAtMs, endedAtMs, window }: VerdictFacts): number | null {
  return startedAtMs === null ? null : Math.max(0, (endedAtMs ?? window.to_ms) - startedAtMs);
}

/**
 * Counts the seconds of a visible page after the warm-up, and the seconds without a hitch. A second with too few frames
 * for a deviation was not smooth: hosts send frames at a constant rate.
 */
function countSeconds(evidence: Evidence, limits: Thresholds): { seconds: number; smooth: number } {
  const hidden = valuesByTime(evidence.points('client.is_hidden'));
  const deviation = valuesByTime(evidence.points('client.present_interval_sd_ms'));
  const judged = evidence
    .points('client.present_n')
    .filter(({ ts_unix_ms }) => ts_unix_ms >= evidence.warmUntilMs && (hidden.get(ts_unix_ms) ?? 0) === 0);
  const smooth = judged.filter(({ ts_unix_ms }) => {
    const sigma = deviation.get(ts_unix_ms);
    return sigma !== undefined && sigma < limits.hitchMs;
  });
  return { seconds: judged.length, smooth: smooth.length };
}

/** The median over all clicks and key presses; each of them counts with the median value of its second. */
function clickToPhoton(evidence: Evidence): { clicks: number; medianMs: number | null } {
  const counts = valuesByTime(evidence.points('client.click_to_photon_n'));
  const times = evidence
    .points('client.click_to_photon_ms')
    .map(({ ts_unix_ms, v }) => ({ v, n: clicksOf(counts.get(ts_unix_ms)) }))
    .sort((a, b) => a.v - b.v);
  const clicks = times.reduce((sum, { n }) => sum + n, 0);
  let passed = 0;
  for (const { v, n } of times) {
    passed += n;
    if (passed * 2 >= clicks) return { clicks, medianMs: v };
  }
  return { clicks, medianMs: null };
}

const clicksOf = (count = 1): number => Math.min(MAX_CLICKS, Math.max(1, Math.trunc(count)));

const valuesByTime = (points: readonly Point[]): ReadonlyMap<number, number> =>
  new Map(points.map(({ ts_unix_ms, v }) => [ts_unix_ms, v]));

function wordsOf(verdict: VerdictName, share: number | null, playedMs: number | null): Words {
  const isShort = playedMs === null || playedMs < SHORT_MS;
  if (verdict === 'unknown' || (verdict === 'nominal' && (isShort || share === null)))
    return {
      limit: isShort ? 'It was too short to judge.' : 'Too little was measured to judge it.',
      remedy: null,
    };
  if (verdict !== 'nominal') return WORDS[verdict];
  if (share !== null && share < MOSTLY_SMOOTH)
    return {
      limit: 'Not all of it was smooth, and no single cause was found.',
      remedy: 'Tell an administrator at what time it happened. The measurements are stored only for a while.',
    };
  return { limit: 'The picture was smooth.', remedy: null };
}
