/**
 * Messages between the agent (parent) and one media worker (child), over the fork's IPC channel.
 *
 * Life of a worker: `warm` → prepare → `prepared` → start → `encoding` → … → stop → `stopped`, exit 0. attach, detach
 * and signal are legal right after prepare, tune and watch_app from `prepared` on, so ICE and DTLS run in parallel
 * with the preparation and the app's start. A `failure` is final: the worker stops its pipeline, waits for `stop`,
 * and exits 1 when the channel closes. Both directions are validated, because the worker runs with the session's uid
 * and talks to the network: the agent does not trust its messages.
 */

import {
  codec,
  encoderFamily,
  jsonObject,
  MEDIA_FAILURE_CODES,
  openCode,
  type SessionEndReason,
} from '@footlight/protocol';
import { agentSignal, streamSpecSchema } from '@footlight/protocol/agent';
import {
  answerSchema,
  browserByeSchema,
  candidateSchema,
  helloSchema,
  iceServer,
  renegotiateSchema,
} from '@footlight/protocol/signal';
import { AGENT_EVENT_TYPES, AGENT_METRIC_KEYS, LOG_EVENTS } from '@footlight/protocol/telemetry';
import { z } from 'zod';
import { captureMade, captureRequest } from './capture-messages.ts';

const port = z.number().int().min(1).max(65535);

export const encoderChoice = z.object({
  family: encoderFamily,
  gpu_index: z.number().int().min(0).max(15),
  /** DRM render node of the GPU; null for software encoding. */
  render_node: z.string().max(256).nullable(),
});

const prepare = z.object({
  type: z.literal('prepare'),
  session_id: z.string(),
  /** The session's uid and gid, to which the worker changes; null keeps the agent's user. */
  uid: z.number().int().min(1).nullable(),
  gid: z.number().int().min(1).nullable(),
  /** X display such as ":42". */
  display: z.string().regex(/^:\d{1,5}$/),
  /** Cookie file of that display; null: the display needs none. */
  xauthority: z.string().max(4096).nullable(),
  /** PulseAudio server string ("unix:/path"); null = a session without audio. */
  pulse_server: z.string().max(4096).nullable(),
  /** Directory of the session, writable by uid: HOME and XDG_RUNTIME_DIR of the worker. */
  scratch_dir: z.string().max(4096),
  stream: streamSpecSchema,
  /** false: a local session; the worker only watches the app's windows. Default: true. */
  encodes: z.boolean().optional(),
  /** null: viewers get no files of this session. */
  files: z
    .object({ max_mb: z.int().min(1) })
    .nullable()
    .optional(),
  /** Set for a measurement: the encoder holds the launch bitrate, and samples come once a second. */
  bench: z.object({ live_write_probe: z.boolean() }).optional(),
  /** true: the display reads input devices, so touches can use a touch screen. Default: false. */
  reads_devices: z.boolean().optional(),
  encoder: encoderChoice,
  /** Effective host settings (config catalog keys); unknown keys are ignored, missing ones take defaults. */
  settings: z.record(z.string(), z.unknown()),
  media: z.object({
    /** Addresses for candidates; null = all except loopback. */
    addresses: z.array(z.string().max(64)).max(64).nullable(),
    /** UDP port range, inclusive; null = ephemeral. */
    ports: z.tuple([port, port]).nullable(),
  }),
});

/**
 * Encodes a few frames, so that driver and caches of the encoder are warm. Answered with `encoder_warm`. In place of
 * prepare: the worker then has no session, and ends when its channel closes.
 */
const warmEncoder = z.object({
  type: z.literal('warm_encoder'),
  codec,
  encoder: encoderChoice,
  /** As in prepare. */
  settings: z.record(z.string(), z.unknown()),
});

const start = z.object({ type: z.literal('start') });

const attach = z.object({
  type: z.literal('attach'),
  conn: z.number().int().nonnegative(),
  client_id: z.string(),
  /** The browser's hello, relayed by the control plane. */
  hello: helloSchema,
  /** Credentials in it are never logged. */
  ice_servers: z.array(iceServer).max(32),
});

const detach = z.object({
  type: z.literal('detach'),
  conn: z.number().int().nonnegative(),
  reason: z.enum(['closed', 'taken_over']),
});

/** A message of the browser over the attached socket. */
const browserSignal = z.object({
  type: z.literal('signal'),
  conn: z.number().int().nonnegative(),
  msg: z.discriminatedUnion('type', [answerSchema, candidateSchema, renegotiateSchema, browserByeSchema]),
});

const tune = z.object({
  type: z.literal('tune'),
  /** New encoder target; the worker clamps it to [bitrate floor, launch bitrate]. */
  bitrate_kbps: z.number().int().min(100).max(500_000).optional(),
  keyframe: z.literal(true).optional(),
});

const appStateValue = z.enum(['starting', 'client_only', 'game_running', 'game_exited', 'presented']);

/** Forwarded to the viewer as the control channel's `app` message; the last one is repeated on connect. */
const appState = z.object({ type: z.literal('app_state'), state: appStateValue });

/**
 * Restarts the watch for the first window of an app; answered with `watching` when new windows are detected. The
 * watch from `prepared` on has number 0.
 */
const watchApp = z.object({
  type: z.literal('watch_app'),
  watch: z.number().int().nonnegative(),
  /** Ignore existing windows. */
  only_new: z.boolean(),
});

