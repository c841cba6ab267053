import { MINUTE_MS, WindowCounter } from '@footlight/platform';
import { cutUtf8 } from '@footlight/protocol';
import { RECORDING_KEPT_MS, recordingEventSchema } from '@footlight/protocol/agent';
import type { Recording, Success } from '@footlight/protocol/rest';
import { LRUCache } from 'lru-cache';
import type { Agents, ReliableEvent } from '../fleet/index.ts';
import { instant, type Tx } from '../platform/database/index.ts';
import type { SessionRecordingsTable } from '../platform/database/tables/recordings.ts';
import { ApiError } from '../platform/errors.ts';
import type { Platform } from '../platform/platform.ts';
import { judgeFreeze, mayHaveBegun, refusalOfHost, stateAt } from './freeze-rules.ts';
import {
  deleteExpired,
  deletePending,
  findRecordable,
  findRecording,
  insertRecording,
  isRecordingOfHost,
  listRecordings,
  lockRecordable,
  type RecordableSession,
  settleRecording,
} from './store.ts';
import { type Passed, Transfers } from './transfers.ts';

/** Causes of an automatic recording, which no person requested. */
export type AutomaticCause = 'failure' | 'note' | 'verdict';
/**
 * Minimum time between two automatic recordings of a session. It is needed because a page that shows a verdict requests
 * the verdict repeatedly. Source: docs/recordings.md.
 */
const AUTOMATIC_AFTER_MS: Record<AutomaticCause, number> = {
  failure: MINUTE_MS,
  note: MINUTE_MS,
  verdict: 10 * MINUTE_MS,
};
/** Maximum sessions for which the time of the last automatic recording is remembered. */
const REMEMBERED_SESSIONS = 8_192;
/** Limit of automatic recordings per host, so that an app that fails at each start does not fill the host's disk. */
const AUTOMATIC_PER_HOST = { limit: 20, windowMs: 60 * MINUTE_MS };
const REMEMBERED_HOSTS = 8_192;
const RETAIN_MS = 10 * MINUTE_MS;
const ERROR_BYTES = 256;
const NO_SESSION = 'There is no such session.';
const NO_RECORDING = 'There is no such recording of this session.';

/** Operations of administrators on recordings. The files are on the hosts. */
export interface Recordings {
  /** Records a session's last minute. @throws ApiError 404, 409, 503 */
  freeze(sessionId: string, actorUserId: string): Promise<Success<'admin.sessions.recordings.freeze'>>;
  /**
   * Like `freeze`, but without a person's request. The number per session and host is limited. Does nothing if a
   * recording is not possible. Never rejects.
   * @param actorUserId account whose action is the cause; null: no account caused the recording
   */
  freezeOnce(sessionId: string, cause: AutomaticCause, actorUserId: string | null): Promise<void>;
  /** @throws ApiError 404 */
  list(sessionId: string): Promise<Success<'admin.sessions.recordings.list'>>;
  /** The row of a recording that can be downloaded. @throws ApiError 404, 409 */
  find(sessionId: string, id: string): Promise<SessionRecordingsTable>;
  /**
   * Requests the recording from its host.
   * @param gone registers a function that is called when the administrator's connection closes
   * @throws ApiError 404, 409, 503
   */
  download(
    recording: SessionRecordingsTable,
    actorUserId: string,
    gone: (cancel: () => void) => void,
  ): Promise<Passed>;
  /**
   * Receives a recording from its host. @throws ApiError 401 when it is not a recording of this host, 409 when no
   * administrator waits for it
   */
  upload(hostId: string, id: string, upload: Parameters<Transfers['send']>[2]): Promise<void>;
  /**
   * Stores the results of recordings, in the transaction that stores a host's events. The same events may be passed
   * again.
   */
  settle(tx: Tx, hostId: string, events: readonly ReliableEvent[]): Promise<void>;
}

