/** Agent → control plane. */
import { z } from 'zod';
import {
  appLaunchState,
  count,
  epochMs,
  finite,
  fitsUtf8,
  humanText,
  int,
  isJsonObject,
  jsonObject,
  openEnum,
  stripControls,
  text,
  utf8Length,
  wireUuid,
} from '../common.ts';
import {
  candidateSchema,
  offerSchema,
  resumedSchema,
  serviceByeSchema,
  signalErrorSchema,
} from '../signal/messages.ts';
import { capacitySchema } from './capacity.ts';
import { MAX_DIAG_PAYLOAD_BYTES, MAX_EVENT_PAYLOAD_BYTES, MAX_HOST_SESSIONS } from './limits.ts';

/** Features of agents. An open list: unknown ones are kept. */
export const AGENT_FEATURES = [
  'process_runtime',
  'swap',
  'display',
  'stream_resize',
  'tune',
  'capture',
  'images',
  'image_build',
  'console',
  'mic',
  'bench',
  'recorder',
] as const;

export const heldSessionSchema = z.object({
  session_id: wireUuid,
  /** assigned = prepared, not started */
  state: z.enum(['assigned', 'starting', 'running', 'stopping', 'stopped', 'failed']),
  app_id: wireUuid,
  started_at: epochMs.nullable(),
  /** a peer connection is up */
  viewer: z.boolean(),
  error: humanText(512).optional(),
  failure_code: openEnum(64).optional(),
});
export type HeldSession = z.infer<typeof heldSessionSchema>;

export const registerSchema = z.object({
  type: z.literal('register'),
  node_name: text(63),
  agent_version: humanText(64),
  protocol: z.object({ min: int, max: int }),
  /** new per agent process */
  boot_id: wireUuid,
  features: z.array(openEnum(64)).max(64),
  sessions: z.array(heldSessionSchema).max(MAX_HOST_SESSIONS),
  /** absent keeps the stored rows, present is the truth */
  images: z
    .array(
      z.object({
        image_id: text(128),
        version: text(128),
        state: z.enum(['ready', 'pulling', 'building', 'failed']),
      }),
    )
    .max(256)
    .optional(),
});
export type Register = z.infer<typeof registerSchema>;

