import { z } from 'zod';
import { jsonObject } from '../common.ts';
import { body, dateTime, idParams, madeId, notBlank, page, pageQuery, string, windowQuery } from './atoms.ts';
import { exampleIds } from './example-ids.ts';
import { operation } from './operation.ts';

/** Programs that send samples. */
const SAMPLE_SOURCES = ['agent', 'browser', 'native'] as const;

const storedSample = z
  .object({
    source: z.string().describe('Who measured: `agent`, `browser` or `native`. May grow.'),
    ts_unix_ms: z.int().describe('When, by the clock of who measured, in milliseconds since 1970.'),
    metrics: z
      .record(z.string(), z.union([z.number(), z.boolean(), z.string()]))
      .describe('Figures by key, as they were reported.'),
  })
  .meta({ id: 'StoredSample', description: 'One set of figures of a session, as it was reported.' });

export const traceSeries = z
  .record(
    z.string(),
    z.array(
      z
        .object({
          ts_unix_ms: z.int().describe('When, in milliseconds since 1970.'),
          v: z.number().describe('The figure; the unit is in the name of the series.'),
        })
        .meta({ id: 'SeriesPoint', description: 'One point of a series.' }),
    ),
  )
  .describe('Points by the name of their series, oldest first.');

export const traceEvents = z
  .array(
    z
      .object({
        source: z
          .enum(['agent', 'browser'])
          .describe('Who saw it happen; what administrators noted counts as seen by the agent.'),
        ts_unix_ms: z.int().describe('When, in milliseconds since 1970.'),
        type: z.string().describe('Name of the event, such as `encoder.stall`. May grow.'),
        payload: jsonObject.meta({ type: 'object' }).describe('What belongs to it.'),
      })
      .meta({ id: 'TraceEvent', description: 'Something that happened in a session.' }),
  )
  .describe('What happened, oldest first: the newest 1,000 events, and at most 2 MiB of them.');

export const traceWindow = z
  .object({
    from_ms: z.int().describe('Begin, in milliseconds since 1970.'),
    to_ms: z.int().describe('End, in milliseconds since 1970.'),
  })
  .describe('What was read; both ends belong to it.');

export const traceClock = z
  .union([
    z.object({
      client_offset_ms: z
        .number()
        .describe('What was added to the times of viewers for those of the host, in milliseconds.'),
      uncertainty_ms: z.number().describe('How far off that may be, in milliseconds.'),
      measured_at: dateTime.describe('When the clocks were compared.'),
    }),
    z.object({
      unmeasured: z.literal(true).describe('The clocks were not compared; every time is as it was reported.'),
    }),
  ])
  .describe('How times of viewers were brought to the clock of the host.');

const trace = z
  .object({
    session_id: madeId.describe('Id of the session.'),
    window: traceWindow,
    clock: traceClock,
    series: traceSeries,
    events: traceEvents,
  })
  .meta({ id: 'Trace', description: 'What was measured of a session, and happened in it.' });
export type Trace = z.output<typeof trace>;

/** A list of names in a query, separated by commas; undefined: the query contains none. */
const nameList = string({ max: 4_096 })
  .transform((text) => {
    const names = text.split(',').filter((name) => name !== '');
    return names.length === 0 ? undefined : names;
  })
  .optional();

const MAX_ANNOTATION_BYTES = 32 * 1024;
const refusals = { not_found: 'There is no such session.' } as const;
const params = { id: exampleIds.session };
const query = { to: '2026-11-20T10:05:00.000Z' };
const exampleWindow = { from_ms: 1795168800000, to_ms: 1795169100000 };
const exampleSeries = { 'encoder.fps': [{ ts_unix_ms: 1795168860000, v: 60 }] };
const exampleEvents = [
  {
    source: 'agent',
    ts_unix_ms: 1795168861000,
    type: 'encoder.stall',
    payload: { phase: 'detected', reason: 'no_output' },
  },
];
const exampleTrace = {
  params,
  query,
  response: {
    session_id: exampleIds.session,
    window: exampleWindow,
    clock: { client_offset_ms: -35.2, uncertainty_ms: 4, measured_at: '2026-11-20T10:04:38.000Z' },
    series: exampleSeries,
    events: exampleEvents,
  },
};

