import type { SessionStateName } from '@footlight/protocol';
import type { Executor, Tx } from '../platform/database/index.ts';
import type { SessionRecordingsTable } from '../platform/database/tables/recordings.ts';

/** Facts of a session that decide whether it can be recorded. */
export interface RecordableSession {
  id: string;
  state: SessionStateName;
  host_id: string | null;
  ended_at: number | null;
  stream_recording: 0 | 1;
}

const recordable = (db: Executor, id: string) =>
  db
    .selectFrom('sessions')
    .select(['id', 'state', 'host_id', 'ended_at', 'stream_recording'])
    .where('id', '=', id);

/** undefined: the session does not exist. */
export const findRecordable = (db: Executor, id: string): Promise<RecordableSession | undefined> =>
  recordable(db, id).executeTakeFirst();

/** Like findRecordable; locks the session, so that its recordings are counted and added by one request at a time. */
export const lockRecordable = (tx: Tx, id: string): Promise<RecordableSession | undefined> =>
  recordable(tx, id).forNoKeyUpdate().executeTakeFirst();

/** The recordings of a session that have not expired, newest first. */
export function listRecordings(
  db: Executor,
  sessionId: string,
  nowMs: number,
): Promise<SessionRecordingsTable[]> {
  return db
    .selectFrom('session_recordings')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('expires_at', '>', nowMs)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** undefined: the recording does not exist, belongs to another session, or has expired. */
export function findRecording(
  db: Executor,
  sessionId: string,
  id: string,
  nowMs: number,
): Promise<SessionRecordingsTable | undefined> {
  return db
    .selectFrom('session_recordings')
    .selectAll()
    .where('id', '=', id)
    .where('session_id', '=', sessionId)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
}

/** Whether the recording belongs to this host and has not expired. */
export async function isRecordingOfHost(
  db: Executor,
  hostId: string,
  id: string,
  nowMs: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('session_recordings')
    .select('id')
    .where('id', '=', id)
    .where('host_id', '=', hostId)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertRecording(db: Executor, row: SessionRecordingsTable): Promise<void> {
  await db.insertInto('session_recordings').values(row).execute();
}

/** Removes a recording that its host did not begin. */
export async function deletePending(db: Executor, id: string): Promise<void> {
  await db.deleteFrom('session_recordings').where('id', '=', id).where('state', '=', 'pending').execute();
}

/** Ends a pending recording of this host and session; has no effect on any other recording. */
export async function settleRecording(
  tx: Tx,
  of: { id: string; sessionId: string; hostId: string },
  outcome: Pick<SessionRecordingsTable, 'state' | 'bytes' | 'duration_ms' | 'error'>,
): Promise<void> {
  await tx
    .updateTable('session_recordings')
    .set(outcome)
    .where('id', '=', of.id)
    .where('session_id', '=', of.sessionId)
    .where('host_id', '=', of.hostId)
    .where('state', '=', 'pending')
    .execute();
}

/** @returns number of deleted rows */
export async function deleteExpired(tx: Tx, nowMs: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('session_recordings')
    .where('expires_at', '<=', nowMs)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
