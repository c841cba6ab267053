import type { Eligibility, ProfileOffer, RatedLaunchProfile, Reason } from '@footlight/protocol/rest';
import { NEW_APP } from '../../catalog/index.ts';

/** What is recommended to a client that was never measured: most can play it. */
const CONSERVATIVE_ID = '1080p60';

/** A launch profile as far as the recommendation looks at it. */
export interface Candidate {
  id: string;
  eligibility: Eligibility;
  /** Numbers of the first rung. */
  nominal: RatedLaunchProfile['nominal'];
}

/** What a stream should stay within. */
export interface StreamLimits {
  /** What the best host encodes for one session, Mpixel/s; null: not known, which limits nothing. */
  encoderMpixelS: number | null;
  /** The app's own numbers, each null where nobody set it; null: no app, or none of its numbers was set. */
  app: AppNumbers | null;
}

interface AppNumbers {
  mpixelS: number | null;
  bitrateKbps: number | null;
}

type LimitCode = 'host_encoder_limited' | 'app_size_limited';

/**
 * What to preselect out of the launch profiles that a caller is shown, best first. A profile beyond the limits gives
 * way to the best one within them, and where none is, to the one with the fewest pixels a second.
 * Pure.
 * @param measured whether there is a fresh measurement of the caller's device
 * @returns recommended_id is one of them, or "" when there is none; limitedBy says which limits changed it
 * Source: docs/profiles.md, "The recommendation".
 */
export function recommend(
  profiles: readonly Candidate[],
  measured: boolean,
  limits: StreamLimits,
): Pick<ProfileOffer, 'recommended_id' | 'confidence'> & { limitedBy: LimitCode[] } {
  const fitting = measured
    ? profiles.find(({ eligibility }) => eligibility === 'eligible')
    : profiles.find(({ id }) => id === CONSERVATIVE_ID);
  const unlimited = fitting ?? profiles.at(-1);
  const confidence = measured && fitting !== undefined ? 'high' : 'low';
  if (unlimited === undefined) return { recommended_id: '', confidence, limitedBy: [] };

  const exceeded = limitsExceeded(unlimited, limits);
  if (exceeded.length === 0) return { recommended_id: unlimited.id, confidence, limitedBy: [] };
  const withVerdict = (wanted: Eligibility) => profiles.filter(({ eligibility }) => eligibility === wanted);
  // Never an ineligible one: the launch would be refused. A risky one only where nothing else is sure either.
  const others = [...withVerdict('eligible'), ...(confidence === 'high' ? [] : withVerdict('risky'))];
  const chosen =
    others.find((profile) => limitsExceeded(profile, limits).length === 0) ??
    others.reduce(
      (least, one) => (mpixelsOf(one.nominal) < mpixelsOf(least.nominal) ? one : least),
      unlimited,
    );
  return { recommended_id: chosen.id, confidence, limitedBy: chosen === unlimited ? [] : exceeded };
}

function limitsExceeded({ nominal }: Candidate, { encoderMpixelS, app }: StreamLimits): LimitCode[] {
  const mpixels = mpixelsOf(nominal);
  const exceeded: LimitCode[] = [];
  if (mpixels > (encoderMpixelS ?? Infinity)) exceeded.push('host_encoder_limited');
  if (mpixels > (app?.mpixelS ?? Infinity) || nominal.bitrate_kbps > (app?.bitrateKbps ?? Infinity))
    exceeded.push('app_size_limited');
  return exceeded;
}

/** Megapixels a second. */
const mpixelsOf = (size: { width: number; height: number; fps: number }): number =>
  (size.width * size.height * size.fps) / 1e6;

/**
 * The numbers of an app that its administrator set. The record does not say who wrote a number, so a number counts as
 * set where it differs from the default of a new app.
 * @returns null: none was set
 */
export function numbersSetFor(
  app: Pick<typeof NEW_APP, 'default_width' | 'default_height' | 'default_fps' | 'default_bitrate_kbps'>,
): AppNumbers | null {
  const { default_width: width, default_height: height, default_fps: fps } = app;
  const hasOwnSize =
    width !== NEW_APP.default_width || height !== NEW_APP.default_height || fps !== NEW_APP.default_fps;
  const hasOwnBitrate = app.default_bitrate_kbps !== NEW_APP.default_bitrate_kbps;
  if (!hasOwnSize && !hasOwnBitrate) return null;
  return {
    mpixelS: hasOwnSize ? mpixelsOf({ width, height, fps }) : null,
    bitrateKbps: hasOwnBitrate ? app.default_bitrate_kbps : null,
  };
}

/** The first rung's numbers of a chain: advertised, not promised. Zeros for a chain without rungs. */
export function nominalOf(
  chain: readonly { width: number; height: number; fps: number; nominal_bitrate_kbps: number }[],
): RatedLaunchProfile['nominal'] {
  const first = chain[0];
  return {
    width: first?.width ?? 0,
    height: first?.height ?? 0,
    fps: first?.fps ?? 0,
    bitrate_kbps: first?.nominal_bitrate_kbps ?? 0,
  };
}

const LIMIT_MESSAGES: Readonly<Record<LimitCode, string>> = {
  host_encoder_limited:
    'The recommendation is limited to what the hosts can encode for one session while an app draws.',
  app_size_limited: "The recommendation is limited to the app's own picture size, frame rate and bitrate.",
};

export const noteOn = (code: LimitCode): Reason => ({ code, message: LIMIT_MESSAGES[code] });
