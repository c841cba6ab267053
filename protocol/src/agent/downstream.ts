/** Messages from the control plane to the agent. A command has an id and gets exactly one ack. */
import { z } from 'zod';
import {
  count,
  epochMs,
  finite,
  humanText,
  int,
  jsonObject,
  openCode,
  openEnum,
  type SessionEndReason,
  stringMap,
  text,
  wireUuid,
} from '../common.ts';
import { GUEST_ROLES, MAX_GUEST_NAME_BYTES, MAX_GUESTS } from '../guests.ts';
import {
  answerSchema,
  browserByeSchema,
  candidateSchema,
  helloSchema,
  iceServer,
  renegotiateSchema,
} from '../signal/messages.ts';
import { consoleConfigSchema } from './capacity.ts';
import { preflightSchema } from './preflight.ts';
import { appSpecSchema, assignFields } from './session-spec.ts';
import { ackSchema, linkErrorSchema } from './upstream.ts';

export const registeredSchema = z.object({
  type: z.literal('registered'),
  protocol: int,
  host_id: wireUuid,
  /** only after an enrollment; sent once */
  node_secret: text(256).optional(),
  heartbeat_interval_ms: z.int().min(1),
  session_grace_secs: count,
  server_ts: epochMs,
  /** last seq of this boot_id that was handled; null: unknown, so the agent sends all reports again */
  last_seq: int.nullable(),
});
export type Registered = z.infer<typeof registeredSchema>;

export const heartbeatAckSchema = z.object({
  type: z.literal('heartbeat_ack'),
  echo: epochMs,
  server_ts: epochMs,
});

/** Confirms every reliable message up to seq. */
export const seenSchema = z.object({ type: z.literal('seen'), seq: z.int().min(0) });

export const attachSchema = z.object({
  type: z.literal('attach'),
  client_id: wireUuid,
  hello: helloSchema,
  ice_servers: z.array(iceServer).max(32),
  /**
   * The guest whose page this is; missing: the page of the owner. The rights of a guest come only from
   * `session_guests`.
   */
  guest: z.object({ id: wireUuid, name: humanText(MAX_GUEST_NAME_BYTES) }).optional(),
});

/** The browser's socket was closed; its peer connection continues. */
export const detachSchema = z.object({ type: z.literal('detach'), reason: z.enum(['closed', 'taken_over']) });

export const controlSignal = z.discriminatedUnion('type', [
  attachSchema,
  detachSchema,
  answerSchema,
  candidateSchema,
  renegotiateSchema,
  browserByeSchema,
]);
export type ControlSignal = z.infer<typeof controlSignal>;

export const controlSignalingSchema = z.object({
  type: z.literal('signaling'),
  session_id: wireUuid,
  conn: int,
  msg: controlSignal,
});
export type ControlSignaling = z.infer<typeof controlSignalingSchema>;

const id = wireUuid;
const session_id = wireUuid;

export const sessionAssignSchema = z.object({ type: z.literal('session_assign'), id, ...assignFields });
export type SessionAssign = z.infer<typeof sessionAssignSchema>;

export const sessionStartSchema = z.object({ type: z.literal('session_start'), id, session_id });

export const sessionStopSchema = z.object({
  type: z.literal('session_stop'),
  id,
  session_id,
  reason: openCode<SessionEndReason>(),
  /** missing: 2000 */
  grace_ms: z.int().min(0).max(10_000).optional(),
});

export const sessionSwapAppSchema = z.object({
  type: z.literal('session_swap_app'),
  id,
  session_id,
  app_id: wireUuid,
  app: appSpecSchema,
});
export type SessionSwapApp = z.infer<typeof sessionSwapAppSchema>;

export const sessionDisplayUpdateSchema = z.object({
  type: z.literal('session_display_update'),
  id,
  session_id,
  render_width: count.optional(),
  render_height: count.optional(),
  ui_scale: finite.optional(),
  stream_width: count.optional(),
  stream_height: count.optional(),
});
export type SessionDisplayUpdate = z.infer<typeof sessionDisplayUpdateSchema>;

