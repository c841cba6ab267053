import { z } from 'zod';
import { jsonObject, uuid } from '../common.ts';
import { body, dateTime, idParams, madeId, windowQuery } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';
import { traceClock, traceEvents, traceSeries, traceWindow } from './trace.ts';
import { sessionVerdict } from './verdict.ts';

const acceptedCapture = z
  .object({
    capture_id: madeId.describe('Id under which the result will be found.'),
    kind: z.string().describe('What is captured.'),
    session_id: madeId.describe('Id of the session.'),
    accepted_at: dateTime.describe('When the host accepted it.'),
  })
  .meta({ id: 'AcceptedCapture', description: 'A capture under way.' });

const capture = z
  .object({
    capture_id: madeId.describe('Id of the capture.'),
    kind: z.string().describe('What was captured.'),
    ts_unix_ms: z.int().describe('End of the capture by the clock of the host, in milliseconds since 1970.'),
    encoding: z
      .enum(['gzip+base64', 'json'])
      .describe('How the result is carried: `gzip+base64` in `data`, `json` in `json`.'),
    content_type: z.string().describe('Media type of the decoded result, such as `text/vnd.graphviz`.'),
    data: z
      .string()
      .optional()
      .describe('The result as base64 of a gzip stream; left out with another encoding or an error.'),
    json: jsonObject
      .meta({ type: 'object' })
      .optional()
      .describe('The result; left out with another encoding or an error.'),
    bytes: z.int().describe('Size of the result before compression, in bytes.'),
    compressed_bytes: z
      .int()
      .describe('Size of the result as the host sent it, in bytes; the same as `bytes` without compression.'),
    original_bytes: z
      .int()
      .optional()
      .describe('Size before a part was cut off, in bytes; left out where nothing was.'),
    truncated: z.boolean().describe('A part was cut off, because the result was over its budget.'),
    duration_ms: z.number().describe('Time that it took on the host, in milliseconds.'),
    error: z.string().optional().describe('Why there is no result; left out where there is one.'),
  })
  .meta({ id: 'Capture', description: 'Result of a capture.' });
export type Capture = z.output<typeof capture>;

const stretch = {
  from_ms: z.int().describe('Begin, in milliseconds since 1970.'),
  to_ms: z.int().describe('End, in milliseconds since 1970.'),
};

const derivedWindows = z
  .object({
    hitches: z
      .array(
        z.object({
          ...stretch,
          present_interval_sd_ms: z.number().describe('Largest deviation of the frame intervals, in ms.'),
        }),
      )
      .describe('Runs of samples with hitches; empty below two of them.'),
    abr_downshifts: z
      .array(
        z.object({
          ts_unix_ms: z.int().describe('When, in milliseconds since 1970.'),
          from_kbps: z.number().describe('The target before, in kbit/s.'),
          to_kbps: z.number().describe('The target after, in kbit/s.'),
        }),
      )
      .describe("Each drop of the rate control's target."),
    encoder_saturation: z
      .array(
        z.object({
          ...stretch,
          encode_ms_p95: z.number().describe('Slowest 95th percentile of the encoder, in ms.'),
        }),
      )
      .describe('Runs of samples with an encoder over its ceiling.'),
    likely_network_congestion: z
      .array(
        z.object({
          ...stretch,
          packets_lost_delta: z.number().describe('Lost packets (count).'),
          rtt_ms_p95: z.number().describe('95th percentile of the round trip, in ms.'),
        }),
      )
      .describe('The whole window where the rule of the verdict matches, else empty.'),
  })
  .describe('Parts of the window that stand out, by the limits of the verdict.');

const bundle = z
  .object({
    format: z.literal(1).describe('Version of this document.'),
    generated_at: dateTime.describe('When it was made.'),
    trace: z
      .object({
        session_id: madeId.describe('Id of the session.'),
        host_id: madeId.nullable().describe('Id of its host; null: it had none yet.'),
        profile_id: z.string().nullable().describe('Launch profile in force; null: none.'),
        started_at: dateTime.nullable().describe('When it began to run; null: it never did.'),
        ended_at: dateTime.nullable().describe('When it ended; null: it goes on.'),
        first_frame_ms: z
          .int()
          .nullable()
          .describe(
            'From the launch to the first picture of the viewer, in milliseconds; null: not reported.',
          ),
      })
      .describe('The session.'),
    window: traceWindow,
    clock: traceClock,
    series: traceSeries,
    events: traceEvents.describe(
      'What happened, oldest first, with the known fields of each type only: fields of others may hold anything.',
    ),
    derived_windows: derivedWindows,
    classifier: sessionVerdict,
    ingest: z
      .object({
        rejected_ts: z.int().describe('Items of the session that were dropped for their time (count).'),
        last_rejected_ts_unix_ms: z.number().describe('The last such time, as it was sent.'),
        last_rejected_reason: z.string().describe('What it probably is, such as `seconds`.'),
      })
      .optional()
      .describe('Left out where nothing was dropped.'),
    captures: z
      .array(
        capture.extend({
          omitted: z
            .literal(true)
            .optional()
            .describe('`data` or `json` was left out, because the document would be too long.'),
        }),
      )
      .describe('Captures of the session, newest first, at most 200; not bound to the window.'),
  })
  .meta({ id: 'DiagnosticBundle', description: 'All that is known of a session in a window of time.' });
