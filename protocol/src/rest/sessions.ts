import { z } from 'zod';
import { appLaunchState, codec, h264Profile, sessionStateName, uuid } from '../common.ts';
import { body, dateTime, evenPixels, idParams, int32, page, pageQuery, searchText, string } from './atoms.ts';
import { operation } from './operation.ts';

/** The stream of a session. width and height are the launch size, whatever the picture has now; rates in kbit/s. */
export const sessionStream = z.object({
  width: z.int(),
  height: z.int(),
  fps: z.int(),
  bitrate_kbps: z.int(),
  h264_profile: h264Profile,
  codec,
  playout0_ms: z.int(),
  mic: z.boolean(),
  recording: z.boolean(),
  rungs: z.array(z.tuple([z.int(), z.int()])),
  external_width: z.int().optional(),
  external_height: z.int().optional(),
  external_owner: z.enum(['auto', 'pinned']).optional(),
  external_resize_supported: z.boolean().optional(),
});
export type SessionStream = z.output<typeof sessionStream>;

/** Why a session streams with the codec it has. */
export const codecDecision = z.object({
  result_rung: z.string(),
  result_codec: z.string(),
  override: z.string().nullable(),
  floor: z.boolean(),
  considered: z.array(
    z.object({
      rung_id: z.string(),
      codec: z.string(),
      rejected_by: z.string().nullable(),
      selected: z.boolean(),
      clamps_bypassed: z.array(z.string()),
    }),
  ),
});
export type CodecDecision = z.output<typeof codecDecision>;

export const healthState = z.enum([
  'healthy',
  'network_degrading',
  'abr_at_floor',
  'client_decode_degrading',
  'client_presentation_degrading',
  'unsustainable',
  'failed',
]);

/** One run of one app for one person. The texts of failure appear only with the states that may carry them. */
export const session = z.object({
  id: z.string(),
  user_id: z.string(),
  app_id: z.string(),
  host_id: z.string().nullable(),
  state: sessionStateName,
  state_detail: z.string().nullable(),
  error_message: z.string().nullable(),
  failure_code: z.string().nullable(),
  end_reason: z.string().nullable(),
  app_log_tail: z.string().nullable(),
  profile_id: z.string().nullable(),
  stream_profile_id: z.string().nullable(),
  stream: sessionStream,
  codec_decision: codecDecision.nullable(),
  negotiated_codec: z.string().nullable(),
  health_state: healthState.optional(),
  health_reason: z.string().optional(),
  app_launch_state: appLaunchState.optional(),
  created_at: dateTime,
  started_at: dateTime.nullable(),
  ended_at: dateTime.nullable(),
});
export type Session = z.output<typeof session>;

const metricsSample = z.object({
  source: z.string(),
  ts_unix_ms: z.int(),
  metrics: z.record(z.string(), z.number()),
});

/** A session as administrators list it; names are left out when their row is gone. */
export const adminSession = session.extend({
  latest_metrics: z.object({ agent: metricsSample.optional(), browser: metricsSample.optional() }),
  username: z.string().optional(),
  app_name: z.string().optional(),
  host_name: z.string().optional(),
});
export type AdminSession = z.output<typeof adminSession>;

export const iceServer = z.object({
  urls: z.array(z.string()),
  username: z.string().optional(),
  credential: z.string().optional(),
});
export type IceServer = z.output<typeof iceServer>;

/** Where and with which single-use token the viewer connects. */
export const signaling = z.object({
  url: z.string(),
  token: z.string(),
  expires_at: dateTime,
  ice_servers: z.array(iceServer),
});
export type Signaling = z.output<typeof signaling>;

/** What a launch may ask of the stream. A codec alone is no override of the envelope. */
export const streamRequest = z.strictObject({
  width: evenPixels(16, 7680).optional(),
  height: evenPixels(16, 7680).optional(),
  fps: int32(1, 240).optional(),
  bitrate_kbps: int32(1, 500000).optional(),
  h264_profile: h264Profile.optional(),
  codec: codec.optional(),
});
export type StreamRequest = z.output<typeof streamRequest>;

const launchBody = body({
  app_id: uuid,
  profile_id: string().optional(),
  client_type: string().optional(),
  mic: z.boolean().default(false),
  stream: streamRequest.optional(),
});

/** Values of `state` on the administrators' list. Another value is refused with its own code by the handler. */
export const adminSessionFilters = ['all', 'active', 'ended', 'failed'] as const;
export type AdminSessionFilter = (typeof adminSessionFilters)[number];

export const sessionOperations = {
  'sessions.launch': operation({
    id: 'sessions.launch',
    method: 'POST',
    path: '/v1/sessions',
    auth: 'user',
    summary: 'Launch an app',
    body: { schema: launchBody },
    responses: { 201: z.object({ session, signaling }) },
    refusals: {
      not_found: '',
      parent_app_disabled: '',
      forbidden: '',
      conflict: '',
      profile_not_launchable_for_app: '',
      profile_ineligible: '',
      home_not_provisioned: '',
      session_quota_exceeded: '',
      home_in_use: '',
      no_host_available: '',
      capacity_exhausted: '',
    },
  }),
  'sessions.list': operation({
    id: 'sessions.list',
    method: 'GET',
    path: '/v1/sessions',
    auth: 'user',
    summary: "The caller's sessions, newest first",
    query: pageQuery(50),
    responses: { 200: page(session) },
  }),
  'sessions.read': operation({
    id: 'sessions.read',
    method: 'GET',
    path: '/v1/sessions/{id}',
    auth: 'user',
    summary: 'One session, to its owner and to administrators',
    params: idParams,
    responses: { 200: z.object({ session }) },
    refusals: { forbidden: '', not_found: '' },
  }),
  'sessions.delete': operation({
    id: 'sessions.delete',
    method: 'DELETE',
    path: '/v1/sessions/{id}',
    auth: 'user',
    summary: 'Stop a session; 200 when it had already ended',
    params: idParams,
    responses: { 200: z.object({ session }), 202: z.object({ session }) },
    refusals: { forbidden: '', not_found: '' },
  }),
  'sessions.events': operation({
    id: 'sessions.events',
    method: 'GET',
    path: '/v1/sessions/{id}/events',
    auth: 'user',
    summary: 'Follow a session: events named `session`, each with the whole record',
    params: idParams,
    responses: { 200: z.object({ session }) },
    refusals: { forbidden: '', not_found: '', rate_limited: '' },
    contentType: 'text/event-stream',
  }),
  'sessions.signalingToken': operation({
    id: 'sessions.signalingToken',
    method: 'POST',
    path: '/v1/sessions/{id}/signaling-token',
    auth: 'user',
    summary: 'Another single-use token for the viewer, to the owner only',
    params: idParams,
    responses: { 201: z.object({ signaling }) },
    refusals: { forbidden: '', not_found: '', conflict: '' },
  }),
  'admin.sessions.list': operation({
    id: 'admin.sessions.list',
    method: 'GET',
    path: '/v1/admin/sessions',
    auth: 'admin',
    summary: "Everybody's sessions, newest first",
    query: pageQuery(100).extend({ state: z.string().optional(), q: searchText }),
    responses: { 200: page(adminSession) },
    refusals: { invalid_state: '' },
  }),
  'signal.connect': operation({
    id: 'signal.connect',
    method: 'GET',
    path: '/v1/signal',
    auth: 'signaling-token',
    summary: "The viewer's signaling socket",
    query: z.object({ token: z.string().min(1) }),
    responses: { 101: null },
    refusals: { forbidden: '', rate_limited: '', validation_failed: '' },
    websocket: true,
  }),
} as const;
