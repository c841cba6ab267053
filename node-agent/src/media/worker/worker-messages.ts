/**
 * Messages between the agent (parent) and one media worker (child), over the fork's IPC channel.
 *
 * Life of a worker: `warm` → prepare → `prepared` → start → `encoding` → … → stop → `stopped`, exit 0. `attach`,
 * `detach`, `signal` and `guests` are allowed right after `prepare`, so that ICE and DTLS run in parallel with the
 * preparation and the app's start. `tune` and `watch_app` are allowed after `prepared`. A `failure` is final: the
 * worker stops its pipeline, waits for `stop`, and exits with 1 when the channel closes. Messages in both directions
 * are validated. The agent does not trust the worker, because the worker runs with the session's uid and receives data
 * from the network.
 */

import {
  codec,
  encoderFamily,
  jsonObject,
  MEDIA_FAILURE_CODES,
  openCode,
  type SessionEndReason,
} from '@footlight/protocol';
import { agentSignal, attachSchema, sessionGuestsSchema, streamSpecSchema } from '@footlight/protocol/agent';
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
  /** DRM render node of the GPU; null: software encoding. */
  render_node: z.string().max(256).nullable(),
});

const prepare = z.object({
  type: z.literal('prepare'),
  session_id: z.string(),
  /** The session's uid and gid, to which the worker changes; null: it runs as the agent's user. */
  uid: z.number().int().min(1).nullable(),
  gid: z.number().int().min(1).nullable(),
  /** X display such as ":42". */
  display: z.string().regex(/^:\d{1,5}$/),
  /** Cookie file of this display; null: the display needs no cookie. */
  xauthority: z.string().max(4096).nullable(),
  /** PulseAudio server string ("unix:/path"); null: the session has no sound. */
  pulse_server: z.string().max(4096).nullable(),
  /** Directory of the session, writable by uid. The worker uses it as HOME and XDG_RUNTIME_DIR. */
  scratch_dir: z.string().max(4096),
  stream: streamSpecSchema,
  /** false: a local session, in which the worker only watches the app's windows. Default: true. */
  encodes: z.boolean().optional(),
  /** null: file transfers are disabled in this session. */
  files: z
    .object({ max_mb: z.int().min(1) })
    .nullable()
    .optional(),
  /** Set for a measurement: the encoder keeps the launch bitrate, and samples are sent once a second. */
  bench: z.object({ live_write_probe: z.boolean() }).optional(),
  /** Whether the display reads input devices, so that touches can use a touch screen. Default: false. */
  reads_devices: z.boolean().optional(),
  encoder: encoderChoice,
  /**
   * Effective host settings (keys of the settings catalog). Unknown keys are ignored; missing ones have their defaults.
   */
  settings: z.record(z.string(), z.unknown()),
  media: z.object({
    /** Addresses for candidates; null: all addresses except loopback. */
    addresses: z.array(z.string().max(64)).max(64).nullable(),
    /** UDP port range, inclusive; null: ephemeral ports. */
    ports: z.tuple([port, port]).nullable(),
    /** The host's fallback port; null or missing: it has none. */
    fallback_port: port.nullable().optional(),
  }),
});

/**
 * Encodes a few frames, so that driver and caches of the encoder are warm. Answered with `encoder_warm`. It replaces
 * prepare: the worker then has no session, and ends when its channel closes.
 */
const warmEncoder = z.object({
  type: z.literal('warm_encoder'),
  codec,
  encoder: encoderChoice,
  /** The same as in prepare. */
  settings: z.record(z.string(), z.unknown()),
});

const start = z.object({ type: z.literal('start') });

const attach = z.object({
  type: z.literal('attach'),
  conn: z.number().int().nonnegative(),
  client_id: z.string(),
  /** The browser's hello, relayed by the control plane. */
  hello: helloSchema,
  /** Contains credentials, which are never logged. */
  ice_servers: z.array(iceServer).max(32),
  /** The guest whose page this is; missing: the owner's page. */
  guest: attachSchema.shape.guest,
});

/** The guests who may use the session. */
const guests = sessionGuestsSchema
  .pick({ version: true, guests: true })
  .extend({ type: z.literal('guests') });

const detach = z.object({
  type: z.literal('detach'),
  conn: z.number().int().nonnegative(),
  reason: z.enum(['closed', 'taken_over']),
});

/** A message that the browser sent on the attached socket. */
const browserSignal = z.object({
  type: z.literal('signal'),
  conn: z.number().int().nonnegative(),
  msg: z.discriminatedUnion('type', [answerSchema, candidateSchema, renegotiateSchema, browserByeSchema]),
});