export const sessionTuneSchema = z.object({
  type: z.literal('session_tune'),
  id,
  session_id,
  bitrate_kbps: z.int().min(100).max(500_000).optional(),
  keyframe: z.literal(true).optional(),
});
export type SessionTune = z.infer<typeof sessionTuneSchema>;

export const sessionCaptureSchema = z.object({
  type: z.literal('session_capture'),
  id,
  session_id,
  capture_id: wireUuid,
  kind: openEnum(64),
  budget: z.object({ max_bytes: count, max_ms: count }),
  params: jsonObject,
});
export type SessionCapture = z.infer<typeof sessionCaptureSchema>;

export const sessionRecordingSchema = z.object({
  type: z.literal('session_recording'),
  id,
  session_id,
  recording_id: wireUuid,
  op: z.enum(['freeze', 'upload']),
});
export type SessionRecording = z.infer<typeof sessionRecordingSchema>;

/**
 * All guests who may use the session, with their rights; it replaces the former list. The agent disconnects every other
 * guest, and each guest at the end of its time. Only for agents with the feature `guests`.
 */
export const sessionGuestsSchema = z.object({
  type: z.literal('session_guests'),
  id,
  session_id,
  /** Grows with each change of the list; an agent ignores a list with a lower version than its own. */
  version: count,
  guests: z
    .array(
      z.object({
        id: wireUuid,
        role: z.enum(GUEST_ROLES),
        /** index of the gamepad of a guest with the role gamepad; null for other roles */
        pad_index: z.int().min(0).max(15).nullable(),
        /** time until the guest's link expires, in milliseconds from the arrival of this message */
        ends_in_ms: count,
      }),
    )
    .max(MAX_GUESTS),
});
export type SessionGuests = z.infer<typeof sessionGuestsSchema>;

export const configUpdateSchema = z.object({
  type: z.literal('config_update'),
  id,
  /**
   * all overrides, which replace the former ones; a setting with an invalid value keeps its baseline and is reported in
   * readiness
   */
  settings: jsonObject,
  console_config: consoleConfigSchema.nullable(),
});
export type ConfigUpdate = z.infer<typeof configUpdateSchema>;

export const restartSchema = z.object({ type: z.literal('restart'), id });

const image = { image_id: text(128), version: text(128) };

export const imageEnsureSchema = z.object({
  type: z.literal('image_ensure'),
  id,
  ...image,
  registry_ref: text(512),
});
export type ImageEnsure = z.infer<typeof imageEnsureSchema>;

export const imageBuildSchema = z.object({
  type: z.literal('image_build'),
  id,
  ...image,
  context_url: text(2048),
  context_subdir: text(256),
  dockerfile: text(256),
  build_args: stringMap(64, 4096),
  local_tag: text(512),
});

export const imageRemoveSchema = z.object({ type: z.literal('image_remove'), id, image_id: text(128) });

export const controlCommand = z.discriminatedUnion('type', [
  sessionAssignSchema,
  sessionStartSchema,
  sessionStopSchema,
  sessionSwapAppSchema,
  sessionDisplayUpdateSchema,
  sessionTuneSchema,
  sessionCaptureSchema,
  sessionRecordingSchema,
  sessionGuestsSchema,
  configUpdateSchema,
  restartSchema,
  imageEnsureSchema,
  imageBuildSchema,
  imageRemoveSchema,
  preflightSchema,
]);
/** A message with an id, answered by exactly one ack. */
export type ControlCommand = z.infer<typeof controlCommand>;
/** Commands about a session. The commands of one session are applied in the order of their arrival. */
export type SessionCommand = Extract<ControlCommand, { session_id: string }>;

export const controlToAgent = z.discriminatedUnion('type', [
  registeredSchema,
  heartbeatAckSchema,
  seenSchema,
  controlSignalingSchema,
  // Both sides answer with this message when they cannot handle a message that has an id.
  ackSchema,
  linkErrorSchema,
  ...controlCommand.options,
]);
export type ControlMessage = z.infer<typeof controlToAgent>;

/** Whether a message is a command, which needs an ack. */
export function isCommand(message: ControlMessage): message is ControlCommand {
  return 'id' in message && message.type !== 'ack';
}
