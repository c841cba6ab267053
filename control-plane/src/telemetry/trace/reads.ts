import type { Body, Query, Success, Trace } from '@footlight/protocol/rest';
import { AGENT_SERIES, CLIENT_SERIES, type OPERATOR_EVENT } from '@footlight/protocol/telemetry';
import { type Tx, toJson } from '../../platform/database/index.ts';
import type { SessionTraceEventsTable } from '../../platform/database/tables/telemetry.ts';
import { ApiError, invalid } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { parseSampleCursor, writeSampleCursor } from './sample-cursor.ts';
import { seriesOf } from './series.ts';
import {
  clockRecord,
  findTracedSession,
  listSamples,
  loadClock,
  loadEvents,
  loadSamples,
  type MeasuredClock,
  shiftOf,
  type TracedSession,
} from './trace-store.ts';
import { type TraceWindow, type WindowEnds, windowOf } from './window.ts';

const KNOWN_SERIES: ReadonlySet<string> = new Set([
  ...Object.keys(AGENT_SERIES),
  ...Object.keys(CLIENT_SERIES),
]);

/** Reads of a session's telemetry for administrators, and their annotations. Each method: @throws ApiError 404 */
export interface TraceReads {
  metrics(id: string, query: Query<'admin.sessions.metrics'>): Promise<Success<'admin.sessions.metrics'>>;
  trace(id: string, asked: WindowEnds): Promise<Trace>;
  series(
    id: string,
    query: Query<'admin.sessions.traceMetrics'>,
  ): Promise<Success<'admin.sessions.traceMetrics'>>;
  events(
    id: string,
    query: Query<'admin.sessions.traceEvents'>,
  ): Promise<Success<'admin.sessions.traceEvents'>>;
  /** @returns id of the new annotation */
  annotate(id: string, annotation: Body<'admin.sessions.annotate'>): Promise<string>;
}

export function createTraceReads(
  { clock, database, random }: Platform,
  deps: {
    /** Writes reports that wait in memory, so that the newest second is also read. */
    flush(): Promise<void>;
    store(tx: Tx, events: readonly SessionTraceEventsTable[]): Promise<void>;
  },
): TraceReads {
  const { db } = database;

  async function find(id: string): Promise<TracedSession> {
    const session = await findTracedSession(db, id);
    if (session === undefined) throw new ApiError('not_found', { message: 'There is no such session.' });
    return session;
  }

  async function open(
    id: string,
    asked: WindowEnds,
  ): Promise<{ window: TraceWindow; measured: MeasuredClock | null; shiftMs: number }> {
    const session = await find(id);
    await deps.flush();
    const measured = await loadClock(db, id);
    return { window: windowOf(asked, session.ended_at, clock.nowMs()), measured, shiftMs: shiftOf(measured) };
  }

  return {
    async metrics(id, { source, limit: requested, cursor }) {
      const after = cursor === undefined ? null : parseSampleCursor(cursor);
      if (cursor !== undefined && after === null) throw invalid('cursor: not one that this server gave out');
      await find(id);
      await deps.flush();
      const { rows, limit } = await listSamples(db, id, { source, after }, requested);
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      return {
        items: items as Success<'admin.sessions.metrics'>['items'],
        next_cursor: rows.length > limit && last !== undefined ? writeSampleCursor(last) : null,
      };
    },

    async trace(id, asked) {
      const { window, measured, shiftMs } = await open(id, asked);
      const [samples, events] = await Promise.all([
        loadSamples(db, id, window, shiftMs),
        loadEvents(db, id, window, shiftMs),
      ]);
      return {
        session_id: id,
        window,
        clock: clockRecord(measured),
        series: seriesOf(samples, shiftMs) as Trace['series'],
        events,
      };
    },

    async series(id, { names = [], ...asked }) {
      const { window, shiftMs } = await open(id, asked);
      const known = names.filter((name) => KNOWN_SERIES.has(name));
      if (known.length === 0) return { window, series: {} };
      const all = seriesOf(await loadSamples(db, id, window, shiftMs), shiftMs) as Trace['series'];
      return { window, series: Object.fromEntries(known.map((name) => [name, all[name] ?? []])) };
    },

    async events(id, { types, ...asked }) {
      const { window, shiftMs } = await open(id, asked);
      return { window, events: await loadEvents(db, id, window, shiftMs, { types }) };
    },

    async annotate(id, { ts_unix_ms, label, tags = [] }) {
      const session = await find(id);
      const annotationId = random.uuid();
      const nowMs = clock.nowMs();
      await database.transaction((tx) =>
        deps.store(tx, [
          {
            host_id: session.host_id ?? '',
            // Identifies the event instead of an agent's boot id and event number.
            boot_id: annotationId,
            seq: 0,
            session_id: id,
            source: 'agent',
            ts_unix_ms: ts_unix_ms ?? nowMs,
            type: 'operator.annotation' satisfies typeof OPERATOR_EVENT,
            payload: toJson({ label, tags }),
            is_capture: 0,
            received_at: nowMs,
          },
        ]),
      );
      return annotationId;
    },
  };
}