/** Unmeasured values are missing, never 0. */
export const heartbeatSchema = z.object({
  type: z.literal('heartbeat'),
  ts: epochMs,
  running_sessions: z.array(wireUuid).max(MAX_HOST_SESSIONS),
  gpu_vram: z
    .array(z.object({ index: int, used_mb: int.optional(), free_mb: int.optional() }))
    .max(16)
    .optional(),
  encoder_load: z
    .array(z.object({ gpu_index: int, sessions: count, load: z.number().min(0).max(1).optional() }))
    .max(64)
    .optional(),
  cpu_load: finite.optional(),
  mem_free_mb: int.optional(),
  clock: z.object({ offset_ms: finite, rtt_ms: finite }).optional(),
});
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** Codes an agent gives a failed session; the list is open. */
export const FAILURE_CODES = [
  'app_exited_early',
  'app_crashed',
  'app_never_presented',
  'image_missing',
  'image_pull_timeout',
  'encoder_unavailable',
  'encoder_failed',
  'media_worker_crashed',
  'display_failed',
  'display_name_taken',
  'capture_failed',
  'container_failed',
  'home_unavailable',
  'internal',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** Launch steps in the order of their reports; a step without work is skipped. */
export const LAUNCH_STEPS = {
  waiting_home: 'waiting for the previous session to release its home',
  preparing_home: 'preparing home',
  starting_display: 'starting display',
  starting_app: 'starting app',
  starting_encoder: 'starting encoder',
  app_booting: 'app booting',
  app_presented: 'app presented',
} as const;

/** Detail of the step that pulls an image. */
export function pullingImage(percent: number): string {
  return `pulling image ${Math.round(percent)} %`;
}

const seq = z.int().min(1);

export const sessionStateSchema = z.object({
  type: z.literal('session_state'),
  seq,
  session_id: wireUuid,
  ts: epochMs,
  state: z.enum(['starting', 'running', 'stopping', 'stopped', 'failed']),
  detail: humanText(512).optional(),
  /** who ended it: idle_timeout, app_exited, peer_gone, agent_shutdown, orphaned, or the reason of session_stop */
  reason: openEnum(64).optional(),
  error: humanText(512).optional(),
  failure_code: openEnum(64).optional(),
  app_log_tail: humanText(65536).optional(),
  swap: z
    .object({
      app_id: wireUuid,
      result: z.enum(['complete', 'rolled_back']),
      error: humanText(256).optional(),
    })
    .optional(),
  /** size of the home, once, on the last report */
  home_bytes: count.optional(),
});
export type SessionState = z.infer<typeof sessionStateSchema>;

const METRIC_KEY = /^[a-z][a-z0-9_]{0,63}$/;
export type Metrics = Record<string, number | boolean | string>;

/** At most 96 keys; malformed keys are dropped, a value of another type is malformed. */
export const metricsSchema = z
  .custom<Metrics>(isMetricMap, { error: 'not metrics' })
  .transform((value): Metrics => {
    const metrics: Metrics = {};
    for (const [key, item] of Object.entries(value)) {
      if (METRIC_KEY.test(key)) metrics[key] = typeof item === 'string' ? stripControls(item) : item;
    }
    return metrics;
  });

function isMetricMap(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const entries = Object.entries(value);
  if (entries.length > 96) return false;
  return entries.every(([key, item]) => {
    if (!METRIC_KEY.test(key)) return true;
    if (typeof item === 'number') return Number.isFinite(item);
    return typeof item === 'boolean' || (typeof item === 'string' && fitsUtf8(item, 64));
  });
}

export const sessionMetricsSchema = z.object({
  type: z.literal('session_metrics'),
  session_id: wireUuid,
  /** end of the window */
  ts: epochMs,
  window_ms: count,
  metrics: metricsSchema,
  app_launch_state: appLaunchState.optional(),
  /** seconds until the host ends the session without a viewer; null: a viewer is connected, or no limit */
  idle_ends_in_s: count.nullable().optional(),
  /** stored during an outage */
  late: z.literal(true).optional(),
});
export type SessionMetrics = z.infer<typeof sessionMetricsSchema>;

/** Bound of an event's payload in bytes of JSON. */
export function maxEventPayloadBytes(event: string): number {
  return event.startsWith('diag.') ? MAX_DIAG_PAYLOAD_BYTES : MAX_EVENT_PAYLOAD_BYTES;
}

export const sessionTraceEventSchema = z
  .object({
    type: z.literal('session_trace_event'),
    session_id: wireUuid,
    ts: epochMs,
    event: openEnum(64),
    payload: jsonObject,
    /** on the reliable lane only */
    seq: seq.optional(),
  })
  .refine((value) => utf8Length(JSON.stringify(value.payload)) <= maxEventPayloadBytes(value.event), {
    error: 'payload too large',
    path: ['payload'],
  });
export type SessionTraceEvent = z.infer<typeof sessionTraceEventSchema>;

export const imageStateSchema = z.object({
  type: z.literal('image_state'),
  /** absent on mere progress */
  seq: seq.optional(),
  image_id: text(128),
  version: text(128),
  state: z.enum(['absent', 'pulling', 'building', 'ready', 'failed']),
  progress_pct: z.int().min(0).max(100).optional(),
  bytes: count.optional(),
  error: humanText(300).optional(),
});
export type ImageState = z.infer<typeof imageStateSchema>;

/** Reasons of a refused command. Complete for this version; receivers keep unknown ones. */
export const NACK_CODES = [
  'no_such_session',
  'no_such_recording',
  'unsupported',
  'unknown_kind',
  'invalid',
  'policy',
  'busy',
  'internal',
  'unknown_command',
  'encoder_unavailable',
  'image_missing',
  'display_update_rejected',
] as const;
export type NackCode = (typeof NACK_CODES)[number];

/** Accepted or refused, not finished. code and error only when refused. */
export const ackSchema = z.object({
  type: z.literal('ack'),
  id: wireUuid,
  ok: z.boolean(),
  code: openEnum(64).optional(),
  error: humanText(512).optional(),
});
export type Ack = z.infer<typeof ackSchema>;

/** Informative, both ways: logged, never answered. */
export const linkErrorSchema = z.object({
  type: z.literal('error'),
  code: openEnum(64),
  message: humanText(512),
  ref: wireUuid.optional(),
});
export type LinkError = z.infer<typeof linkErrorSchema>;

/** Messages of a viewer's negotiation that come from the agent. */
export const agentSignal = z.discriminatedUnion('type', [
  offerSchema,
  resumedSchema,
  candidateSchema,
  signalErrorSchema,
  serviceByeSchema,
]);
/** The same by type. */
export const agentSignals = {
  offer: offerSchema,
  resumed: resumedSchema,
  candidate: candidateSchema,
  error: signalErrorSchema,
  bye: serviceByeSchema,
} as const;
export type AgentSignal = z.infer<typeof agentSignal>;

export const agentSignalingSchema = z.object({
  type: z.literal('signaling'),
  session_id: wireUuid,
  /** the attached browser socket; messages of an older one are dropped */
  conn: int,
  msg: agentSignal,
});
export type AgentSignaling = z.infer<typeof agentSignalingSchema>;

export const agentMessages = {
  register: registerSchema,
  capacity: capacitySchema,
  heartbeat: heartbeatSchema,
  session_state: sessionStateSchema,
  session_metrics: sessionMetricsSchema,
  session_trace_event: sessionTraceEventSchema,
  image_state: imageStateSchema,
  ack: ackSchema,
  signaling: agentSignalingSchema,
  error: linkErrorSchema,
} as const;

export const agentToControl = z.discriminatedUnion('type', [
  registerSchema,
  capacitySchema,
  heartbeatSchema,
  sessionStateSchema,
  sessionMetricsSchema,
  sessionTraceEventSchema,
  imageStateSchema,
  ackSchema,
  agentSignalingSchema,
  linkErrorSchema,
]);
export type AgentMessage = z.infer<typeof agentToControl>;
