import { z } from 'zod';
import {
  appLaunchState,
  codec,
  type FailureCode,
  h264Profile,
  openCode,
  type SessionEndReason,
  sessionStateName,
  uuid,
} from '../common.ts';
import { HEALTH_STATES } from '../telemetry/metrics.ts';
import { body, dateTime, idParams, madeId, page, pageQuery, searchText } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { hostStatus } from './fleet/fleet.ts';
import { launchFields } from './launch-request.ts';
import { operation } from './operation.ts';

/**
 * The stream of a session. width and height are the launch size, not the picture's current size; rates are in kbit/s.
 */
export const sessionStream = z
  .object({
    width: z.int().describe('Width at launch, in pixels, whatever the picture has now.'),
    height: z.int().describe('Height at launch, in pixels, whatever the picture has now.'),
    fps: z.int().describe('Frames a second.'),
    bitrate_kbps: z.int().describe('Video rate that the stream aims at, in kbit/s.'),
    h264_profile: h264Profile.describe('H.264 profile; of no meaning with another codec.'),
    codec: codec.describe('Video codec of the stream.'),
    playout0_ms: z.int().describe('Delay that the player begins with, in milliseconds.'),
    mic: z.boolean().describe('The microphone of the viewer is passed to the app.'),
    recording: z.boolean().describe('The flight recorder keeps the last minutes; the page shows it.'),
    rungs: z
      .array(z.tuple([z.int(), z.int()]))
      .describe('Sizes that the picture may take, each width and height in pixels; the launch size first.'),
    external_width: z
      .int()
      .optional()
      .describe('Width of the picture now, in pixels; left out until the agent reports it.'),
    external_height: z
      .int()
      .optional()
      .describe('Height of the picture now, in pixels; left out until the agent reports it.'),
    external_owner: z
      .enum(['auto', 'pinned'])
      .optional()
      .describe(
        'Who sets that size: `pinned` by a request, or `auto`, the rate control; left out until the agent reports it.',
      ),
    external_resize_supported: z
      .boolean()
      .optional()
      .describe('That size can be changed while it runs; left out until the agent reports it.'),
  })
  .meta({ id: 'SessionStream', description: 'What is streamed, as it was settled at launch.' });
export type SessionStream = z.output<typeof sessionStream>;

/** Why a session uses its codec. */
export const codecDecision = z
  .object({
    result_rung: z.string().describe('Id of the rung that was taken.'),
    result_codec: z.string().describe('Codec of that rung.'),
    override: z
      .string()
      .nullable()
      .describe('Codec that the launch asked for; null where it asked for none.'),
    floor: z.boolean().describe('No rung passed, so the last one was taken in spite of its checks.'),
    considered: z
      .array(
        z.object({
          rung_id: z.string().describe('Id of the rung.'),
          codec: z.string().describe('Its codec.'),
          rejected_by: z
            .string()
            .nullable()
            .describe('The check that it failed, such as `client_decode`; null where it passed. May grow.'),
          selected: z.boolean().describe('This is the rung that was taken.'),
          clamps_bypassed: z.array(z.string()).describe('Checks that were not applied to it.'),
        }),
      )
      .describe('Every rung that was looked at, in order.'),
  })
  .meta({ id: 'CodecDecision', description: 'Why a session streams with the codec it has.' });
export type CodecDecision = z.output<typeof codecDecision>;

