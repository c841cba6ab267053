/** Messages from the agent to the control plane. */
import { z } from 'zod';
import {
  appLaunchState,
  count,
  epochMs,
  type FailureCode,
  finite,
  fitsUtf8,
  humanText,
  int,
  isJsonObject,
  jsonObject,
  keyText,
  openCode,
  openEnum,
  type RefusalCode,
  type SessionEndReason,
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
import { type AgentEventType, OPERATOR_EVENT } from '../telemetry/events.ts';
import type { AgentMetrics } from '../telemetry/metrics.ts';
import { capacitySchema } from './capacity.ts';
import { MAX_DIAG_PAYLOAD_BYTES, MAX_EVENT_PAYLOAD_BYTES, MAX_HOST_SESSIONS } from './limits.ts';
import { preflightAnswer } from './preflight.ts';

/** Features that agents report. The list is open: unknown features are stored too. */
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
  'guests',
  'preflight',
  'home_base',
] as const;

export const heldSessionSchema = z.object({
  session_id: wireUuid,
  /** assigned: prepared, but not started */
  state: z.enum(['assigned', 'starting', 'running', 'stopping', 'stopped', 'failed']),
  app_id: wireUuid,
  started_at: epochMs.nullable(),
  /** whether a peer connection is connected */
  viewer: z.boolean(),
  error: humanText(512).optional(),
  failure_code: openCode<FailureCode>().optional(),
});
export type HeldSession = z.infer<typeof heldSessionSchema>;

export const registerSchema = z.object({
  type: z.literal('register'),
  node_name: text(63),
  agent_version: humanText(64),
  protocol: z.object({ min: int, max: int }),
  /** a new id for each agent process */
  boot_id: wireUuid,
  features: z.array(openEnum(64)).max(64),
  sessions: z.array(heldSessionSchema).max(MAX_HOST_SESSIONS),
  /** missing: the stored rows stay; present: the list replaces them */
  images: z
    .array(
      z.object({
        image_id: keyText(128),
        version: keyText(128),
        state: z.enum(['ready', 'pulling', 'building', 'failed']),
      }),
    )
    .max(256)
    .optional(),
});
export type Register = z.infer<typeof registerSchema>;

/** Values that were not measured are missing instead of 0. */
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
  /** share of the time since the last heartbeat in which the cores were busy */
  cpu_busy: z.number().min(0).max(1).optional(),
  mem_free_mb: int.optional(),
  /** traffic of all networks of the host since the last heartbeat */
  net: z.object({ rx_kbps: count, tx_kbps: count }).optional(),
  clock: z.object({ offset_ms: finite, rtt_ms: finite }).optional(),
});
export type Heartbeat = z.infer<typeof heartbeatSchema>;

const seq = z.int().min(1);

export const sessionStateSchema = z.object({
  type: z.literal('session_state'),
  seq,
  session_id: wireUuid,
  ts: epochMs,
  state: z.enum(['starting', 'running', 'stopping', 'stopped', 'failed']),
  detail: humanText(512).optional(),
  reason: openCode<SessionEndReason>().optional(),
  error: humanText(512).optional(),
  failure_code: openCode<FailureCode>().optional(),
  app_log_tail: humanText(65536).optional(),
  swap: z
    .object({
      app_id: wireUuid,
      result: z.enum(['complete', 'rolled_back']),
      error: humanText(256).optional(),
    })
    .optional(),
  /** size of the home in bytes; only in the last report */
  home_bytes: count.optional(),
});
export type SessionState = z.infer<typeof sessionStateSchema>;

const METRIC_KEY = /^[a-z][a-z0-9_]{0,63}$/;

/** At most 96 keys. Malformed keys are dropped; a value of a wrong type makes the message malformed. */
export const metricsSchema = z
  .custom<AgentMetrics>(isMetricMap, { error: 'not metrics' })
  .transform((value): AgentMetrics => {
    const metrics: Record<string, number | boolean | string> = {};
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
  /** seconds until the host ends the session without a viewer; null: a viewer is connected, or there is no limit */
  idle_ends_in_s: count.nullable().optional(),
  /** whether the sample was stored during an outage */
  late: z.literal(true).optional(),
});
export type SessionMetrics = z.infer<typeof sessionMetricsSchema>;

/** Longest payload of an event, in bytes of JSON. */
export function maxEventPayloadBytes(event: string): number {
  return event.startsWith('diag.') ? MAX_DIAG_PAYLOAD_BYTES : MAX_EVENT_PAYLOAD_BYTES;
}

export const sessionTraceEventSchema = z
  .object({
    type: z.literal('session_trace_event'),
    session_id: wireUuid,
    ts: epochMs,
    event: openCode<AgentEventType>(),
    payload: jsonObject,
    /** only in reliable messages */
    seq: seq.optional(),
  })
  .refine(({ event }) => event !== OPERATOR_EVENT, { error: 'not an event of agents', path: ['event'] })
  .refine((value) => utf8Length(JSON.stringify(value.payload)) <= maxEventPayloadBytes(value.event), {
    error: 'payload too large',
    path: ['payload'],
  });
export type SessionTraceEvent = z.infer<typeof sessionTraceEventSchema>;

export const imageStateSchema = z.object({
  type: z.literal('image_state'),
  /** missing if only the progress changed */
  seq: seq.optional(),
  image_id: keyText(128),
  version: keyText(128),
  state: z.enum(['absent', 'pulling', 'building', 'ready', 'failed']),
  progress_pct: z.int().min(0).max(100).optional(),
  bytes: count.optional(),
  error: humanText(300).optional(),
});
export type ImageState = z.infer<typeof imageStateSchema>;

/**
 * Reports that a command was accepted or refused, not that its work is done. code and error are present only if it was
 * refused.
 */
export const ackSchema = z.object({
  type: z.literal('ack'),
  id: wireUuid,
  ok: z.boolean(),
  code: openCode<RefusalCode>().optional(),
  error: humanText(512).optional(),
  /** only of an accepted `preflight` */
  preflight: preflightAnswer.optional(),
});
export type Ack = z.infer<typeof ackSchema>;

/** For information only, in both directions: it is logged, but never answered. */
export const linkErrorSchema = z.object({
  type: z.literal('error'),
  code: openEnum(64),
  message: humanText(512),
  ref: wireUuid.optional(),
});

/** Messages of a negotiation that the agent sends to a viewer. */
export const agentSignal = z.discriminatedUnion('type', [
  offerSchema,
  resumedSchema,
  candidateSchema,
  signalErrorSchema,
  serviceByeSchema,
]);
export type AgentSignal = z.infer<typeof agentSignal>;

export const agentSignalingSchema = z.object({
  type: z.literal('signaling'),
  session_id: wireUuid,
  /** number of the attached browser socket; messages for an older socket are dropped */
  conn: int,
  msg: agentSignal,
});
export type AgentSignaling = z.infer<typeof agentSignalingSchema>;

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
