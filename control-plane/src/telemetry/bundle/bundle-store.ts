import { sql } from 'kysely';
import type { Executor } from '../../platform/database/index.ts';
import type { JudgedSession } from '../trace/facts-store.ts';

/** Longest payload of a first-picture event that is read, in bytes; a normal one has 120. */
const MAX_PAYLOAD_BYTES = 4 * 1024;

/** Fields of a session that a bundle needs. Times are epoch milliseconds; null: not yet. */
export interface BundledSession extends JudgedSession {
  readonly host_id: string | null;
  readonly profile_id: string | null;
}

export const findBundledSession = (db: Executor, id: string): Promise<BundledSession | undefined> =>
  db
    .selectFrom('sessions')
    .select(['id', 'host_id', 'profile_id', 'started_at', 'ended_at', 'stream_fps'])
    .where('id', '=', id)
    .executeTakeFirst();

/** Payload of the session's first event that reports a first picture; undefined: no viewer reported one. */
export async function loadFirstPicture(db: Executor, sessionId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('session_trace_events')
    .select('payload')
    .where('session_id', '=', sessionId)
    .where('is_capture', '=', 0)
    .where('source', '=', 'browser')
    .where('type', '=', 'client.first_frame')
    .where(sql<boolean>`octet_length(payload) <= ${MAX_PAYLOAD_BYTES}`)
    .orderBy('ts_unix_ms')
    .limit(1)
    .executeTakeFirst();
  return row?.payload;
}

/** Dropped times of a session, by cause. */
export interface RejectedTimes {
  cause: string;
  count: number;
  /** The last dropped time, as it was sent. */
  last_ts: number;
  last_at: number;
}

export const loadRejectedTimes = (db: Executor, sessionId: string): Promise<RejectedTimes[]> =>
  db
    .selectFrom('session_rejected_times')
    .select(['cause', 'count', 'last_ts', 'last_at'])
    .where('session_id', '=', sessionId)
    .execute();