/** One run of an app for a person. Texts about failures appear only in states in which they are allowed. */
export const session = z
  .object({
    id: madeId.describe('Id of the session.'),
    user_id: madeId.describe('Id of the account that it belongs to.'),
    app_id: madeId.describe('Id of the app that runs in it.'),
    host_id: madeId
      .nullable()
      .describe('Id of the host that it runs on; null while it has none, or once the host was forgotten.'),
    state: sessionStateName.describe(
      'Its state: pending, assigned, starting, running, stopping, and finally stopped or failed.',
    ),
    state_detail: z
      .string()
      .nullable()
      .describe(
        'What is going on within that state, in a few words, such as `starting display`; null: nothing to add.',
      ),
    error_message: z.string().nullable().describe('What went wrong, for people; null unless it failed.'),
    failure_code: openCode<FailureCode>()
      .nullable()
      .describe('Machine name of the failure, such as `app_crashed`; null unless it failed. May grow.'),
    end_reason: openCode<SessionEndReason>()
      .nullable()
      .describe('Why it ended, such as `user_requested` or `idle_timeout`; null until it has. May grow.'),
    app_log_tail: z
      .string()
      .nullable()
      .describe(
        'About the last hundred lines that the app wrote, oldest first; null unless it failed or the app went by itself.',
      ),
    profile_id: z.string().nullable().describe('Id of the launch profile in force; null where none is.'),
    stream_profile_id: z
      .string()
      .nullable()
      .describe('Id of the rung of that profile that was taken; null without a profile.'),
    stream: sessionStream,
    codec_decision: codecDecision
      .nullable()
      .describe('Why this codec; null where nothing had to be decided.'),
    negotiated_codec: z
      .string()
      .nullable()
      .describe('Codec that the viewer last said it decodes; null until it says so.'),
    health_state: z
      .enum(HEALTH_STATES)
      .optional()
      .describe(
        'Health of the stream. `network_degrading`, `abr_at_floor` and `unsustainable`: it has been at its lowest rate for 30, 90 and 180 s; the last of these ends the session. `client_decode_degrading` and `client_presentation_degrading`: the device of its viewer has decoded too slowly or shown frames unevenly for 20 s, while the network is not the limit. Left out while nothing is known, and once it was stopped.',
      ),
    health_reason: z
      .string()
      .optional()
      .describe('Why it has this health, in a few words; left out if nothing is known.'),
    app_launch_state: appLaunchState
      .optional()
      .describe('How far the app has come, by its processes and windows; left out while nothing is known.'),
    idle_ends_at: dateTime
      .nullable()
      .optional()
      .describe(
        'When the host ends it because nobody watches; null while somebody does, or where it is never ended so; left out while that is not known.',
      ),
    video_topology: z
      .enum(['local_only', 'dual_output'])
      .optional()
      .describe(
        'Launched for the display attached to its host: `local_only` is shown there alone, `dual_output` is streamed as well; left out for every other session.',
      ),
    created_at: dateTime.describe('When it was launched.'),
    started_at: dateTime.nullable().describe('When it first ran; null until then.'),
    ended_at: dateTime.nullable().describe('When it ended; null until then.'),
  })
  .meta({ id: 'Session', description: 'One run of one app for one person.' });
export type Session = z.output<typeof session>;

const metricsSample = z
  .object({
    source: z.string().describe('Who measured: `agent` or `browser`.'),
    ts_unix_ms: z.int().describe('When, by the clock of who measured, in milliseconds since 1970.'),
    metrics: z.record(z.string(), z.number()).describe('Figures by name; the unit is in the name.'),
  })
  .meta({ id: 'MetricsSample', description: 'One set of figures of a session.' });

/** A session in the list for administrators. A name is missing if its row was deleted. */
export const adminSession = session
  .extend({
    latest_metrics: z
      .object({
        agent: metricsSample.optional().describe('Newest from the host; left out where there is none.'),
        browser: metricsSample.optional().describe('Newest from the viewer; left out where there is none.'),
      })
      .describe('Newest figures.'),
    username: z.string().optional().describe('Name of the account; left out once the account is gone.'),
    app_name: z.string().optional().describe('Name of the app; left out once the app is gone.'),
    host_name: z.string().optional().describe('Name of the host; left out while there is none.'),
    host_status: hostStatus.optional().describe('Status of the host; left out while there is none.'),
  })
  .meta({ id: 'AdminSession', description: 'A session as administrators list it.' });
export type AdminSession = z.output<typeof adminSession>;

export const iceServer = z
  .object({
    urls: z.array(z.string()).describe('Addresses, such as `stun:stun.example.com:3478`.'),
    username: z.string().optional().describe('Name for a TURN server; left out where it needs none.'),
    credential: z.string().optional().describe('Password for a TURN server; left out where it needs none.'),
  })
  .meta({ id: 'IceServer', description: 'A STUN or TURN server, as RTCPeerConnection takes it.' });
export type IceServer = z.output<typeof iceServer>;

