import type { Eligibility, ProfileOffer, RatedLaunchProfile, Reason } from '@footlight/protocol/rest';
import { NEW_APP } from '../../catalog/index.ts';

/** Recommended profile for an unmeasured client; most clients can play it. */
const CONSERVATIVE_ID = '1080p60';

/** The fields of a launch profile that the recommendation needs. */
export interface Candidate {
  id: string;
  eligibility: Eligibility;
  /** Size, frame rate and bitrate of the first rung. */
  nominal: RatedLaunchProfile['nominal'];
}

/** Limits of a recommended stream. */
export interface StreamLimits {
  /** Throughput of the best host for one session, Mpixel/s; null: the throughput is unknown, so there is no limit. */
  encoderMpixelS: number | null;
  /** The app's own numbers; a number that is not set is null. null: there is no app, or it sets no numbers. */
  app: AppNumbers | null;
}

interface AppNumbers {
  mpixelS: number | null;
  bitrateKbps: number | null;
}

type LimitCode = 'host_encoder_limited' | 'app_size_limited';

/**
 * Selects the recommended launch profile from the visible ones, best first. A profile that exceeds the limits is
 * replaced by the best profile within them or, if there is none, by the one with the fewest pixels per second. Pure.
 * @param measured whether the caller's device has a fresh measurement
 * @returns recommended_id ("" if there are no profiles), and limitedBy with the limits that changed the recommendation.
 *   Source: docs/quality.md, "The recommendation".
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
  // An ineligible profile is never recommended, because its launch would be refused. A risky one is recommended only if
  // the confidence is low anyway.
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

/** Megapixels per second. */
const mpixelsOf = (size: { width: number; height: number; fps: number }): number =>
  (size.width * size.height * size.fps) / 1e6;

/**
 * The numbers that an administrator set for an app. The record does not say who set a number, so a number counts as set
 * if it differs from the default of a new app.
 * @returns null: no number is set
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

/**
 * Size, frame rate and bitrate of a chain's first rung, shown to people but not guaranteed. All zero for an empty
 * chain.
 */
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
  host_encoder_limited: 'The recommendation is limited to what the machines of this server can encode.',
  app_size_limited: "The recommendation is limited to the app's own picture size, frame rate and bitrate.",
};

export const noteOn = (code: LimitCode): Reason => ({ code, message: LIMIT_MESSAGES[code] });
