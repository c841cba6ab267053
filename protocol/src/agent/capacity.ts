/** An agent's report about its host: hardware, encoders, readiness, console. */
import { z } from 'zod';
import {
  codec,
  count,
  encoderFamily,
  finite,
  h264Profile,
  humanText,
  int,
  stringMap,
  text,
  utf8Length,
} from '../common.ts';

export const gpuSchema = z.object({
  index: z.int().min(0).max(15),
  vendor: z.enum(['amd', 'intel', 'nvidia', 'software', 'other']),
  model: humanText(128),
  vram_mb_total: count,
  encode_slots_total: z.int().min(0).max(64),
  /** /dev/dri/by-path form if it exists, so that the path names the same card after a reboot; null: no GPU */
  render_node: humanText(256).nullable(),
});
export type Gpu = z.infer<typeof gpuSchema>;

export const encoderInfoSchema = z.object({
  family: encoderFamily,
  gpu_index: z.int().min(0).max(15),
  codec,
  /** whether the encoder worked in a test; it is not enough that it was found */
  available: z.boolean(),
  reason: humanText(256).optional(),
  max_width: count.optional(),
  max_height: count.optional(),
  h264_profiles: z.array(h264Profile).max(3).optional(),
  live_bitrate: z.boolean(),
  live_resize: z.boolean(),
});
export type EncoderInfo = z.infer<typeof encoderInfoSchema>;

export const storageSchema = z.object({
  label: humanText(64),
  path: text(512),
  total_mb: count,
  available_mb: count,
});
export type StorageReport = z.infer<typeof storageSchema>;

/** If an agent sends a single text, each of its lines becomes a remedy. */
const remedies = z.preprocess(
  (sent) => (typeof sent === 'string' ? sent.split('\n').filter((line) => line.trim() !== '') : sent),
  z.array(humanText(1024)).max(8),
);

export const readinessSchema = z.object({
  id: humanText(64),
  status: humanText(32),
  summary: humanText(512),
  remediation: remedies,
});
export type Readiness = z.infer<typeof readinessSchema>;

/**
 * Largest total size of a host's remedies in UTF-8 bytes: 16 remedies of maximum length. Administrators load the
 * reports of all hosts at once, and 64 checks with eight such remedies each would take half a megabyte per host.
 */
const MAX_REMEDIES_BYTES = 16 * 1024;

/** Drops the remedies that exceed the bound. */
function boundRemedies(checks: Readiness[]): Readiness[] {
  let bytes = 0;
  return checks.map((check) => ({
    ...check,
    remediation: check.remediation.filter((remedy) => {
      bytes += utf8Length(remedy);
      return bytes <= MAX_REMEDIES_BYTES;
    }),
  }));
}

const displayMode = { width: count, height: count, refresh_millihz: count };

export const consoleCapabilitiesSchema = z.object({
  connectors: z.array(text(64)).max(64),
  outputs: z
    .array(
      z.object({
        id: text(128),
        card: text(64),
        render_node: text(256).nullable(),
        connector: text(64),
        connected: z.boolean(),
        active_mode: z.object(displayMode).nullable(),
        modes: z
          .array(
            z.object({
              name: humanText(64),
              ...displayMode,
              preferred: z.boolean(),
              interlaced: z.boolean(),
              clock_khz: count,
              htotal: count,
              vtotal: count,
            }),
          )
          .max(256),
      }),
    )
    .max(64),
  audio_sinks: z.array(z.object({ id: text(256), label: humanText(256) })).max(64),
  input_devices: z.array(z.object({ path: text(256), label: humanText(256) })).max(128),
});
export type ConsoleCapabilities = z.infer<typeof consoleCapabilitiesSchema>;

/** Always complete, never partial; null in config_update: the console is off. */
export const consoleConfigSchema = z.object({
  enabled: z.boolean(),
  connector: text(64),
  output_id: text(128).nullable(),
  mode: z.object(displayMode).nullable(),
  compositor: z.enum(['weston', 'cage']),
  audio_output: text(256).nullable(),
  stream: z.boolean(),
  stream_audio: z.boolean(),
  input_devices: z.union([z.literal('auto'), z.array(text(256)).max(128)]),
  grab: z.boolean(),
  auto_start_on_display: z.boolean(),
  auto_connect_controller: z.boolean(),
  default_app: text(36).nullable(),
  default_user: text(36).nullable(),
  fullscreen: z.boolean(),
});
export type ConsoleConfig = z.infer<typeof consoleConfigSchema>;

const throughput = z.object({ max_pixel_rate_mpix_s: finite }).optional();

export const capacitySchema = z.object({
  type: z.literal('capacity'),
  /** '': ok if there are GPUs, otherwise unavailable */
  detection: z.enum(['ok', 'unavailable', 'failed', '']),
  detection_reason: humanText(512).optional(),
  host: z.object({
    cpu_cores: int,
    mem_mb: int,
    cpu_model: humanText(256).optional(),
    storage: z.array(storageSchema).max(32).optional(),
  }),
  gpus: z
    .array(gpuSchema)
    .max(16)
    .refine((gpus) => new Set(gpus.map((gpu) => gpu.index)).size === gpus.length, { error: 'index twice' }),
  encoders: z.array(encoderInfoSchema).max(64).optional(),
  codecs: z.array(codec).min(1).max(8).optional(),
  /** 0, negative or missing: unknown; a launch is not refused because of an unknown throughput */
  codec_throughput: z.object({ h264: throughput, h265: throughput, av1: throughput }).optional(),
  /** current settings, as texts */
  effective_settings: stringMap(64, 512).optional(),
  readiness: z.array(readinessSchema).max(64).overwrite(boundRemedies).optional(),
  console_capabilities: consoleCapabilitiesSchema.optional(),
});
export type Capacity = z.infer<typeof capacitySchema>;