const tune = z.object({
  type: z.literal('tune'),
  /** New target of the encoder; the worker limits it to [bitrate floor, launch bitrate]. */
  bitrate_kbps: z.number().int().min(100).max(500_000).optional(),
  keyframe: z.literal(true).optional(),
});

const appStateValue = z.enum(['starting', 'client_only', 'game_running', 'game_exited', 'presented']);

/** Sent to viewers as the control channel's `app` message; the last state is sent again to each new viewer. */
const appState = z.object({ type: z.literal('app_state'), state: appStateValue });

/**
 * Restarts the watch for the first window of an app; answered with `watching` as soon as new windows are detected. The
 * first watch, which begins with `prepared`, has number 0.
 */
const watchApp = z.object({
  type: z.literal('watch_app'),
  watch: z.number().int().nonnegative(),
  /** Whether to ignore existing windows. */
  only_new: z.boolean(),
});

const size = z.object({ width: z.number().int().positive(), height: z.number().int().positive() });

/**
 * Changes display size, picture size or scale; answered with `display_done`. The agent has validated the change, sends
 * only one at a time, and numbers changes in ascending order.
 */
const displayUpdate = z.object({
  type: z.literal('display'),
  /** Number of the change; repeated in the answer. */
  request: z.number().int().nonnegative(),
  render: size.optional(),
  ui_scale: z.number().optional(),
  stream: size.optional(),
});

/**
 * Cancels the change with this number: a queued change is dropped, a running or finished one is undone. This message
 * overtakes earlier messages. The agent sends the next change only after this message, or after an answer.
 */
const withdrawDisplay = z.object({
  type: z.literal('withdraw_display'),
  request: z.number().int().nonnegative(),
});

/**
 * Answered with `capture_done`. A newer request may replace a running one; the replaced request then gets no answer.
 */
const capture = z.object({
  type: z.literal('capture'),
  /** Number of the request; repeated in the answer. */
  request: z.number().int().nonnegative(),
  order: captureRequest,
});

const stop = z.object({
  type: z.literal('stop'),
  /** End reason of the session. The viewer receives idle_timeout, or session_ended for all other reasons. */
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
  guests,
  tune,
  appState,
  watchApp,
  displayUpdate,
  withdrawDisplay,
  capture,
  stop,
]);

const warm = z.object({ type: z.literal('warm') });
/** If `error` is null, the encoder can encode. */
const encoderWarm = z.object({ type: z.literal('encoder_warm'), error: z.string().max(512).nullable() });
const prepared = z.object({ type: z.literal('prepared') });
/** The first encoded frame left the encoder. */
const encoding = z.object({ type: z.literal('encoding') });
/** A mapped app window drew for the first time. */
const appPresented = z.object({
  type: z.literal('app_presented'),
  /** Number of the watch that detected the window. */
  watch: z.number().int().nonnegative(),
});
const watching = z.object({ type: z.literal('watching'), watch: z.number().int().nonnegative() });
/**
 * If `error` is null, the whole change is done; otherwise nothing was changed. May arrive before the withdrawal of the
 * same change is sent.
 */
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
/** Number of shown app windows; sent at each change. */
const windows = z.object({ type: z.literal('windows'), count: z.number().int().nonnegative() });
/** Whether at least one peer connection is connected; sent at each change. */
const viewer = z.object({ type: z.literal('viewer'), connected: z.boolean() });

/**
 * Sent when a virtual input device was created, with its sysfs name. The agent checks that the device belongs to the
 * session, and then gives the session's user access to its nodes.
 */
const inputDevice = z.object({ type: z.literal('input_device'), sysname: z.string().max(64) });

/** A message for the browser on this socket. */
const signal = z.object({
  type: z.literal('signal'),
  conn: z.number().int().nonnegative(),
  msg: agentSignal,
});

/** Lets browsers reach a connection through the fallback port. */
const fallbackOpen = z.object({
  type: z.literal('fallback_open'),
  pc_id: z.string().max(64),
  /** Fragment and password of the host's own description; the password is secret. */
  ufrag: z.string().max(256),
  pwd: z.string().max(256),
  /** The connection's UDP port. */
  port,
});
const fallbackClose = z.object({ type: z.literal('fallback_close'), pc_id: z.string().max(64) });

const metrics = z.object({
  type: z.literal('metrics'),
  /** End of the window, in epoch milliseconds. */
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

/** Shows that the worker's event loop runs; sent every PULSE_MS after `prepared`. */
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
  fallbackOpen,
  fallbackClose,
  metrics,
  event,
  log,
  failure,
  pulse,
  stopped,
]);

/** A fifth of SILENCE_LIMIT_MS, the time without messages after which a worker is killed. */
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