/** URL and single-use token for the viewer's connection. */
export const signaling = z
  .object({
    url: z.string().describe('Address of the signaling socket; the token goes into its query.'),
    token: z.string().describe('Single-use token for it.'),
    expires_at: dateTime.describe('When the token ends, a minute after it was made.'),
    ice_servers: z.array(iceServer).describe('Servers for the peer connection; empty where none is set.'),
  })
  .meta({ id: 'Signaling', description: 'Where and with which token the viewer connects.' });
export type Signaling = z.output<typeof signaling>;

const launchBody = body(launchFields);

/** Checks only types, because the bounds are checked after the session's state. */
const displayBody = body({
  render_width: z
    .int()
    .optional()
    .describe('Width of the display that the app draws on, in pixels: even, from 16 to the launch width.'),
  render_height: z
    .int()
    .optional()
    .describe('Height of that display, in pixels: even, from 16 to the launch height; only with its width.'),
  ui_scale: z
    .number()
    .optional()
    .describe('How large texts and controls are drawn, from 1.0 to 3.0; left out: as it is.'),
  stream_width: z
    .int()
    .optional()
    .describe('Width of the picture, in pixels: with its height one of `stream.rungs`.'),
  stream_height: z.int().optional().describe('Height of the picture, in pixels; only with its width.'),
});

/** Values of `state` in the administrators' list. The handler refuses other values with a separate code. */
export const adminSessionFilters = ['all', 'active', 'ended', 'failed'] as const;
export type AdminSessionFilter = (typeof adminSessionFilters)[number];

const sessionOrders = ['app', 'state', 'user', 'host', 'created', 'picture'] as const;
export type SessionOrder = (typeof sessionOrders)[number];
const sessionSort = z
  .enum(sessionOrders.flatMap((order) => [order, `-${order}` as const]))
  .describe(
    'Order by name of the app, state, name of the account, name of the host, creation, or size of the picture; `-` reverses it, and sessions without the value are always last. Equal sessions are newest first. Left out: newest first.',
  );

