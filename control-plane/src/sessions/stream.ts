/**
 * What picture and sound a session gets: from the launch request, the app's defaults and the host it was placed on.
 * Pure.
 */
import type { Codec, H264Profile } from '@footlight/protocol';

/** The stream members that a launch request may carry. */
export interface StreamOverride {
  width?: number | undefined;
  height?: number | undefined;
  fps?: number | undefined;
  bitrate_kbps?: number | undefined;
  h264_profile?: H264Profile | undefined;
  codec?: Codec | undefined;
}

/** A stream as it will run, before the encoder's limits are known. */
export interface StreamPlan {
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
  /** Lowest rate that the rate control may go to. */
  abr_floor_kbps: number;
  codec: Codec;
  h264_profile: H264Profile;
  playout0_ms: number;
}

/** What the last network and decoder measurement of a device said. null = not measured. */
export interface ProbeFacts {
  bandwidth_kbps: number | null;
  rtt_ms: number | null;
  decode_height: number | null;
}

export interface AppDefaults {
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
}

interface Tier extends AppDefaults {
  id: string;
  floor_kbps: number;
  playout0_ms: number;
  /** Least measured bandwidth, besides 1.5 times the rate. */
  min_bandwidth_kbps: number;
  max_rtt_ms: number | null;
  min_decode_height: number | null;
}

/** Without a profile in force: best first, the first that passes serves. */
const LEGACY_TIERS: readonly Tier[] = [
  {
    id: '1080p60-lan',
    width: 1920,
    height: 1080,
    fps: 60,
    bitrate_kbps: 12_000,
    floor_kbps: 4_000,
    playout0_ms: 50,
    min_bandwidth_kbps: 25_000,
    max_rtt_ms: 10,
    min_decode_height: null,
  },
  {
    id: '1080p60',
    width: 1920,
    height: 1080,
    fps: 60,
    bitrate_kbps: 8_000,
    floor_kbps: 2_500,
    playout0_ms: 50,
    min_bandwidth_kbps: 12_000,
    max_rtt_ms: null,
    min_decode_height: 1_080,
  },
  {
    id: '720p60',
    width: 1280,
    height: 720,
    fps: 60,
    bitrate_kbps: 5_000,
    floor_kbps: 1_500,
    playout0_ms: 75,
    min_bandwidth_kbps: 8_000,
    max_rtt_ms: null,
    min_decode_height: null,
  },
  {
    id: '720p30',
    width: 1280,
    height: 720,
    fps: 30,
    bitrate_kbps: 3_000,
    floor_kbps: 1_000,
    playout0_ms: 100,
    min_bandwidth_kbps: 0,
    max_rtt_ms: null,
    min_decode_height: null,
  },
];

/** What serves while nothing was measured. */
const UNMEASURED_TIER = '1080p60';

/** Below this a bandwidth figure is an accident of the measurement, not a line. */
const MIN_MEASURED_KBPS = 100;

/**
 * The legacy tier for a device.
 * @param probe null = the device was never measured
 */
export function chooseLegacyTier(probe: ProbeFacts | null): Tier {
  const byId = (id: string): Tier => LEGACY_TIERS.find((tier) => tier.id === id) as Tier;
  if (probe === null) return byId(UNMEASURED_TIER);
  return LEGACY_TIERS.find((tier) => passes(tier, probe)) ?? byId('720p30');
}

function passes(tier: Tier, probe: ProbeFacts): boolean {
  if (tier.id === '720p30') return true;
  const measured = probe.bandwidth_kbps !== null && probe.bandwidth_kbps >= MIN_MEASURED_KBPS;
  if (tier.max_rtt_ms !== null && (!measured || probe.rtt_ms === null || probe.rtt_ms > tier.max_rtt_ms))
    return false;
  if (
    measured &&
    (probe.bandwidth_kbps as number) < Math.max(1.5 * tier.bitrate_kbps, tier.min_bandwidth_kbps)
  )
    return false;
  if (tier.min_decode_height === null || probe.decode_height === null) return true;
  return probe.decode_height >= tier.min_decode_height;
}

/** Whether the request shapes the picture itself; naming a codec alone does not. */
export const isEnvelopeOverride = (override: StreamOverride | undefined): boolean =>
  override !== undefined &&
  (override.width !== undefined ||
    override.height !== undefined ||
    override.fps !== undefined ||
    override.bitrate_kbps !== undefined ||
    override.h264_profile !== undefined);

/**
 * The stream where no profile is in force: override over tier, the tier capped by the app's defaults.
 * A person's override only lowers what the app allows; an administrator's stands as it is.
 */
export function resolveLegacyStream(
  app: AppDefaults,
  override: StreamOverride | undefined,
  isAdmin: boolean,
  probe: ProbeFacts | null,
): StreamPlan {
  const tier = chooseLegacyTier(probe);
  const field = (name: keyof AppDefaults): number => {
    const asked = override?.[name];
    if (asked === undefined) return Math.min(tier[name], app[name]);
    return isAdmin ? asked : Math.min(asked, app[name]);
  };
  const bitrate_kbps = field('bitrate_kbps');
  return {
    width: field('width'),
    height: field('height'),
    fps: field('fps'),
    bitrate_kbps,
    abr_floor_kbps: Math.min(tier.floor_kbps, bitrate_kbps),
    codec: override?.codec ?? 'h264',
    h264_profile: override?.h264_profile ?? 'constrained-baseline',
    playout0_ms: tier.playout0_ms,
  };
}

const PROFILES_DOWN: readonly H264Profile[] = ['high', 'main', 'constrained-baseline'];

/**
 * The profile that the encoder can really make: the wanted one or the next lower.
 * @param offered what the placed GPU's encoder lists; null or [] = nothing is known, so the one every browser decodes
 */
export function lowerH264Profile(wanted: H264Profile, offered: readonly H264Profile[] | null): H264Profile {
  const from = PROFILES_DOWN.indexOf(wanted);
  return PROFILES_DOWN.slice(from).find((profile) => offered?.includes(profile)) ?? 'constrained-baseline';
}

/**
 * Whether a host can encode a codec.
 * @param codecs as reported; null = never reported, which means H.264 alone
 */
export const encodes = (codecs: readonly string[] | null, codec: Codec): boolean =>
  codecs === null ? codec === 'h264' : codecs.includes(codec);

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
 * Sizes that a session may change to while it runs: the launch size first, then what its aspect ratio's ladder has
 * at or below it. Other ratios have only the launch size.
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
