/**
 * Chooses the next lower launch profile when the measured encoder is too slow for a rung. Pure. Source:
 * docs/quality.md, "Encoder certification".
 */
import { DAY_MS } from '@footlight/platform';

/** A measurement of the placed encoder. */
export interface Certification {
  stream_profile_id: string;
  bitrate_kbps: number;
  verdict: 'ok' | 'capped' | 'unsafe';
  /** Whether the bitrate could change while the encoder ran. */
  live_write_stable: boolean;
  /** Time of the measurement, epoch ms. */
  measured_at: number;
}

/** Older measurements are ignored, because encoders, drivers and agents change. */
export const CERTIFICATION_COUNTS_MS = 7 * DAY_MS;

const LADDER = ['1440p120', '1440p60', '1080p120', '1080p60', '720p60', '720p30'] as const;

/** The next lower launch profile; null: there is no lower one. */
export function nextLowerProfile(profileId: string): string | null {
  const at = (LADDER as readonly string[]).indexOf(profileId);
  return at === -1 ? null : (LADDER[at + 1] ?? null);
}

/**
 * Whether the measurement with the closest bitrate (of equally close ones the newest) shows that the encoder is too
 * slow for a rung. Without a measurement the result is false.
 * @param certifications measurements of the encoder that will be used, for any rung and of any age
 */
export function isOverCertified(
  certifications: readonly Certification[],
  rungId: string,
  bitrateKbps: number,
  nowMs: number,
): boolean {
  const distance = ({ bitrate_kbps }: Certification): number => Math.abs(bitrate_kbps - bitrateKbps);
  const [closest] = certifications
    .filter(
      (entry) => entry.stream_profile_id === rungId && nowMs - entry.measured_at <= CERTIFICATION_COUNTS_MS,
    )
    .sort((a, b) => distance(a) - distance(b) || b.measured_at - a.measured_at);
  if (closest === undefined) return false;
  return closest.verdict === 'unsafe' || (closest.verdict === 'capped' && !closest.live_write_stable);
}
