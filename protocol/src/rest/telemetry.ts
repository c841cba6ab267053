import { z } from 'zod';
import { isJsonObject, type JsonObject, jsonObject } from '../common.ts';
import { NETWORK_PATHS } from '../telemetry/index.ts';
import { idParams, tolerantBody } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

/** Largest body and largest clock report that a viewer may send, in bytes. */
const MAX_POST_BYTES = 32 * 1024;
const MAX_CLOCK_BYTES = 4 * 1024;
const MAX_ITEMS = 64;

/**
 * A time that a viewer measured. Any whole number is accepted, because a value in a wrong unit is counted instead of
 * refused. Nanoseconds since 1970 are larger than safe integers.
 */
const viewerTime = z
  .number()
  .refine(Number.isInteger, { error: 'not a whole number' })
  .meta({ type: 'integer' })
  .describe(
    "When, in milliseconds since 1970 by the viewer's clock. Items more than 24 h from the time of the server are dropped and counted.",
  );

const client = z
  .enum(['browser', 'native'])
  .default('browser')
  .describe('Kind of the viewer; left out: `browser`.');

/** Not copied and not checked in depth, because only a few of its keys are read. */
const measured = z
  .custom<JsonObject>(isJsonObject, { error: 'not an object' })
  .meta({ type: 'object' })
  .describe('Figures by key, numbers or booleans. Keys that this server does not store are dropped.');

const clientSample = z
  .object({
    ts_unix_ms: viewerTime,
    metrics: measured,
    client_health: z
      .string()
      .optional()
      .describe('How the viewer copes, such as `smooth`; unknown values are ignored.'),
    client_health_reason: z.string().optional().describe('Why, in a few words.'),
    device_key: z.string().optional().describe('Key of the device that measured.'),
    codec_mime_type: z
      .string()
      .optional()
      .describe('Codec that the viewer decodes, such as `video/H264`; becomes `negotiated_codec`.'),
    path: z
      .string()
      .optional()
      .describe(
        `Path of the packets: ${NETWORK_PATHS.map((path) => `\`${path}\``).join(', ')}; unknown values are ignored.`,
      ),
  })
  .meta({ id: 'ClientSample', description: 'One second of a viewer.' });
export type ClientSample = z.output<typeof clientSample>;

const clientEvent = z
  .object({
    ts_unix_ms: viewerTime,
    type: z
      .string()
      .describe('Name of the event, such as `client.first_frame`; names of no viewer are dropped.'),
    payload: jsonObject.meta({ type: 'object' }).describe('What belongs to it.'),
  })
  .meta({ id: 'ClientEvent', description: 'Something that a viewer saw happen.' });

const byId = { id: exampleIds.session };
const REFUSALS = {
  forbidden: 'There is no such session among those of the caller. Administrators reach all.',
  not_found: 'The caller is an administrator, and there is no such session.',
  rate_limited: 'Ten posts of this kind came at once for this session, or more than one in two seconds.',
} as const;
const LATE =
  'Also accepted after the end of the session, but then its record does not change. 202 does not promise that it is kept.';

export const telemetryOperations = {
  'sessions.stats': operation({
    id: 'sessions.stats',
    method: 'POST',
    path: '/v1/sessions/{id}/stats',
    auth: 'user',
    summary: 'What the viewer of a session measured',
    description: LATE,
    params: idParams,
    body: {
      schema: tolerantBody({
        client,
        samples: z.array(clientSample).max(MAX_ITEMS).describe('One for each second.'),
      }),
      maxBytes: MAX_POST_BYTES,
      unknownKeys: 'ignored',
    },
    responses: { 202: null },
    refusals: REFUSALS,
    example: {
      params: byId,
      body: {
        client: 'browser',
        samples: [
          {
            ts_unix_ms: 1795168860000,
            metrics: { fps: 60, rtt_ms: 12.5, is_hidden: false },
            client_health: 'smooth',
            codec_mime_type: 'video/H264',
            path: 'udp',
          },
        ],
      },
    },
  }),
  'sessions.traceEvents': operation({
    id: 'sessions.traceEvents',
    method: 'POST',
    path: '/v1/sessions/{id}/trace/events',
    auth: 'user',
    summary: 'What the viewer of a session saw happen',
    description: LATE,
    params: idParams,
    body: {
      schema: tolerantBody({
        client,
        events: z.array(clientEvent).max(MAX_ITEMS).describe('In any order.'),
      }),
      maxBytes: MAX_POST_BYTES,
      unknownKeys: 'ignored',
    },
    responses: { 202: null },
    refusals: REFUSALS,
    example: {
      params: byId,
      body: {
        client: 'browser',
        events: [{ ts_unix_ms: 1795168860000, type: 'client.freeze_detected', payload: { gap_ms: 480 } }],
      },
    },
  }),
  'sessions.traceClock': operation({
    id: 'sessions.traceClock',
    method: 'POST',
    path: '/v1/sessions/{id}/trace/clock',
    auth: 'user',
    summary: "How far the viewer's clock is from that of the host",
    description: `The last one counts. ${LATE}`,
    params: idParams,
    body: {
      schema: tolerantBody({
        client_offset_ms: z
          .number()
          .describe('What is added to a time of the viewer for that of the host, in milliseconds.'),
        uncertainty_ms: z.number().min(0).describe('How far off that may be, in milliseconds.'),
      }),
      maxBytes: MAX_CLOCK_BYTES,
      unknownKeys: 'ignored',
    },
    responses: { 202: null },
    refusals: REFUSALS,
    example: { params: byId, body: { client_offset_ms: -35.2, uncertainty_ms: 4 } },
  }),
} as const;
