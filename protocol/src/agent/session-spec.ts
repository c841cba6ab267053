/** Description of a session: app, stream, GPU share. */
import { z } from 'zod';
import {
  bitrateKbps,
  codec,
  count,
  encoderFamily,
  finite,
  frameRate,
  h264Profile,
  homeBasePath,
  humanText,
  pictureSide,
  stringMap,
  text,
  wireUuid,
} from '../common.ts';

/** A home directory or volume for the app. */
export const homeSpecSchema = z.object({
  provider: z.enum(['local', 'volume']),
  /** local: an absolute directory below the agent's home root; volume: the engine volume's name */
  ref: text(512),
  container_path: text(512),
  /** Directory of the host that the home is opened over, read-only; missing: the home stands alone */
  base: homeBasePath.optional(),
});
export type HomeSpec = z.infer<typeof homeSpecSchema>;

export const appSpecSchema = z.object({
  /** "": the app runs as a process, and args is its command with arguments */
  image: text(512),
  args: z.array(text(4096)).max(128),
  env: stringMap(256, 32768),
  mounts: z.array(text(1024)).max(64),
  gpu: z.boolean(),
  /** missing: the host's own default */
  network: z.enum(['none', 'bridge']).optional(),
  no_new_privileges: z.boolean().optional(),
  systempaths_unconfined: z.boolean().optional(),
  /** missing: an empty home in the session's scratch directory */
  home: homeSpecSchema.optional(),
  tile: z.object({ source: text(32), external_id: text(64) }).optional(),
  label: humanText(128),
});
export type AppSpec = z.infer<typeof appSpecSchema>;

export const streamSpecSchema = z.object({
  width: pictureSide,
  height: pictureSide,
  fps: frameRate,
  bitrate_kbps: bitrateKbps,
  /** 0: the agent's default */
  abr_floor_kbps: count,
  codec,
  h264_profile: h264Profile,
  playout0_ms: z.int().min(0).max(2_000),
  audio: z.boolean(),
  mic: z.boolean(),
  recorder: z.boolean().optional(),
  rungs: z.array(z.tuple([count, count])).max(16),
});
export type StreamSpec = z.infer<typeof streamSpecSchema>;

export const videoTopology = z.enum(['stream_only', 'local_only', 'dual_output']);
export type VideoTopology = z.infer<typeof videoTopology>;

/** Fields of session_assign in addition to type and id. */
export const assignFields = {
  session_id: wireUuid,
  user_id: wireUuid,
  app_id: wireUuid,
  gpu_index: z.int().min(0).max(15),
  app: appSpecSchema,
  stream: streamSpecSchema,
  resources: z.object({ encode_slots: count, vram_mb: count }),
  /** local_only: no encoder, no peer connection, no encode slots */
  video_topology: videoTopology,
  /** only for sessions that measure an encoder; missing: the host's effective encoder */
  encoder: encoderFamily.optional(),
  bench: z.object({ budget_ms: finite, live_write_probe: z.boolean() }).optional(),
  /** 0: never */
  idle_timeout_secs: count,
  app_boot_timeout_secs: count,
};
