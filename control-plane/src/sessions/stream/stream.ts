/**
 * Computes picture and sound of a session from the request, the rung or tier, and the placed host. Pure.
 * Source: docs/sessions.md, "Quality".
 */
import type { Codec, H264Profile } from '@footlight/protocol';
import type { StreamProfile } from '@footlight/protocol/rest';
import type { ProbeFacts } from '../../accounts/index.ts';
import { toSessionCodec } from '../../profiles/index.ts';
import { chooseTier } from '../placement/tiers.ts';

/** Stream fields of a launch request. */
export interface StreamOverride {
  width?: number | undefined;
  height?: number | undefined;
  fps?: number | undefined;
  bitrate_kbps?: number | undefined;
  h264_profile?: H264Profile | undefined;
  codec?: Codec | undefined;
}

/** A stream before the encoder's limits are applied. */
export interface StreamPlan {
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
  /** Lowest bitrate of the rate control, kbit/s; 0: the agent's default applies. */
  abr_floor_kbps: number;
  codec: Codec;
  h264_profile: H264Profile;
  playout0_ms: number;
}

/** Upper limits for a person's override, and defaults for missing fields. */
export interface StreamBounds {
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
}

/** The launching person and client. */
export interface Viewer {
  isAdmin: boolean;
  /** Whether the launching client declares itself as native. */
  isNative: boolean;
  /** null: the device was never measured, or the measurement is too old. */
  probe: ProbeFacts | null;
}

/** Share of the measured bandwidth for video. Source: docs/sessions.md, "Quality". */
const BANDWIDTH_SHARE_PERCENT = 70;
/**
 * Largest playout delay of the wire format (RTP extension playout-delay has 12 bits of 10 ms; the schema allows 2 s).
 */
const MAX_PLAYOUT_MS = 2_000;

/** Whether the request changes size, frame rate, bitrate or H.264 profile; a codec alone does not count. */
export const isEnvelopeOverride = (override: StreamOverride | undefined): boolean =>
  override !== undefined &&
  (override.width !== undefined ||
    override.height !== undefined ||
    override.fps !== undefined ||
    override.bitrate_kbps !== undefined ||
    override.h264_profile !== undefined);

/** Applies the override to the base. A person's override can only lower values; an administrator's is unlimited. */
function shape(
  base: StreamBounds,
  bounds: StreamBounds,
  override: StreamOverride | undefined,
  isAdmin: boolean,
): StreamBounds {
  const field = (name: keyof StreamBounds): number => {
    const requested = override?.[name];
    if (requested === undefined) return base[name];
    return isAdmin ? requested : Math.min(requested, bounds[name]);
  };
  return {
    width: field('width'),
    height: field('height'),
    fps: field('fps'),
    bitrate_kbps: field('bitrate_kbps'),
  };
}

/** The stream without a launch profile: the tier, limited by the app's defaults, with the override applied. */
export function resolveTierStream(
  app: StreamBounds,
  override: StreamOverride | undefined,
  viewer: Pick<Viewer, 'isAdmin' | 'probe'>,
): StreamPlan {
  const tier = chooseTier(viewer.probe);
  const capped = {
    width: Math.min(tier.width, app.width),
    height: Math.min(tier.height, app.height),
    fps: Math.min(tier.fps, app.fps),
    bitrate_kbps: Math.min(tier.bitrate_kbps, app.bitrate_kbps),
  };
  const shaped = shape(capped, app, override, viewer.isAdmin);
  return {
    ...shaped,
    abr_floor_kbps: Math.min(tier.floor_kbps, shaped.bitrate_kbps),
    codec: override?.codec ?? 'h264',
    h264_profile: override?.h264_profile ?? 'constrained-baseline',
    playout0_ms: tier.playout0_ms,
  };
}

