/**
 * The only module that changes the state of a launched session. It decides from a row and applies the decision by an
 * update that requires the row's state to be unchanged. If another transaction changed the row first, it reads and
 * decides again.
 */
import { SECOND_MS } from '@footlight/platform';
import { cutUtf8, type Open, type SessionEndReason, type SessionStateName } from '@footlight/protocol';
import type { Tx } from '../../platform/database/index.ts';
import { unavailable } from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { type SessionChange, sessionSubjects } from '../../signaling/index.ts';
import { storeHomeSize } from '../../storage/index.ts';
import type { LaunchWatch } from '../launch/launch-watch.ts';
import type { SessionRow } from '../record.ts';
import { endedEvent, runningEvent } from '../session-events.ts';
import { loadSession } from '../store.ts';
import { type SwapStep, swapRejected } from '../swap/swap-rules.ts';
import { settleSwap } from '../swap/swap-store.ts';
import { endSession, type LifeRow, moveSession, setDetail, setLateFields } from './life-store.ts';
import type { LiveSessions } from './live.ts';
import {
  type ControlEnd,
  decideControlEnd,
  decideStop,
  type Ending,
  type Step,
  type StopStep,
} from './state.ts';

/** Maximum repeated decisions. States never go back, so a few repeats are enough. */
export const MAX_DECISIONS = 8;
const MAX_AUDIT_DETAIL_BYTES = 512;
/** Only a sentence is stored, because the session's record contains the whole text. */
const MAX_AUDIT_REASON_BYTES = 200;

/** A stored change that is announced after the commit. */
export interface Change {
  id: string;
  host_id: string | null;
  state: SessionStateName;
  moved: boolean;
  /** Set when the session reached another state: time since its launch (s). */
  reached?: number;
  /** New text and app; missing fields are unchanged. */
  shows?: Pick<SessionChange, 'state_detail' | 'app_id'>;
  /** Set when the state became failed. */
  failure: { source: 'agent' | 'control_plane'; app_id: string; ending: Ending } | null;
}

export interface Transitions {
  /**
   * Ends a session by a decision of the control plane, if the session is in one of the given states.
   * @param guard called first in the transaction; an exception rolls back (fence of a leader task)
   * @returns whether this call ended the session
   */
  end(
    sessionId: string,
    end: ControlEnd,
    when: readonly SessionStateName[],
    guard?: (tx: Tx) => Promise<void>,
  ): Promise<boolean>;
  /**
   * Sets a session to stopping.
   * @param guard as for `end`
   * @returns the changed row, and whether this call changed it; null: the session does not exist
   * @throws ApiError 503 when other transactions changed the row between each read and write
   */
  stop(
    sessionId: string,
    reason: Open<SessionEndReason>,
    guard?: (tx: Tx) => Promise<void>,
  ): Promise<{ row: SessionRow; moved: boolean } | null>;
  /**
   * Ends a swap that the agent did not acknowledge.
   * @param mayComplete the agent may still have the command
   */
  rejectSwap(sessionId: string, target: string, mayComplete: boolean): Promise<void>;
  /**
   * Writes one step in the caller's transaction.
   * @param opens whether viewers may attach from now on (`relay_ready`, which is never reset). Only a step that changes
   *   state or text stores it
   * @returns null when the row's state has changed since the decision
   */
  applyStep(tx: Tx, row: LifeRow, step: Step, opens: boolean): Promise<Change | null>;
  /**
   * Ends a session by a decision of the control plane, in the caller's transaction.
   * @returns null when the session has already ended, or the row's state has changed since it was read
   */
  applyEnd(tx: Tx, row: LifeRow, end: ControlEnd): Promise<Change | null>;
  /**
   * Updates live sessions, notifies subscribers, and records failures in the activity log. Call this after the commit.
   */
  announce(change: Change): void;
}