const size = z.object({ width: z.number().int().positive(), height: z.number().int().positive() });

/**
 * Changes display size, picture size or scale; answered with `display_done`. The agent has validated it, sends one at
 * a time, and numbers them upwards.
 */
const displayUpdate = z.object({
  type: z.literal('display'),
  /** Repeated in the answer. */
  request: z.number().int().nonnegative(),
  render: size.optional(),
  ui_scale: z.number().optional(),
  stream: size.optional(),
});

/**
 * Cancels the change of that number: a queued one is dropped, a running or finished one is undone. Overtakes earlier
 * messages. The agent sends the next change only after this, or after an answer.
 */
const withdrawDisplay = z.object({
  type: z.literal('withdraw_display'),
  request: z.number().int().nonnegative(),
});

/** Answered with `capture_done`; a newer request may replace a running one, which then gets no answer. */
const capture = z.object({
  type: z.literal('capture'),
  /** Repeated in the answer. */
  request: z.number().int().nonnegative(),
  order: captureRequest,
});

const stop = z.object({
  type: z.literal('stop'),
  /** Session end reason; the viewer gets idle_timeout, or session_ended for all others. */
  reason: openCode<SessionEndReason>(),
  grace_ms: z.number().int().min(0).max(10_000),
});

export const parentMessage = z.discriminatedUnion('type', [
  prepare,
  warmEncoder,
  start,
  attach,
  detach,
  browserSignal,
  tune,
  appState,
  watchApp,
  displayUpdate,
  withdrawDisplay,
  capture,
  stop,
]);

const warm = z.object({ type: z.literal('warm') });
/** error null: the encoder works. */
const encoderWarm = z.object({ type: z.literal('encoder_warm'), error: z.string().max(512).nullable() });
const prepared = z.object({ type: z.literal('prepared') });
/** The first encoded frame left the encoder. */
const encoding = z.object({ type: z.literal('encoding') });
/** A mapped app window drew for the first time. */
const appPresented = z.object({
  type: z.literal('app_presented'),
  /** Number of the watch that saw it. */
  watch: z.number().int().nonnegative(),
});
const watching = z.object({ type: z.literal('watching'), watch: z.number().int().nonnegative() });
/** error null: the whole change is done; otherwise nothing. May precede the withdrawal of the same change. */
const displayDone = z.object({
  type: z.literal('display_done'),
  request: z.number().int().nonnegative(),
  error: z.string().max(256).nullable(),
});
const captureDone = z.object({
  type: z.literal('capture_done'),
  request: z.number().int().nonnegative(),
  made: captureMade,
});
/** Shown app windows (count); sent on each change. */
const windows = z.object({ type: z.literal('windows'), count: z.number().int().nonnegative() });
/** Whether at least one peer connection is connected; sent on each change. */
const viewer = z.object({ type: z.literal('viewer'), connected: z.boolean() });

/**
 * A virtual input device was created; its sysfs name. The agent gives its nodes to the session's user after it has
 * checked the device's owner.
 */
const inputDevice = z.object({ type: z.literal('input_device'), sysname: z.string().max(64) });

/** A message for the browser of that socket. */
const signal = z.object({
  type: z.literal('signal'),
  conn: z.number().int().nonnegative(),
  msg: agentSignal,
});

const metrics = z.object({
  type: z.literal('metrics'),
  /** End of the window, epoch milliseconds. */
  ts: z.number().int(),
  window_ms: z.number().int().positive(),
  metrics: z.partialRecord(z.enum(AGENT_METRIC_KEYS), z.union([z.number(), z.boolean(), z.string()])),
});

const event = z.object({
  type: z.literal('event'),
  event: z.enum(AGENT_EVENT_TYPES),
  ts: z.number().int(),
  payload: jsonObject,
});

const log = z.object({
  type: z.literal('log'),
  level: z.enum(['debug', 'info', 'warn', 'error']),
  event: z.enum(LOG_EVENTS),
  fields: jsonObject,
});

const failure = z.object({
  type: z.literal('failure'),
  failure_code: z.enum(MEDIA_FAILURE_CODES),
  error: z.string(),
});

/** The worker's event loop runs; sent every PULSE_MS from `prepared` on. */
const pulse = z.object({ type: z.literal('pulse') });

const stopped = z.object({ type: z.literal('stopped') });

export const workerMessage = z.discriminatedUnion('type', [
  warm,
  encoderWarm,
  prepared,
  encoding,
  appPresented,
  watching,
  displayDone,
  captureDone,
  windows,
  viewer,
  inputDevice,
  signal,
  metrics,
  event,
  log,
  failure,
  pulse,
  stopped,
]);

/** A fifth of the silence that ends a worker (SILENCE_LIMIT_MS). */
export const PULSE_MS = 500;

export type ParentMessage = z.infer<typeof parentMessage>;
export type WorkerMessage = z.infer<typeof workerMessage>;
export type WarmEncoderMessage = z.infer<typeof warmEncoder>;
export type PrepareMessage = z.infer<typeof prepare>;
export type AttachMessage = z.infer<typeof attach>;
export type BrowserSignal = z.infer<typeof browserSignal>['msg'];
export type EncoderChoice = z.infer<typeof encoderChoice>;
export type DisplayUpdate = z.infer<typeof displayUpdate>;
export type AppState = z.infer<typeof appStateValue>;
