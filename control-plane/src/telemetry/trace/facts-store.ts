import type { JsonObject } from '@footlight/protocol';
import { sql } from 'kysely';
import { type Executor, fromJson } from '../../platform/database/index.ts';
import type { TraceEventFacts, VerdictFacts } from '../verdict/evidence.ts';
import { JUDGED_EVENTS } from '../verdict/judged-events.ts';
import { type Sample, seriesOf } from './series.ts';
import type { TraceWindow } from './window.ts';

/** Samples of a source and events that are read, the newest ones. */
const READ_AT_MOST = 1_000;
/**
 * Longest payload of an event that is read, in bytes: an SDP answer with ten parts takes 1 kB. A viewer may post
 * events of 32 KiB, and a thousand of them would hold up every other request. Chosen, not measured.
 */
const MAX_PAYLOAD_BYTES = 4 * 1024;
/** A viewer may say any finite number; beyond this no time of its samples is in any window. */
const MAX_SHIFT_MS = 8.64e15;

/** What a verdict reads of a session. Times in milliseconds since 1970; null: not yet. */
export interface JudgedSession {
  readonly id: string;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly stream_fps: number;
}

/** The stored samples and events of a window, with times of viewers on the host's clock where it is measured. */
export async function loadFacts(
  db: Executor,
  session: JudgedSession,
  window: TraceWindow,
): Promise<VerdictFacts> {
  const clock = await db
    .selectFrom('session_clocks')
    .select(['client_offset_ms', 'uncertainty_ms', 'measured_at'])
    .where('session_id', '=', session.id)
    .executeTakeFirst();
  const offsetMs = Math.round(clock?.client_offset_ms ?? 0);
  const shiftMs = Math.max(-MAX_SHIFT_MS, Math.min(offsetMs, MAX_SHIFT_MS));
  const onViewersClock = { from_ms: window.from_ms - shiftMs, to_ms: window.to_ms - shiftMs };
  const [agent, browser, native, fromHost, fromViewer] = await Promise.all([
    loadSamples(db, session.id, 'agent', window),
    loadSamples(db, session.id, 'browser', onViewersClock),
    loadSamples(db, session.id, 'native', onViewersClock),
    loadEvents(db, session.id, 'agent', window),
    loadEvents(db, session.id, 'browser', onViewersClock),
  ]);
  const shifted = fromViewer.map((event) => ({ ...event, ts_unix_ms: event.ts_unix_ms + shiftMs }));
  return {
    window,
    startedAtMs: session.started_at,
    fps: session.stream_fps,
    clock:
      clock === undefined
        ? null
        : {
            offsetMs: clock.client_offset_ms,
            uncertaintyMs: clock.uncertainty_ms,
            measuredAtMs: clock.measured_at,
          },
    series: seriesOf([...agent, ...[...browser, ...native].sort(byTime)], shiftMs),
    events: [...fromHost, ...shifted].sort(byTime).slice(-READ_AT_MOST),
  };
}

const byTime = (a: { ts_unix_ms: number }, b: { ts_unix_ms: number }) => a.ts_unix_ms - b.ts_unix_ms;

/** Oldest first. */
async function loadSamples(
  db: Executor,
  sessionId: string,
  source: Sample['source'],
  { from_ms, to_ms }: TraceWindow,
): Promise<Sample[]> {
  const rows = await db
    .selectFrom('session_samples')
    .select(['ts_unix_ms', 'metrics'])
    .where('session_id', '=', sessionId)
    .where('source', '=', source)
    .where('ts_unix_ms', '>=', from_ms)
    .where('ts_unix_ms', '<=', to_ms)
    .orderBy('ts_unix_ms', 'desc')
    .limit(READ_AT_MOST)
    .execute();
  return rows
    .reverse()
    .map(({ ts_unix_ms, metrics }) => ({ source, ts_unix_ms, metrics: fromJson<JsonObject>(metrics) }));
}

/** Those that a verdict reads, oldest first. */
async function loadEvents(
  db: Executor,
  sessionId: string,
  source: TraceEventFacts['source'],
  { from_ms, to_ms }: TraceWindow,
): Promise<TraceEventFacts[]> {
  const rows = await db
    .selectFrom('session_trace_events')
    .select(['ts_unix_ms', 'type', 'payload'])
    .where('session_id', '=', sessionId)
    .where('is_capture', '=', 0)
    .where('source', '=', source)
    .where('type', 'in', JUDGED_EVENTS)
    .where('ts_unix_ms', '>=', from_ms)
    .where('ts_unix_ms', '<=', to_ms)
    .where(sql<boolean>`octet_length(payload) <= ${MAX_PAYLOAD_BYTES}`)
    .orderBy('ts_unix_ms', 'desc')
    .limit(READ_AT_MOST)
    .execute();
  return rows.reverse().map(({ payload, ...event }) => ({
    ...event,
    source,
    payload: fromJson<JsonObject>(payload),
  }));
}
