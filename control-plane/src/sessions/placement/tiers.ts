/**
 * Chooses the stream tier of a launch without a launch profile. Pure. The first tier whose requirements the device
 * meets is used.
 */
import type { ProbeFacts } from '../../accounts/index.ts';

/** Measured network and decoder limits of a device. null: not measured. */
export type LineFacts = Pick<ProbeFacts, 'bandwidth_kbps' | 'rtt_ms' | 'max_decode_height'>;

interface Tier {
  id: string;
  width: number;
  height: number;
  fps: number;
  bitrate_kbps: number;
  floor_kbps: number;
  playout0_ms: number;
  /** Minimum measured bandwidth, in addition to 1.5 times the bitrate. */
  min_bandwidth_kbps: number;
  /** null: bandwidth and round trip need no measurement. */
  max_rtt_ms: number | null;
  min_decode_height: number | null;
}

/** The tier that is used when the device meets no other tier's requirements. */
const LAST_RESORT: Tier = {
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
};

/** The tier for a device without a probe. */
const UNMEASURED: Tier = {
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
};

/** Sorted from best to worst; the first tier whose requirements are met is used. */
const TIERS: readonly Tier[] = [
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
  UNMEASURED,
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
];

/**
 * The tier for a device.
 * @param probe null: the device was never measured, or the measurement is too old
 */
export function chooseTier(probe: LineFacts | null): Tier {
  if (probe === null) return UNMEASURED;
  return TIERS.find((tier) => passes(tier, probe)) ?? LAST_RESORT;
}

function passes(tier: Tier, probe: LineFacts): boolean {
  const { bandwidth_kbps, rtt_ms, max_decode_height } = probe;
  if (tier.max_rtt_ms !== null && (bandwidth_kbps === null || rtt_ms === null || rtt_ms > tier.max_rtt_ms))
    return false;
  if (bandwidth_kbps !== null && bandwidth_kbps < Math.max(1.5 * tier.bitrate_kbps, tier.min_bandwidth_kbps))
    return false;
  return (
    tier.min_decode_height === null ||
    max_decode_height === null ||
    max_decode_height >= tier.min_decode_height
  );
}