const exampleStream = {
  width: 1920,
  height: 1080,
  fps: 60,
  bitrate_kbps: 8000,
  h264_profile: 'constrained-baseline',
  codec: 'h264',
  playout0_ms: 50,
  mic: false,
  recording: false,
  rungs: [
    [1920, 1080],
    [1600, 900],
    [1280, 720],
  ],
};
const exampleSession = {
  id: exampleIds.session,
  user_id: exampleIds.alice,
  app_id: exampleIds.app,
  host_id: exampleIds.host,
  state: 'running',
  state_detail: 'app presented',
  error_message: null,
  failure_code: null,
  end_reason: null,
  app_log_tail: null,
  profile_id: null,
  stream_profile_id: null,
  stream: exampleStream,
  codec_decision: null,
  negotiated_codec: 'h264',
  created_at: '2026-11-20T10:00:00.000Z',
  started_at: '2026-11-20T10:00:04.120Z',
  ended_at: null,
};
const exampleAssigned = {
  ...exampleSession,
  state: 'assigned',
  state_detail: null,
  negotiated_codec: null,
  started_at: null,
};
const exampleSignaling = {
  url: 'wss://stream.example.com/v1/signal',
  token: '4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce',
  expires_at: '2026-11-20T10:01:00.000Z',
  ice_servers: [{ urls: ['stun:stun.example.com:3478'] }],
};
const byId = { id: exampleSession.id };
const NOT_YOURS = 'There is no such session among those of the caller. Administrators reach all.';
const GONE = 'The caller is an administrator, and there is no such session.';

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
      rate_limited: 'The caller asked for 600 launches within ten minutes.',
      not_found: 'There is no such app, or it is disabled.',
      parent_app_disabled: 'The app belongs to another one, and that is disabled; the message names it.',
      forbidden: 'The caller has no entitlement to the app; administrators need one too.',
      conflict:
        'The caller may not choose profile or stream here, the app cannot be run as it is set up, or the chosen host cannot encode the codec asked for.',
      profile_not_launchable_for_app: 'The app does not offer that profile to people.',
      profile_ineligible:
        'The profile in force is not for people, or does not suit the connection or device of the caller.',
      home_not_provisioned: 'The app shares the home of another one, which the caller has never started.',
      session_quota_exceeded: 'The caller has as many sessions as the account may.',
      home_in_use:
        'Another session of the caller uses the home of the app; `session_id` names it where it is known.',
      no_host_available: 'No GPU of the fleet could run the app, however idle.',
      capacity_exhausted: 'Every GPU that could run the app is taken.',
    },
    example: {
      body: { app_id: exampleSession.app_id, stream: { width: 1920, height: 1080, fps: 60 } },
      response: { session: exampleAssigned, signaling: exampleSignaling },
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
    example: { query: { limit: '20' }, response: { items: [exampleSession], next_cursor: null } },
  }),
  'sessions.read': operation({
    id: 'sessions.read',
    method: 'GET',
    path: '/v1/sessions/{id}',
    auth: 'user',
    summary: 'One session, to its owner and to administrators',
    params: idParams,
    responses: { 200: z.object({ session }) },
    refusals: { forbidden: NOT_YOURS, not_found: GONE },
    example: { params: byId, response: { session: exampleSession } },
  }),
  'sessions.delete': operation({
    id: 'sessions.delete',
    method: 'DELETE',
    path: '/v1/sessions/{id}',
    auth: 'user',
    summary: 'Stop a session; 200 when it had already ended',
    params: idParams,
    responses: { 200: z.object({ session }), 202: z.object({ session }) },
    refusals: { forbidden: NOT_YOURS, not_found: GONE },
    example: {
      params: byId,
      response: { session: { ...exampleSession, state: 'stopping', state_detail: 'stop requested' } },
    },
  }),
  'sessions.events': operation({
    id: 'sessions.events',
    method: 'GET',
    path: '/v1/sessions/{id}/events',
    auth: 'user',
    summary: 'Follow a session: events named `session`, each with the whole record',
    params: idParams,
    responses: { 200: z.object({ session }) },
    refusals: {
      forbidden: NOT_YOURS,
      not_found: GONE,
      rate_limited: 'The account has as many event streams open as it may.',
    },
    contentType: 'text/event-stream',
    example: { params: byId, response: { session: exampleSession } },
  }),
  'sessions.signalingToken': operation({
    id: 'sessions.signalingToken',
    method: 'POST',
    path: '/v1/sessions/{id}/signaling-token',
    auth: 'user',
    summary: 'Another single-use token for the viewer, to the owner only',
    params: idParams,
    responses: { 201: z.object({ signaling }) },
    refusals: {
      rate_limited: 'The caller asked for 300 tokens within a minute.',
      forbidden:
        'There is no such session among those of the caller; administrators join their own only, too.',
      not_found: GONE,
      conflict:
        'The session is shown only on the display attached to its host, or is not assigned, starting or running.',
    },
    example: { params: byId, response: { signaling: exampleSignaling } },
  }),
  'sessions.swap': operation({
    id: 'sessions.swap',
    method: 'POST',
    path: '/v1/sessions/{id}/swap',
    auth: 'user',
    summary: 'Change the app inside a running session',
    description:
      'The picture goes on: the new app starts on the same display and takes over once it has drawn. `state_detail` then says `swap complete`, and `app_id` is the new one. It says `swap rejected` where the host did not take the change, and `swap rolled back: …` where the new app failed and the old one goes on.',
    params: idParams,
    body: { schema: body({ app_id: uuid.describe('Id of the app to change to.') }) },
    responses: { 200: z.object({ session }) },
    refusals: {
      forbidden: `${NOT_YOURS} Or the owner of the session has no entitlement to the app.`,
      session_not_swappable: 'The session does not run, is changing its app already, or has no host.',
      not_found: `${GONE} Or there is no such app, or it is disabled.`,
      parent_app_disabled: 'The app belongs to another one, and that is disabled; the message names it.',
      swap_exceeds_reservation: 'The app needs more encode slots than the session has reserved.',
      home_in_use:
        'Another session of the owner uses the home of the app; `session_id` names it where it is known.',
      home_not_provisioned:
        'The app shares the home of another one, and the owner has none of that on the host of the session.',
      conflict: 'The app cannot be run as it is set up.',
    },
    example: {
      params: byId,
      body: { app_id: exampleSession.app_id },
      response: { session: { ...exampleSession, state_detail: 'swapping' } },
    },
  }),
  'sessions.display': operation({
    id: 'sessions.display',
    method: 'PATCH',
    path: '/v1/sessions/{id}/display',
    auth: 'user',
    summary: 'Change the size of the display or of the picture while the session runs',
    description:
      'Answered once the host has done it. The change is not stored: the next session begins at its launch size.',
    params: idParams,
    body: { schema: displayBody },
    responses: { 202: z.object({ session }) },
    refusals: {
      forbidden: NOT_YOURS,
      not_found: GONE,
      session_not_running: 'The session does not run.',
      external_resize_unsupported:
        'A stream size is asked for, and the host has said that it cannot change the size of this stream.',
      validation_failed:
        'A value is out of its bounds, one of a pair is missing, or nothing is asked for. Judged only now; malformed bodies are refused first.',
      rate_limited: 'Eight changes of this session wait for its host.',
      display_update_rejected: 'The host refused, does not know how, or said nothing within 5 s.',
    },
    example: {
      params: byId,
      body: { stream_width: 1280, stream_height: 720 },
      response: {
        session: {
          ...exampleSession,
          stream: {
            ...exampleStream,
            external_width: 1280,
            external_height: 720,
            external_owner: 'pinned',
            external_resize_supported: true,
          },
        },
      },
    },
  }),
  'admin.sessions.list': operation({
    id: 'admin.sessions.list',
    method: 'GET',
    path: '/v1/admin/sessions',
    auth: 'admin',
    summary: "Everybody's sessions, newest first or in another order",
    query: pageQuery(100).extend({
      state: z
        .string()
        .optional()
        .meta({ enum: adminSessionFilters, description: 'Which sessions; left out: all.' }),
      q: searchText.describe('Part of the name of the account, the app or the host; blank: no filter.'),
      host_id: madeId.optional().describe('Only the sessions of this host; left out: of all hosts.'),
      sort: sessionSort.optional(),
      count: z.stringbool().optional().describe('true: the answer has `total`.'),
    }),
    responses: {
      200: page(adminSession).extend({
        total: z.int().optional().describe('Number of all sessions that match; only with `count=true`.'),
      }),
    },
    refusals: { invalid_state: '`state` is none of its values.' },
    example: {
      query: { state: 'active', limit: '20' },
      response: {
        items: [
          {
            ...exampleSession,
            latest_metrics: {
              agent: { source: 'agent', ts_unix_ms: 1795168860000, metrics: { fps: 60, bitrate_kbps: 7840 } },
            },
            username: 'alice',
            app_name: 'SuperTux',
            host_name: 'node-1',
            host_status: 'online',
          },
        ],
        next_cursor: null,
      },
    },
  }),
  'signal.connect': operation({
    id: 'signal.connect',
    method: 'GET',
    path: '/v1/signal',
    auth: 'signaling-token',
    summary: "The viewer's signaling socket",
    description:
      'A WebSocket of JSON text messages of at most 256 KiB, by which a viewer and the agent of the host agree on a peer connection; picture, sound and input then go straight between them.\n\nThe token is used up when the socket opens. From there refusals are close codes: 4400 a message is malformed; 4401 the token is unknown, expired or used; 4403 the owner removed this guest, or the time of the guest is over; 4404 the session is gone or has ended; 4406 the protocol of the page is not spoken here; 4408 no answer came in time; 4409 the session has no host; 4410 a later viewer took over; 4412 the owner of the session, whose guest this is, does not watch; 4415 host and viewer have no codec in common; 4429 too many messages; 4500 the host cannot be reached. The messages: docs/media.md and protocol/src/signal.',
    query: z.object({
      token: z
        .string()
        .min(1)
        .describe('The token of the launch, of `sessions.signalingToken`, or of `guests.join`.'),
    }),
    responses: { 101: null },
    refusals: {
      forbidden: 'Pages of this origin may not connect.',
      rate_limited: 'This address has presented too many bad tokens, or too many sockets are being opened.',
      validation_failed: 'The token is missing, or the request is no WebSocket upgrade.',
    },
    websocket: true,
    example: { query: { token: exampleSignaling.token } },
  }),
} as const;
