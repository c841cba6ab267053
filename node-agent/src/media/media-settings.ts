import { z } from 'zod';

const int = (fallback: number, min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number().int().min(min).max(max).catch(fallback);

/**
 * The host settings that a media worker uses, with the defaults of the configuration catalog. A missing or bad
 * value takes its default: the agent has reported a bad one in readiness already, and a session must start.
 */
const mediaSettings = z.object({
  gop: int(60, 1),
  slices: int(8, 1),
  target_usage: int(6, 1, 7),
  queue_buffers: int(3, 1),
  abr_floor_kbps: z.coerce.number().int().min(1).nullable().catch(null),
  abr_floor_ratio: z.coerce.number().min(0).max(1).catch(0.3),
});

export type MediaSettings = z.infer<typeof mediaSettings>;

export function readMediaSettings(settings: Record<string, unknown>): MediaSettings {
  return mediaSettings.parse({ ...settings, abr_floor_kbps: settings.abr_floor_kbps ?? null });
}
