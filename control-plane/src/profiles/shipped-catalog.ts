import type { LaunchProfile, RungCodec, StreamProfile } from '@footlight/protocol/rest';

/** A shipped launch profile; its chain is a list of rung ids. */
export interface ShippedLaunchProfile
  extends Pick<LaunchProfile, 'id' | 'display_name' | 'description' | 'visibility' | 'sort_order'> {
  rungs: readonly string[];
}

type Resolution = '720p' | '1080p' | '1440p' | '4k';
type Rate = 60 | 90 | 120;
/** Nominal bitrate and adaptation floor, kbit/s. */
type Rates = readonly [nominal: number, floor: number];
type ByRate = Readonly<Record<Rate, Rates>>;

const RATES = [60, 90, 120] as const;
const SIZES: Readonly<Record<Resolution, { width: number; height: number; label: string }>> = {
  '720p': { width: 1280, height: 720, label: '720p' },
  '1080p': { width: 1920, height: 1080, label: '1080p' },
  '1440p': { width: 2560, height: 1440, label: '1440p' },
  '4k': { width: 3840, height: 2160, label: '4K' },
};
const CODEC_LABELS: Readonly<Record<RungCodec, string>> = { h264: 'H.264', hevc: 'HEVC', av1: 'AV1' };

const BITRATES: readonly (readonly [Resolution, RungCodec, ByRate])[] = [
  ['720p', 'h264', { 60: [4500, 1500], 90: [5500, 2000], 120: [6500, 2500] }],
  ['1080p', 'h264', { 60: [8000, 3000], 90: [10000, 3500], 120: [11500, 4000] }],
  ['1080p', 'hevc', { 60: [5000, 2000], 90: [6500, 2500], 120: [7500, 3000] }],
  ['1080p', 'av1', { 60: [4500, 1800], 90: [5500, 2000], 120: [6500, 2500] }],
  ['1440p', 'hevc', { 60: [8000, 3000], 90: [10000, 3800], 120: [11500, 4500] }],
  ['1440p', 'av1', { 60: [7000, 2600], 90: [9000, 3300], 120: [10000, 4000] }],
  ['4k', 'hevc', { 60: [15000, 5500], 90: [18500, 7000], 120: [21500, 8000] }],
  ['4k', 'av1', { 60: [12500, 4500], 90: [15500, 5500], 120: [18000, 6500] }],
];

function browserClient(resolution: Resolution, fps: Rate): StreamProfile['browser_client'] {
  if (resolution === '4k') return 'risky';
  if (resolution === '720p') return 'recommended';
  return resolution === '1080p' && fps === 60 ? 'recommended' : 'supported';
}

function rung(
  resolution: Resolution,
  codec: RungCodec,
  fps: Rate,
  [nominal, floor]: Rates,
): Readonly<StreamProfile> {
  const { width, height, label } = SIZES[resolution];
  const id = `${resolution}${fps}-${codec}`;
  const fast = fps > 60;
  return {
    id,
    display_name: `${CODEC_LABELS[codec]} · ${label} · ${fps} FPS`,
    codec,
    width,
    height,
    fps,
    h264_profile: codec === 'h264' ? 'constrained-baseline' : 'main',
    nominal_bitrate_kbps: nominal,
    min_offer_bandwidth_kbps: (nominal * 12) / 10,
    recommended_offer_bandwidth_kbps: (nominal * 15) / 10,
    headroom_factor: 1.5,
    abr_floor_kbps: floor,
    max_startup_rtt_ms: fast ? 40 : 0,
    min_decode_height: height,
    high_refresh_display: fast ? 'required' : 'none',
    // openh264 can encode these two rungs in software.
    hardware_encoder_required: id !== '720p60-h264' && id !== '1080p60-h264',
    browser_client: browserClient(resolution, fps),
    playout0_ms: fast ? 40 : id === '720p60-h264' ? 75 : 50,
    visibility: 'internal',
  };
}

/** The rung for slow connections; it has no minimum bandwidth. */
const LOWEST_RUNG: Readonly<StreamProfile> = {
  id: '720p30-h264',
  display_name: 'H.264 · 720p · 30 FPS',
  codec: 'h264',
  width: 1280,
  height: 720,
  fps: 30,
  h264_profile: 'constrained-baseline',
  nominal_bitrate_kbps: 3000,
  min_offer_bandwidth_kbps: 0,
  recommended_offer_bandwidth_kbps: 4500,
  headroom_factor: 1.5,
  abr_floor_kbps: 1000,
  max_startup_rtt_ms: 0,
  min_decode_height: 720,
  high_refresh_display: 'none',
  hardware_encoder_required: false,
  browser_client: 'supported',
  playout0_ms: 100,
  visibility: 'internal',
};

/** Rungs of a new instance. */
export const SHIPPED_RUNGS: readonly Readonly<StreamProfile>[] = [
  ...BITRATES.flatMap(([resolution, codec, rates]) =>
    RATES.map((fps) => rung(resolution, codec, fps, rates[fps])),
  ),
  LOWEST_RUNG,
];

function launchProfiles(
  resolution: Resolution,
  sortOrders: Readonly<Record<Rate, number>>,
  chain: (fps: Rate) => readonly string[],
): ShippedLaunchProfile[] {
  const { width, height, label } = SIZES[resolution];
  return RATES.map((fps) => ({
    id: `${resolution}${fps}`,
    display_name: `${label} · ${fps} FPS`,
    description: `${width} × ${height} at ${fps} pictures per second, in the best codec that host and client share.`,
    visibility: 'user',
    sort_order: sortOrders[fps],
    rungs: chain(fps),
  }));
}

/** Launch profiles of a new instance; each ends with an H.264 rung, which every client plays. */
export const SHIPPED_LAUNCH_PROFILES: readonly ShippedLaunchProfile[] = [
  ...launchProfiles('4k', { 120: 10, 90: 15, 60: 20 }, (fps) => [
    `4k${fps}-av1`,
    `4k${fps}-hevc`,
    `1440p${fps}-av1`,
    `1080p${fps}-h264`,
  ]),
  ...launchProfiles('1440p', { 120: 30, 90: 35, 60: 40 }, (fps) => [
    `1440p${fps}-av1`,
    `1440p${fps}-hevc`,
    `1080p${fps}-av1`,
    `1080p${fps}-h264`,
  ]),
  ...launchProfiles('1080p', { 120: 50, 90: 55, 60: 60 }, (fps) => [
    `1080p${fps}-av1`,
    `1080p${fps}-hevc`,
    `1080p${fps}-h264`,
  ]),
  ...launchProfiles('720p', { 120: 63, 90: 66, 60: 70 }, (fps) => [`720p${fps}-h264`]),
  {
    id: '720p30',
    display_name: '720p · 30 FPS',
    description: '1280 × 720 at 30 pictures per second: the last resort on a poor line.',
    visibility: 'debug',
    sort_order: 80,
    rungs: [LOWEST_RUNG.id],
  },
];
