import { sql } from 'kysely';
import type { Executor } from '../platform/database/index.ts';
import { beginOfCapture } from './capture-payload.ts';

/** Maximum captures in a bundle. */
const LISTED_AT_MOST = 200;

/** Both databases use a partial index only if the query repeats the text of its condition. */
const IS_CAPTURE = sql<boolean>`is_capture = 1`;

export interface StoredCapture {
  ts_unix_ms: number;
  payload: string;
}

/** @returns undefined: the session has no such capture, or its result has not arrived yet */
export function findCapture(
  db: Executor,
  sessionId: string,
  captureId: string,
): Promise<StoredCapture | undefined> {
  return (
    db
      .selectFrom('session_trace_events')
      .select(['ts_unix_ms', 'payload'])
      .where('session_id', '=', sessionId)
      .where(IS_CAPTURE)
      .where(sql<boolean>`substr(payload, 1, 52) = ${beginOfCapture(captureId)}`)
      // A host may send an id twice. No order is given, because it would make the databases use another index.
      .limit(1)
      .executeTakeFirst()
  );
}

/** Key of a stored capture with the bytes of its payload, which the databases compute without reading the payload. */
export interface CaptureKey {
  host_id: string;
  boot_id: string;
  seq: number;
  bytes: number;
}

/** The newest captures of a session, newest first. */
export function listCaptures(db: Executor, sessionId: string): Promise<CaptureKey[]> {
  return db
    .selectFrom('session_trace_events')
    .select(['host_id', 'boot_id', 'seq', sql<number>`octet_length(payload)`.as('bytes')])
    .where('session_id', '=', sessionId)
    .where(IS_CAPTURE)
    .orderBy('received_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(LISTED_AT_MOST)
    .execute();
}

/** @returns undefined: the capture was deleted in the meantime */
export function loadCapture(db: Executor, key: CaptureKey): Promise<StoredCapture | undefined> {
  return db
    .selectFrom('session_trace_events')
    .select(['ts_unix_ms', 'payload'])
    .where('host_id', '=', key.host_id)
    .where('boot_id', '=', key.boot_id)
    .where('seq', '=', key.seq)
    .executeTakeFirst();
}
