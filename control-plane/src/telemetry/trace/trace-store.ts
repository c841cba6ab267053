import type { JsonObject } from '@footlight/protocol';
import type { Trace } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { type Executor, fromJson, instant } from '../../platform/database/index.ts';
import { fittingRows } from '../../platform/page-cursor.ts';
import type { SampleKey } from './sample-cursor.ts';
import type { Sample } from './series.ts';
import type { TraceWindow } from './window.ts';

/** Maximum samples per source, and maximum events, that are read; the newest are read. */
const READ_AT_MOST = 1_000;
/**
 * Maximum clock offset. A viewer may report any finite number; with a larger one its samples would be outside every
 * window.
 */
const MAX_SHIFT_MS = 8.64e15;

/** Fields of a session that reads of telemetry need. */
export interface TracedSession {
  readonly id: string;
  readonly host_id: string | null;
  readonly ended_at: number | null;
}

export const findTracedSession = (db: Executor, id: string): Promise<TracedSession | undefined> =>
  db.selectFrom('sessions').select(['id', 'host_id', 'ended_at']).where('id', '=', id).executeTakeFirst();

/** Comparison of a viewer's clock with the host's clock. */
export interface MeasuredClock {
  client_offset_ms: number;
  uncertainty_ms: number;
  /** Time of the comparison, epoch ms. */
  measured_at: number;
}

/** @returns null: the clock was not measured */
export async function loadClock(db: Executor, sessionId: string): Promise<MeasuredClock | null> {
  const row = await db
    .selectFrom('session_clocks')
    .select(['client_offset_ms', 'uncertainty_ms', 'measured_at'])
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  return row ?? null;
}

/** Milliseconds that are added to the times of viewers. */
export function shiftOf(clock: MeasuredClock | null): number {
  const offsetMs = Math.round(clock?.client_offset_ms ?? 0);
  return Math.max(-MAX_SHIFT_MS, Math.min(offsetMs, MAX_SHIFT_MS));
}

/** The form of the clock in API answers. */
export const clockRecord = (clock: MeasuredClock | null): Trace['clock'] =>
  clock === null ? { unmeasured: true } : { ...clock, measured_at: instant(clock.measured_at) };

/** The newest samples of each source in a window of the host's clock; all viewers count as one source. Oldest first. */
export async function loadSamples(
  db: Executor,
  sessionId: string,
  window: TraceWindow,
  shiftMs: number,
): Promise<Sample[]> {
  const [agent, browser, native] = await Promise.all([
    loadSource(db, sessionId, 'agent', window, 0),
    loadSource(db, sessionId, 'browser', window, shiftMs),
    loadSource(db, sessionId, 'native', window, shiftMs),
  ]);
  const viewers = native.length === 0 ? browser : [...browser, ...native].sort(byTime);
  return [...agent, ...viewers];
}

/** The newest samples of a session's host, not limited to a time window. Oldest first. */
export const loadHostSamples = (db: Executor, sessionId: string): Promise<Sample[]> =>
  loadSource(db, sessionId, 'agent', { from_ms: -MAX_SHIFT_MS, to_ms: MAX_SHIFT_MS }, 0);

const byTime = (a: Sample, b: Sample) => a.ts_unix_ms - b.ts_unix_ms;

async function loadSource(
  db: Executor,
  sessionId: string,
  source: Sample['source'],
  { from_ms, to_ms }: TraceWindow,
  shiftMs: number,
): Promise<Sample[]> {
  const rows = await db
    .selectFrom('session_samples')
    .select(['ts_unix_ms', 'metrics'])
    .where('session_id', '=', sessionId)
    .where('source', '=', source)
    .where('ts_unix_ms', '>=', from_ms - shiftMs)
    .where('ts_unix_ms', '<=', to_ms - shiftMs)
    .orderBy('ts_unix_ms', 'desc')
    .limit(READ_AT_MOST)
    .execute();
  return rows
    .reverse()
    .map(({ ts_unix_ms, metrics }) => ({ source, ts_unix_ms, metrics: fromJson<JsonObject>(metrics) }));
}

/** An event with its time on the host's clock. */
interface StoredEvent {
  source: 'agent' | 'browser';
  ts_unix_ms: number;
  type: string;
  payload: JsonObject;
}

/**
 * The newest events of a window of the host's clock, oldest first. The total length of their payloads is limited; the
 * databases compute lengths without reading the payloads.
 * @param types missing: events of all types
 * @param maxPayloadBytes events with longer payloads are left out; missing: no event is left out
 */
export async function loadEvents(
  db: Executor,
  sessionId: string,
  { from_ms, to_ms }: TraceWindow,
  shiftMs: number,
  { types, maxPayloadBytes }: { types?: readonly string[] | undefined; maxPayloadBytes?: number } = {},
): Promise<StoredEvent[]> {
  const time = sql<number>`ts_unix_ms + case when source = 'browser' then cast(${shiftMs} as bigint) else 0 end`;
  let found = db
    .selectFrom('session_trace_events')
    .where('session_id', '=', sessionId)
    .where(time, '>=', from_ms)
    .where(time, '<=', to_ms)
    .orderBy(time, 'desc')
    .orderBy('received_at', 'desc')
    .orderBy('seq', 'desc');
  if (types !== undefined) found = found.where('type', 'in', types);
  if (maxPayloadBytes !== undefined)
    found = found.where(sql<boolean>`octet_length(payload) <= ${maxPayloadBytes}`);
  const bytes = await found
    .select(sql<number>`octet_length(payload)`.as('bytes'))
    .limit(READ_AT_MOST)
    .execute();
  if (bytes.length === 0) return [];
  const rows = await found
    .select(['source', 'type', 'payload', time.as('ts_unix_ms')])
    .limit(fittingRows(bytes.length, bytes))
    .execute();
  return rows
    .reverse()
    .map(({ payload, ...event }) => ({ ...event, payload: fromJson<JsonObject>(payload) }));
}

/** One page of raw samples, newest first. One extra row beyond the limit shows that another page exists. */
export async function listSamples(
  db: Executor,
  sessionId: string,
  { source, after }: { source: Sample['source'] | undefined; after: SampleKey | null },
  requested: number,
): Promise<{ rows: Sample[]; limit: number }> {
  let found = db
    .selectFrom('session_samples')
    .where('session_id', '=', sessionId)
    .orderBy('ts_unix_ms', 'desc')
    .orderBy('source', 'desc');
  if (source !== undefined) found = found.where('source', '=', source);
  if (after !== null)
    found = found.where(
      sql<boolean>`(ts_unix_ms, source) < (cast(${after.ts_unix_ms} as bigint), ${after.source})`,
    );
  const bytes = await found.select(sql<number>`octet_length(metrics)`.as('bytes')).limit(requested).execute();
  const limit = fittingRows(requested, bytes);
  const rows = await found
    .select(['source', 'ts_unix_ms', 'metrics'])
    .limit(limit + 1)
    .execute();
  return { rows: rows.map((row) => ({ ...row, metrics: fromJson<JsonObject>(row.metrics) })), limit };
}