export function createRecordings(platform: Platform, { agents }: { agents: Agents }): Recordings {
  const { activity, clock, database, leader, logger, random } = platform;
  const { db } = database;
  const transfers = new Transfers(platform);
  const automatic = new LRUCache<string, number>({ max: REMEMBERED_SESSIONS });
  const automaticOfHosts = new LRUCache<string, WindowCounter>({ max: REMEMBERED_HOSTS });

  leader.register({
    id: 'recordings.retain',
    everyMs: RETAIN_MS,
    async run(fence) {
      await database.transaction(async (tx) => {
        await fence.check(tx);
        await deleteExpired(tx, clock.nowMs());
      });
    },
  });

  async function requireSession(id: string): Promise<RecordableSession> {
    const session = await findRecordable(db, id);
    if (session === undefined) throw new ApiError('not_found', { message: NO_SESSION });
    return session;
  }

  /** @throws ApiError */
  async function order(sessionId: string, actorUserId: string | null): Promise<SessionRecordingsTable> {
    // Stores the row before the command is sent, because the result may arrive immediately.
    const row = await database.transaction((tx) => addPending(tx, sessionId));
    const result = await agents.command(row.host_id, {
      type: 'session_recording',
      ...{ session_id: sessionId, recording_id: row.id, op: 'freeze' },
    });
    if (!mayHaveBegun(result)) await deletePending(db, row.id);
    const refusalOfIt = refusalOfHost(result);
    if (refusalOfIt !== null) throw refused(refusalOfIt);
    await activity.record(actorUserId, 'session.recording.freeze', sessionId, { recording_id: row.id });
    return row;
  }

  /** @throws ApiError with the first refusal */
  async function addPending(tx: Tx, sessionId: string): Promise<SessionRecordingsTable> {
    const session = await lockRecordable(tx, sessionId);
    if (session === undefined) throw new ApiError('not_found', { message: NO_SESSION });
    const nowMs = clock.nowMs();
    const existing = await listRecordings(tx, sessionId, nowMs);
    const refusal = judgeFreeze(session, existing.length, nowMs);
    if (refusal !== null) throw refused(refusal);
    const row: SessionRecordingsTable = {
      id: random.uuid(),
      session_id: sessionId,
      host_id: session.host_id as string,
      state: 'pending',
      ...{ bytes: null, duration_ms: null, error: null },
      created_at: nowMs,
      expires_at: nowMs + RECORDING_KEPT_MS,
    };
    await insertRecording(tx, row);
    return row;
  }

  /** Whether an automatic recording is allowed now; if so, counts it. */
  function takeAutomatic({ id, host_id }: RecordableSession, cause: AutomaticCause): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs - (automatic.get(id) ?? Number.NEGATIVE_INFINITY) < AUTOMATIC_AFTER_MS[cause]) return false;
    const hostId = host_id ?? '';
    const { limit, windowMs } = AUTOMATIC_PER_HOST;
    const counter = automaticOfHosts.get(hostId) ?? new WindowCounter(limit, windowMs);
    automaticOfHosts.set(hostId, counter);
    if (!counter.take(nowMs)) return false;
    automatic.set(id, nowMs);
    return true;
  }

  async function find(sessionId: string, id: string): Promise<SessionRecordingsTable> {
    await requireSession(sessionId);
    const nowMs = clock.nowMs();
    const row = await findRecording(db, sessionId, id, nowMs);
    if (row === undefined) throw new ApiError('not_found', { message: NO_RECORDING });
    const { state } = stateAt(row, nowMs);
    if (state !== 'ready')
      throw new ApiError('conflict', {
        message: state === 'pending' ? 'The host is still writing it.' : 'Nothing was kept.',
      });
    return row;
  }

  return {
    find,

    async freeze(sessionId, actorUserId) {
      const row = await order(sessionId, actorUserId);
      return { recording_id: row.id, session_id: sessionId, accepted_at: instant(clock.nowMs()) };
    },

    async freezeOnce(sessionId, cause, actorUserId) {
      try {
        const session = await findRecordable(db, sessionId);
        if (session === undefined || judgeFreeze(session, 0, clock.nowMs()) !== null) return;
        if (takeAutomatic(session, cause)) await order(sessionId, actorUserId);
      } catch (error) {
        const level = error instanceof ApiError ? 'debug' : 'error';
        logger[level]({ session_id: sessionId, err: error }, 'recordings.freeze_failed');
      }
    },

    async list(sessionId) {
      await requireSession(sessionId);
      const nowMs = clock.nowMs();
      const rows = await listRecordings(db, sessionId, nowMs);
      return { items: rows.map((row) => record(row, nowMs)) };
    },

    async download(recording, actorUserId, gone) {
      const { id, session_id, host_id } = recording;
      const passed = await transfers.receive(id, host_id, gone, async () => {
        const result = await agents.command(host_id, {
          type: 'session_recording',
          ...{ session_id, recording_id: id, op: 'upload' },
        });
        const refusal = refusalOfHost(result);
        if (refusal !== null) throw refused(refusal);
      });
      try {
        // Write the entry before the first byte is sent.
        await activity.record(actorUserId, 'session.recording.download', session_id, {
          recording_id: id,
          bytes: passed.bytes,
        });
      } catch (error) {
        passed.body.destroy();
        throw error;
      }
      return passed;
    },

    async upload(hostId, id, upload) {
      if (!(await isRecordingOfHost(db, hostId, id, clock.nowMs())))
        throw new ApiError('unauthorized', { message: 'The node credential is not valid.' });
      await transfers.send(id, hostId, upload);
    },

    async settle(tx, hostId, events) {
      for (const { event, session_id, payload } of events) {
        if (event !== 'session.recording') continue;
        const { success, data } = recordingEventSchema.safeParse(payload);
        if (!success) continue;
        const { recording_id: id, bytes, duration_ms } = data;
        const isReady = data.state === 'ready' && bytes !== undefined && duration_ms !== undefined;
        const outcome = isReady
          ? { state: 'ready' as const, bytes, duration_ms, error: null }
          : {
              state: 'failed' as const,
              ...{ bytes: null, duration_ms: null },
              error: cutUtf8(data.error ?? 'The host did not say why.', ERROR_BYTES),
            };
        await settleRecording(tx, { id, sessionId: session_id, hostId }, outcome);
      }
    },
  };
}

function refused({ code, message }: { code: ApiError['code']; message?: string }): ApiError {
  return new ApiError(code, message === undefined ? {} : { message });
}

function record(row: SessionRecordingsTable, nowMs: number): Recording {
  const { state, error } = stateAt(row, nowMs);
  return {
    recording_id: row.id,
    session_id: row.session_id,
    state,
    created_at: instant(row.created_at),
    expires_at: instant(row.expires_at),
    bytes: row.bytes,
    duration_ms: row.duration_ms,
    error,
  };
}