/** The stream of a rung with the override applied, limited by the viewer's measured bandwidth. */
export function resolveRungStream(
  rung: StreamProfile,
  override: StreamOverride | undefined,
  viewer: Viewer,
): StreamPlan {
  const bounds = {
    width: rung.width,
    height: rung.height,
    fps: rung.fps,
    bitrate_kbps: rung.nominal_bitrate_kbps,
  };
  const shaped = shape(bounds, bounds, override, viewer.isAdmin);
  const overridden = isEnvelopeOverride(override);
  const envelope = viewer.isAdmin || overridden ? UNLIMITED : probeEnvelope(viewer.probe);
  const bitrate_kbps = Math.min(shaped.bitrate_kbps, envelope.max_bitrate_kbps);
  return {
    ...shaped,
    bitrate_kbps,
    abr_floor_kbps: Math.min(rung.abr_floor_kbps, bitrate_kbps),
    codec: toSessionCodec(rung.codec),
    h264_profile:
      override?.h264_profile ??
      (!overridden && decodesNatively(rung.h264_profile, viewer)
        ? rung.h264_profile
        : 'constrained-baseline'),
    playout0_ms: Math.min(rung.playout0_ms + envelope.extra_playout_ms, MAX_PLAYOUT_MS),
  };
}

interface ProbeEnvelope {
  max_bitrate_kbps: number;
  extra_playout_ms: number;
}

const UNLIMITED: ProbeEnvelope = { max_bitrate_kbps: Number.POSITIVE_INFINITY, extra_playout_ms: 0 };

/** Limits from the measured network; an unmeasured value sets no limit. */
function probeEnvelope(probe: Viewer['probe']): ProbeEnvelope {
  if (probe === null) return UNLIMITED;
  const { bandwidth_kbps, rtt_ms } = probe;
  return {
    max_bitrate_kbps:
      bandwidth_kbps === null
        ? UNLIMITED.max_bitrate_kbps
        : Math.floor((bandwidth_kbps * BANDWIDTH_SHARE_PERCENT) / 100),
    extra_playout_ms: rtt_ms === null || rtt_ms <= 15 ? 0 : rtt_ms <= 50 ? 25 : 50,
  };
}

/**
 * Whether a native client decodes this profile: a profile in its list or, without a list, main. Browsers get the
 * profile that all of them decode.
 */
function decodesNatively(profile: H264Profile, { isNative, probe }: Viewer): boolean {
  if (!isNative || probe?.client_type !== 'native') return false;
  return probe.h264_profiles === null ? profile === 'main' : probe.h264_profiles.includes(profile);
}

const PROFILES_DOWN: readonly H264Profile[] = ['high', 'main', 'constrained-baseline'];

/**
 * The wanted H.264 profile, or the next lower one that the encoder supports.
 * @param offered profiles of the placed GPU's encoder; null or []: unknown, which results in constrained baseline
 */
export function lowerH264Profile(wanted: H264Profile, offered: readonly H264Profile[] | null): H264Profile {
  const from = PROFILES_DOWN.indexOf(wanted);
  return PROFILES_DOWN.slice(from).find((profile) => offered?.includes(profile)) ?? 'constrained-baseline';
}

type Size = readonly [width: number, height: number];

const LADDERS: readonly { ratios: readonly Size[]; sizes: readonly Size[] }[] = [
  {
    ratios: [[16, 9]],
    sizes: [
      [3840, 2160],
      [2560, 1440],
      [1920, 1080],
      [1600, 900],
      [1280, 720],
    ],
  },
  {
    ratios: [[8, 5]],
    sizes: [
      [2560, 1600],
      [1920, 1200],
      [1680, 1050],
      [1440, 900],
      [1280, 800],
    ],
  },
  {
    ratios: [
      [43, 18],
      [64, 27],
      [7, 3],
    ],
    sizes: [
      [3440, 1440],
      [2560, 1080],
    ],
  },
  {
    ratios: [[4, 3]],
    sizes: [
      [1600, 1200],
      [1280, 960],
      [1024, 768],
    ],
  },
];

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * Sizes that a running session may use: the launch size first, then smaller sizes of its aspect ratio's ladder. Other
 * aspect ratios have only the launch size.
 */
export function rungsOf(width: number, height: number): [number, number][] {
  const divisor = gcd(width, height);
  const ratio: Size = [width / divisor, height / divisor];
  const ladder = LADDERS.find(({ ratios }) => ratios.some(([w, h]) => w === ratio[0] && h === ratio[1]));
  const below = (ladder?.sizes ?? []).filter(
    ([w, h]) => w <= width && h <= height && !(w === width && h === height),
  );
  return [[width, height], ...below.map(([w, h]): [number, number] => [w, h])];
}
