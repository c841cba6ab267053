/** Computes the stream of a placed launch from the GPU's encoder and the viewer: rung, codec and step down. Pure. */
import { type ProfileWithRungs, toSessionCodec } from '../../profiles/index.ts';
import type { Refusal, Refused } from '../launch/refusal.ts';
import type { AdmittedLaunch, BenchTerms } from '../launch/stages.ts';
import { type Certification, isOverCertified, nextLowerProfile } from '../placement/certification-cap.ts';
import { encodes, type HostAbilities, rungOfCodec, type ServedRung, walkRungs } from './rung-walk.ts';
import { resolveRungStream, resolveTierStream, type StreamPlan } from './stream.ts';

/** Encoding facts of the booked GPU. */
export interface ServingGpu extends HostAbilities {
  /** Certifications of the encoder that the host uses. */
  certifications: readonly Certification[];
}

/** The stream of a session, with its profile and rung. */
export interface ServedStream {
  stream: StreamPlan;
  /** The launch profile that is served, possibly lowered because of a certification; null: no profile applies. */
  profileId: string | null;
  rung: ServedRung | null;
}

/** Runs the checks on the requested codec and computes the final stream. */
export function serve(launch: AdmittedLaunch, gpu: ServingGpu, nowMs: number): ServedStream | Refused {
  const { app, profile, body, viewer } = launch;
  const { bench } = launch.terms;
  if (bench !== null) return benchStream(bench);
  const override = body.stream;
  if (profile === null) {
    const defaults = {
      width: app.default_width,
      height: app.default_height,
      fps: app.default_fps,
      bitrate_kbps: app.default_bitrate_kbps,
    };
    const stream = resolveTierStream(defaults, override, viewer);
    if (!encodes(gpu, stream.codec)) return { refusal: cannotEncode(stream.codec) };
    return { stream, profileId: null, rung: null };
  }
  const rung = resolve(launch, profile, gpu);
  if (rung === null) return { refusal: noRung(profile, override?.codec) };
  if (override?.codec !== undefined && !encodes(gpu, override.codec))
    return { refusal: cannotEncode(override.codec) };
  const served: ServedStream = {
    stream: resolveRungStream(rung.rung, override, viewer),
    profileId: profile.profile.id,
    rung,
  };
  return stepDown(launch, served, gpu, nowMs) ?? served;
}

/** The stream of a measurement: its rung at the requested bitrate, independent of host and viewer. */
function benchStream({ profileId, rung, bitrateKbps }: BenchTerms): ServedStream {
  return {
    stream: {
      width: rung.width,
      height: rung.height,
      fps: rung.fps,
      bitrate_kbps: bitrateKbps,
      abr_floor_kbps: 0,
      codec: toSessionCodec(rung.codec),
      h264_profile: 'constrained-baseline',
      playout0_ms: rung.playout0_ms,
    },
    profileId,
    rung: rungOfCodec([rung], toSessionCodec(rung.codec)),
  };
}

/** The rung of a profile for this launch and GPU; null: no rung has the requested codec. */
function resolve(
  { body, client }: AdmittedLaunch,
  { rungs }: ProfileWithRungs,
  gpu: HostAbilities,
): ServedRung | null {
  const codec = body.stream?.codec;
  return codec === undefined ? walkRungs(rungs, gpu, client) : rungOfCodec(rungs, codec);
}

/**
 * Steps down one profile if the encoder was measured as too slow for the served rung. It makes only one step, and does
 * not check the lower profile again.
 * @returns null: no step down
 */
function stepDown(
  launch: AdmittedLaunch,
  served: ServedStream,
  gpu: ServingGpu,
  nowMs: number,
): ServedStream | null {
  const { rung, profileId, stream } = served;
  if (launch.viewer.isAdmin || rung === null || profileId === null) return null;
  if (!isOverCertified(gpu.certifications, rung.rung.id, stream.bitrate_kbps, nowMs)) return null;
  const lower = oneBelow(launch, profileId);
  const lowerRung = lower && resolve(launch, lower, gpu);
  if (!lower || !lowerRung) return null;
  return {
    stream: resolveRungStream(lowerRung.rung, launch.body.stream, launch.viewer),
    profileId: lower.profile.id,
    rung: lowerRung,
  };
}

const oneBelow = ({ profiles }: AdmittedLaunch, profileId: string): ProfileWithRungs | undefined => {
  const id = nextLowerProfile(profileId);
  return profiles.find(({ profile }) => profile.id === id);
};

/** Ids of the rungs from which `serve` may choose. */
export function rungsInReach(launch: AdmittedLaunch): string[] {
  const { profile, terms } = launch;
  if (terms.bench !== null) return [terms.bench.rung.id];
  if (profile === null) return [];
  const chains = [profile, oneBelow(launch, profile.profile.id)];
  return chains.flatMap((chain) => chain?.rungs.map(({ id }) => id) ?? []);
}

/** Refusal for a chain without rungs, which only an old release could store. */
function noRung({ profile }: ProfileWithRungs, codec: string | undefined): Refusal {
  return codec === undefined
    ? { code: 'conflict', message: `${profile.display_name} has no rungs yet.` }
    : {
        code: 'validation_failed',
        message: `stream.codec: no rung of ${profile.display_name} is in ${codec}`,
      };
}

const cannotEncode = (codec: string): Refusal => ({
  code: 'conflict',
  message: `The host cannot encode ${codec}.`,
});