/** @param onFailed called after the commit of a session's failure */
export function createTransitions(
  platform: Platform,
  live: LiveSessions,
  { launches, onFailed }: { launches: Pick<LaunchWatch, 'changed'>; onFailed: (sessionId: string) => void },
): Transitions {
  const { activity, bus, clock, database, logger, meters, webhook } = platform;

  async function applyEnding(
    tx: Tx,
    row: LifeRow,
    ending: Ending,
    source: 'agent' | 'control_plane',
  ): Promise<Change | null> {
    const nowMs = clock.nowMs();
    if (!(await endSession(tx, row, ending, nowMs))) return null;
    await storeSize(tx, row, ending.home_bytes);
    await webhook?.add(tx, [endedEvent(row, { ...ending, state: ending.to })]);
    return {
      id: row.id,
      host_id: row.host_id,
      state: ending.to,
      moved: true,
      reached: secondsSince(row, nowMs),
      ...(ending.state_detail !== null && { shows: { state_detail: ending.state_detail } }),
      failure: ending.to === 'failed' ? { source, app_id: row.app_id, ending } : null,
    };
  }

  async function storeSize(tx: Tx, row: LifeRow, bytes: number | null | undefined): Promise<void> {
    if (bytes === null || bytes === undefined || row.home_app_id === null || row.host_id === null) return;
    await storeHomeSize(tx, { userId: row.user_id, appId: row.home_app_id, hostId: row.host_id }, bytes);
  }

  async function applyStep(tx: Tx, row: LifeRow, step: Step, opens: boolean): Promise<Change | null> {
    const nowMs = clock.nowMs();
    const change = { id: row.id, host_id: row.host_id, failure: null };
    switch (step.kind) {
      case 'ignore':
        return { ...change, state: row.state, moved: false };
      case 'end':
        return applyEnding(tx, row, step.ending, 'agent');
      case 'detail':
        return (await setDetail(tx, [row.id], row.state, step.state_detail, opens, nowMs)).length > 0
          ? { ...change, state: row.state, moved: true, shows: { state_detail: step.state_detail } }
          : null;
      case 'swap':
        return (await settleSwap(tx, row.id, step, nowMs))
          ? { ...change, state: row.state, moved: true, shows: shownBySwap(step) }
          : null;
      case 'late':
        await storeSize(tx, row, step.fields.home_bytes);
        return { ...change, state: row.state, moved: await setLateFields(tx, row.id, step.fields) };
      case 'move': {
        const isStart = step.to === 'running' && row.started_at === null;
        const set = {
          ...(step.state_detail !== null && { state_detail: step.state_detail }),
          ...(isStart && { started_at: nowMs }),
          ...(opens && { relay_ready: 1 as const }),
        };
        if (!(await moveSession(tx, row.id, row.state, step.to, set, nowMs))) return null;
        if (isStart) await webhook?.add(tx, [runningEvent(row)]);
        return {
          ...change,
          state: step.to,
          moved: true,
          reached: secondsSince(row, nowMs),
          ...(step.state_detail !== null && { shows: { state_detail: step.state_detail } }),
        };
      }
    }
  }

  async function applyEnd(tx: Tx, row: LifeRow, end: ControlEnd): Promise<Change | null> {
    const ending = decideControlEnd(row, end);
    return ending === null ? null : applyEnding(tx, row, ending, 'control_plane');
  }

  function announce(change: Change): void {
    if (!change.moved) return;
    live.track({ id: change.id, host_id: change.host_id, state: change.state }, clock.monotonicMs());
    const { state, shows, reached } = change;
    if (reached !== undefined) meters.sessionReached(state, reached);
    bus.publish(sessionSubjects.changed, change.id, { state, ...shows });
    launches.changed(change);
    if (change.failure === null) return;
    onFailed(change.id);
    const { source, app_id, ending } = change.failure;
    logger.info(
      {
        session_id: change.id,
        host_id: change.host_id,
        source,
        state_detail: ending.state_detail,
        failure_code: ending.failure_code,
      },
      'session.failed',
    );
    void activity.record(null, 'session.failed', change.id, {
      reason_source: source,
      app_id,
      host_id: change.host_id,
      state_detail:
        ending.state_detail === null ? null : cutUtf8(ending.state_detail, MAX_AUDIT_DETAIL_BYTES),
      failure_code: ending.failure_code,
      reason: ending.error_message === null ? null : cutUtf8(ending.error_message, MAX_AUDIT_REASON_BYTES),
    });
  }

  /**
   * Reads the row and lets `decide` write. Repeats this while other transactions change the row.
   * @param guard called first in each transaction
   * @returns null: the session does not exist; contended: the row changed between each read and write
   */
  async function decideUntilWritten<T extends object>(
    sessionId: string,
    guard: ((tx: Tx) => Promise<void>) | undefined,
    decide: (tx: Tx, row: SessionRow) => Promise<T | 'changed'>,
  ): Promise<T | null | 'contended'> {
    for (let attempt = 0; attempt < MAX_DECISIONS; attempt += 1) {
      const result = await database.transaction(async (tx) => {
        await guard?.(tx);
        const row = await loadSession(tx, sessionId);
        return row === undefined ? null : decide(tx, row);
      });
      if (result !== 'changed') return result;
    }
    logger.warn({ session_id: sessionId }, 'session.contended');
    return 'contended';
  }

  return {
    applyStep,
    applyEnd,
    announce,

    async end(sessionId, end, when, guard) {
      const outcome = await decideUntilWritten(sessionId, guard, async (tx, row) => {
        const ending = when.includes(row.state) ? decideControlEnd(row, end) : null;
        if (ending === null) return { change: null };
        const change = await applyEnding(tx, row, ending, 'control_plane');
        return change === null ? 'changed' : { change };
      });
      if (outcome === null || outcome === 'contended' || outcome.change === null) return false;
      announce(outcome.change);
      return true;
    },

    async rejectSwap(sessionId, target, mayComplete) {
      const outcome = await decideUntilWritten(sessionId, undefined, async (tx, row) => {
        const isPending = row.state === 'running' && row.swap_state !== null && row.swap_app_id === target;
        if (!isPending) return { change: null };
        const change = await applyStep(tx, row, swapRejected(target, mayComplete), false);
        return change === null ? 'changed' : { change };
      });
      if (outcome !== null && outcome !== 'contended' && outcome.change !== null) announce(outcome.change);
    },

    async stop(sessionId, reason, guard) {
      const outcome = await decideUntilWritten(sessionId, guard, async (tx, row) => {
        const step = decideStop(row, reason);
        if (step.kind === 'ignore') return { row, change: null };
        const change = await (step.kind === 'end'
          ? applyEnding(tx, row, step.ending, 'control_plane')
          : requestStop(tx, row, step));
        if (change === null) return 'changed';
        return { row: (await loadSession(tx, row.id)) as SessionRow, change };
      });
      if (outcome === null) return null;
      if (outcome === 'contended') throw unavailable('The session is changing. Try again.');
      if (outcome.change !== null) announce(outcome.change);
      return { row: outcome.row, moved: outcome.change !== null };
    },
  };

  async function requestStop(
    tx: Tx,
    row: LifeRow,
    { to, state_detail, stop_reason }: Extract<StopStep, { kind: 'move' }>,
  ): Promise<Change | null> {
    const set = { state_detail, stop_reason };
    const nowMs = clock.nowMs();
    if (!(await moveSession(tx, row.id, row.state, to, set, nowMs))) return null;
    return {
      id: row.id,
      host_id: row.host_id,
      state: to,
      moved: true,
      reached: secondsSince(row, nowMs),
      shows: { state_detail },
      failure: null,
    };
  }
}

/** Never negative, although the wall clock may have been set back since then. */
const secondsSince = ({ created_at }: Pick<LifeRow, 'created_at'>, nowMs: number): number =>
  Math.max(nowMs - created_at, 0) / SECOND_MS;

const shownBySwap = ({ state_detail, app }: SwapStep): NonNullable<Change['shows']> => ({
  state_detail,
  ...(app !== null && { app_id: app.app_id }),
});