export const traceOperations = {
  'admin.sessions.metrics': operation({
    id: 'admin.sessions.metrics',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/metrics',
    auth: 'admin',
    summary: 'What was measured of a session, newest first',
    params: idParams,
    query: pageQuery(100).extend({
      source: z
        .unknown()
        .optional()
        .transform((raw) => SAMPLE_SOURCES.find((source) => source === raw))
        .meta({ type: 'string', enum: [...SAMPLE_SOURCES] })
        .describe('Only from this source; another value counts as left out.'),
    }),
    responses: { 200: page(storedSample) },
    refusals,
    example: {
      params,
      query: { source: 'agent', limit: '20' },
      response: {
        items: [
          {
            source: 'agent',
            ts_unix_ms: 1795168860000,
            metrics: { fps: 60, abr_mode: 'smooth', live_write_stable: true },
          },
        ],
        next_cursor: null,
      },
    },
  }),
  'admin.sessions.trace': operation({
    id: 'admin.sessions.trace',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/trace',
    auth: 'admin',
    summary: 'Series and events of a session in a window of time',
    params: idParams,
    query: windowQuery,
    responses: { 200: trace },
    refusals,
    example: exampleTrace,
  }),
  'admin.sessions.traceWindow': operation({
    id: 'admin.sessions.traceWindow',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/trace/window',
    auth: 'admin',
    summary: 'The same as `admin.sessions.trace`',
    params: idParams,
    query: windowQuery,
    responses: { 200: trace },
    refusals,
    example: exampleTrace,
  }),
  'admin.sessions.traceMetrics': operation({
    id: 'admin.sessions.traceMetrics',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/trace/metrics',
    auth: 'admin',
    summary: 'Some series of a session in a window of time',
    params: idParams,
    query: windowQuery.extend({
      names: nameList.describe(
        'Names of series, separated by commas; left out: none. Unknown ones are left out.',
      ),
    }),
    responses: { 200: z.object({ window: traceWindow, series: traceSeries }) },
    refusals,
    example: {
      params,
      query: { ...query, names: 'encoder.fps' },
      response: { window: exampleWindow, series: exampleSeries },
    },
  }),
  'admin.sessions.traceEvents': operation({
    id: 'admin.sessions.traceEvents',
    method: 'GET',
    path: '/v1/admin/sessions/{id}/trace/events',
    auth: 'admin',
    summary: 'Events of a session in a window of time',
    params: idParams,
    query: windowQuery.extend({
      types: nameList.describe('Names of events, separated by commas; left out: all.'),
    }),
    responses: { 200: z.object({ window: traceWindow, events: traceEvents }) },
    refusals,
    example: {
      params,
      query: { ...query, types: 'encoder.stall' },
      response: { window: exampleWindow, events: exampleEvents },
    },
  }),
  'admin.sessions.annotate': operation({
    id: 'admin.sessions.annotate',
    method: 'POST',
    path: '/v1/admin/sessions/{id}/trace/annotations',
    auth: 'admin',
    summary: 'Note something at a time of a session',
    description: 'It becomes an event `operator.annotation` of the trace.',
    params: idParams,
    body: {
      schema: body({
        ts_unix_ms: z.int().optional().describe('When, in milliseconds since 1970; left out: now.'),
        label: notBlank().describe('Text of the note.'),
        tags: z.array(string()).optional().describe('Tags for searching; left out: none.'),
      }),
      maxBytes: MAX_ANNOTATION_BYTES,
    },
    responses: { 201: z.object({ id: madeId.describe('Id of the note.') }) },
    refusals,
    example: {
      params,
      body: { label: 'the user said that it froze', tags: ['freeze'] },
      response: { id: '6f0b1f0e-3a0c-4a53-9b5e-27f7c6f5d0a9' },
    },
  }),
} as const;