export type DiagnosticBundle = z.output<typeof bundle>;

const CAPTURE_ID = '4d0f6a1e-93b7-4c25-8e1a-b7f26c09d538';
const exampleCapture = {
  capture_id: CAPTURE_ID,
  kind: 'log_tail',
  ts_unix_ms: 1795169100000,
  encoding: 'gzip+base64' as const,
  content_type: 'text/plain',
  data: 'H4sIAAAAAAAAA0ssKFDIz0nhAgCxQSgoCQAAAA==',
  bytes: 9,
  compressed_bytes: 29,
  truncated: false,
  duration_ms: 3,
};
const window = { from_ms: 1795168800000, to_ms: 1795169100000 };

export const captureOperations = {
  'admin.sessions.capture': operation({
    id: 'admin.sessions.capture',
    method: 'POST',
    path: '/v1/admin/sessions/{id}/capture',
    auth: 'admin',
    summary: 'Capture something from a running session',
    description:
      'The host captures in the background; the result is read by its id. Kinds: `pipeline_dot` (graph of the media pipeline), `encoder_props` (properties and caps of the encoder), `burst_stats` (frames one by one for a few seconds), `log_tail` (last lines of agent and app). docs/recordings.md shows each.',
    params: idParams,
    body: {
      schema: body({
        kind: z
          .string()
          .optional()
          .describe(
            'What to capture: `pipeline_dot`, `encoder_props`, `burst_stats` or `log_tail`. Required.',
          ),
        params: jsonObject
          .meta({ type: 'object' })
          .optional()
          .describe(
            'Whole numbers, clamped. `log_tail`: `lines` (200; 1 to 1,000). `burst_stats`: `windows` (20; 1 to 40) and `window_ms` (250; 100 to 1,000), together 10 s at most. Others are ignored.',
          ),
      }),
    },
    responses: { 202: acceptedCapture },
    refusals: {
      not_found: 'There is no such session.',
      capture_kind_unsupported:
        'This server or the host does not know the kind, or the session has nothing to capture of it.',
      session_not_running: 'The session does not run, or its host does not hold it.',
      agent_not_connected: 'The host is not connected, takes no messages, or did not answer within 5 s.',
      capture_unsupported: 'The agent of the host does not know captures.',
      capture_busy: 'A capture of this session is under way.',
      conflict: 'The host refused for another reason.',
    },
    example: {
      params: { id: exampleIds.session },
      body: { kind: 'log_tail', params: { lines: 100 } },
      response: {
        capture_id: CAPTURE_ID,
        kind: 'log_tail',
        session_id: exampleIds.session,
        accepted_at: '2026-11-20T10:05:00.000Z',
      },
    },
  }),
  'admin.sessions.captureResult': operation({
    id: 'admin.sessions.captureResult',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/captures/{capture_id}',
    auth: 'admin',
    summary: 'Result of a capture',
    params: idParams.extend({ capture_id: uuid.describe('Id of the capture.') }),
    responses: { 200: capture },
    refusals: { not_found: 'This session has no such capture, or its result has not arrived yet.' },
    example: {
      params: { id: exampleIds.session, capture_id: CAPTURE_ID },
      response: exampleCapture,
    },
  }),
  'admin.sessions.diagnosticBundle': operation({
    id: 'admin.sessions.diagnosticBundle',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/diagnostic-bundle',
    auth: 'admin',
    summary: 'All that is known of a session in a window of time, as one file',
    description:
      'Holds no tokens, secrets, clipboard, input, environment values or SDP. Captures are left out, oldest first, beyond 32 MiB.',
    params: idParams,
    query: windowQuery,
    responses: { 200: bundle },
    headers: {
      'Content-Disposition': 'A file name to save it under.',
      'Cache-Control': 'no-store.',
    },
    refusals: { not_found: 'There is no such session.' },
    example: {
      params: { id: exampleIds.session },
      query: { to: '2026-11-20T10:05:00.000Z' },
      response: {
        format: 1,
        generated_at: '2026-11-20T10:05:02.000Z',
        trace: {
          session_id: exampleIds.session,
          host_id: exampleIds.host,
          profile_id: null,
          started_at: '2026-11-20T10:00:02.000Z',
          ended_at: null,
          first_frame_ms: 1480,
        },
        window,
        clock: { unmeasured: true },
        series: {},
        events: [],
        derived_windows: {
          hitches: [],
          abr_downshifts: [],
          encoder_saturation: [],
          likely_network_congestion: [],
        },
        classifier: {
          verdict: 'unknown',
          reason: 'There are not enough samples to judge.',
          evidence: [],
          window: { ...window, n_host: 0, n_client: 0, warmup_excluded_ms: 0 },
          clock: { quality: 'unmeasured', applied: false },
          evidence_tier: 'insufficient',
          falsifiers: [],
          thresholds_version: '1',
        },
        ingest: {
          rejected_ts: 2,
          last_rejected_ts_unix_ms: 1795168860,
          last_rejected_reason: 'seconds',
        },
        captures: [exampleCapture],
      },
    },
  }),
} as const;
