/**
 * The only module that changes the state of a launched session. It decides from a row and applies the decision by an
 * update that names the row's state. If another transaction changed the row first, it reads and decides again.
 */
import { cutUtf8 } from '@footlight/protocol';
import type { Fleet } from '../../fleet/index.ts';
import type { Tx } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import { changedSubject, type SessionChange } from '../../signaling/index.ts';
import { storeHomeSize } from '../../storage/index.ts';
import type { SessionRow } from '../record.ts';
import {
  endSession,
  type LifeRow,
  loadLives,
  loadSession,
  moveSession,
  setDetail,
  setLateFields,
  settleSwap,
} from '../store.ts';
import type { LiveSessions } from './live.ts';
import {
  type ControlEnd,
  DETAIL,
  decideControlEnd,
  decideReport,
  type Ending,
  isTerminal,
  opensRelay,
  type SessionReport,
  type SessionStateName,
  type Step,
  type SwapStep,
  swapRejected,
} from './state.ts';

/** Bound of repeated decisions. States only move forward, so a few repeats are enough. */
const MAX_DECISIONS = 8;
const MAX_AUDIT_DETAIL_BYTES = 512;
const MAX_AUDIT_REASON_BYTES = 200;

/** A stored change that is announced after the commit. */
export interface Change {
  id: string;
  host_id: string | null;
  state: SessionStateName;
  moved: boolean;
  /** New text and app; missing members are unchanged. */
  shows?: Pick<SessionChange, 'state_detail' | 'app_id'>;
  /** Set when the state became failed. */
  failure: { source: 'agent' | 'control_plane'; ending: Ending } | null;
}

type HostReport = SessionReport & { session_id: string };

export interface Transitions {
  /** Applies reports of one host in order, all or none. Reports of other hosts' sessions are ignored. */
  report(hostId: string, reports: readonly HostReport[]): Promise<void>;
  /**
   * Ends a session for a reason of the control plane, if it is in one of the given states.
   * @param guard called first in the transaction; an exception rolls back (fence of a leader task)
   * @returns whether this call ended the session
   */
  end(
    sessionId: string,
    end: ControlEnd,
    when: readonly SessionStateName[],
    guard?: (tx: Tx) => Promise<void>,
  ): Promise<boolean>;
  /** Moves a session to stopping. @returns the row afterwards, and whether this call moved it */
  stop(sessionId: string, reason: string): Promise<{ row: SessionRow; moved: boolean } | null>;
  /**
   * Ends a swap that the agent did not acknowledge.
   * @param mayComplete the agent may still have the command
   */
  rejectSwap(sessionId: string, target: string, mayComplete: boolean): Promise<void>;
  /** Writes one step in the caller's transaction. @returns null when the row's state is no longer the decided one */
  applyStep(tx: Tx, row: LifeRow, step: Step, opens: boolean): Promise<Change | null>;
  applyEnd(tx: Tx, row: LifeRow, end: ControlEnd): Promise<Change | null>;
  /** Call after the commit: updates live sessions, followers and the audit log of failures. */
  announce(change: Change): void;
}

/** @param together runs writes in a transaction that is shared with others of the same turn */
export function createTransitions(
  platform: Platform,
  live: LiveSessions,
  together: Fleet['write'],
): Transitions {
  const { activity, bus, clock, database, logger } = platform;

  async function applyEnding(
    tx: Tx,
    row: LifeRow,
    ending: Ending,
    source: 'agent' | 'control_plane',
  ): Promise<Change | null> {
    const nowMs = clock.nowMs();
    if (!(await endSession(tx, row, ending, nowMs))) return null;
    await storeSize(tx, row, ending.home_bytes);
    return {
      id: row.id,
      host_id: row.host_id,
      state: ending.to,
      moved: true,
      ...(ending.state_detail !== null && { shows: { state_detail: ending.state_detail } }),
      failure: ending.to === 'failed' ? { source, ending } : null,
    };
  }

  async function storeSize(tx: Tx, row: LifeRow, bytes: number | null | undefined): Promise<void> {
    if (bytes === null || bytes === undefined || row.home_app_id === null || row.host_id === null) return;
    await storeHomeSize(
      database,
      tx,
      { userId: row.user_id, appId: row.home_app_id, hostId: row.host_id },
      bytes,
    );
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
        const set = {
          ...(step.state_detail !== null && { state_detail: step.state_detail }),
          ...(step.to === 'running' && row.started_at === null && { started_at: nowMs }),
          ...(opens && { relay_ready: 1 as const }),
        };
        return (await moveSession(tx, row.id, row.state, step.to, set, nowMs))
          ? {
              ...change,
              state: step.to,
              moved: true,
              ...(step.state_detail !== null && { shows: { state_detail: step.state_detail } }),
            }
          : null;
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
    const { state, shows } = change;
    bus.publish(changedSubject(change.id), { state, ...shows } satisfies SessionChange);
    if (change.failure === null) return;
    const { source, ending } = change.failure;
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
    void activity.record({
      actorUserId: null,
      action: 'session.failed',
      targetType: 'session',
      targetId: change.id,
      details: {
        reason_source: source,
        host_id: change.host_id,
        state_detail:
          ending.state_detail === null ? null : cutUtf8(ending.state_detail, MAX_AUDIT_DETAIL_BYTES),
        failure_code: ending.failure_code,
        reason: ending.error_message === null ? null : cutUtf8(ending.error_message, MAX_AUDIT_REASON_BYTES),
      },
    });
  }

  /** Reads, lets `decide` write, and repeats while another transaction changes the row. */
  async function decideUntilWritten<T>(
    sessionId: string,
    decide: (tx: Tx, row: SessionRow) => Promise<T | null>,
  ): Promise<T | undefined> {
    for (let attempt = 0; attempt < MAX_DECISIONS; attempt += 1) {
      const result = await database.transaction(async (tx) => {
        const row = await loadSession(tx, sessionId);
        return row === undefined ? undefined : decide(tx, row);
      });
      if (result !== null) return result;
    }
    logger.warn({ session_id: sessionId }, 'session.contended');
    return undefined;
  }

  /**
   * @param rows read in this transaction; missing rows are read here
   * @returns null: no session of this host
   */
  async function applyReport(
    tx: Tx,
    hostId: string,
    report: HostReport,
    rows: Map<string, LifeRow>,
  ): Promise<Change | null> {
    const { session_id } = report;
    for (let attempt = 0; attempt < MAX_DECISIONS; attempt += 1) {
      const row = rows.get(session_id) ?? (await loadSession(tx, session_id));
      // The row read in bulk is stale after one decision; read it again from here on.
      rows.delete(session_id);
      if (row === undefined || row.host_id !== hostId) {
        logger.debug({ session_id, host_id: hostId }, 'session.report_foreign');
        return null;
      }
      const step = decideReport(row, report);
      if (step.kind === 'ignore' && step.why === 'illegal')
        logger.debug({ session_id, from: row.state, to: report.state }, 'session.report_ignored');
      const change = await applyStep(tx, row, step, opensRelay(report));
      if (change !== null) return change;
    }
    logger.warn({ session_id }, 'session.contended');
    return null;
  }

  /**
   * Applies the reports that change only a session's text, with one write for each distinct text: after a lost link a
   * host repeats the same text for all its sessions.
   * @param rows read in this transaction; decided rows are removed
   * @returns the reports that were written; the caller applies the others
   */
  async function applyTexts(
    tx: Tx,
    hostId: string,
    reports: readonly HostReport[],
    rows: Map<string, LifeRow>,
  ): Promise<Change[]> {
    const only = new Map<string, HostReport | null>();
    for (const report of reports) only.set(report.session_id, only.has(report.session_id) ? null : report);
    const alike = new Map<string, { state: SessionStateName; text: string; opens: boolean; ids: string[] }>();
    for (const [id, report] of only) {
      const row = rows.get(id);
      if (report === null || row?.host_id !== hostId) continue;
      const step = decideReport(row, report);
      if (step.kind !== 'detail') continue;
      rows.delete(id);
      const write = { state: row.state, text: step.state_detail, opens: opensRelay(report) };
      const key = JSON.stringify(write);
      const known = alike.get(key);
      if (known === undefined) alike.set(key, { ...write, ids: [id] });
      else known.ids.push(id);
    }
    const changes: Change[] = [];
    for (const { state, text, opens, ids } of alike.values()) {
      for (const id of await setDetail(tx, ids, state, text, opens, clock.nowMs()))
        changes.push({
          id,
          host_id: hostId,
          state,
          moved: true,
          shows: { state_detail: text },
          failure: null,
        });
    }
    return changes;
  }

  return {
    applyStep,
    applyEnd,
    announce,

    async report(hostId, reports) {
      const ids = [...new Set(reports.map(({ session_id }) => session_id))];
      const apply = async (tx: Tx): Promise<Change[]> => {
        const rows = new Map((await loadLives(tx, ids)).map((row) => [row.id, row]));
        const applied = await applyTexts(tx, hostId, reports, rows);
        const written = new Set(applied.map((change) => change.id));
        for (const report of reports) {
          if (written.has(report.session_id)) continue;
          const change = await applyReport(tx, hostId, report, rows);
          if (change !== null) applied.push(change);
        }
        return applied;
      };
      // Ending a session also locks its GPU's row, whose id only the transaction reads. Therefore it gets its own
      // transaction.
      const changes = await (reports.some(({ state }) => isTerminal(state))
        ? database.transaction(apply)
        : together({ sessions: ids }, apply));
      for (const change of changes) {
        const known = live.get(change.id);
        if (known !== undefined) known.reportedAt = clock.monotonicMs();
        announce(change);
      }
    },

    async end(sessionId, end, when, guard) {
      const change = await decideUntilWritten<Change | 'none'>(sessionId, async (tx, row) => {
        await guard?.(tx);
        if (isTerminal(row.state) || !when.includes(row.state)) return 'none';
        return applyEnd(tx, row, end);
      });
      if (change === undefined || change === 'none') return false;
      announce(change);
      return true;
    },

    async rejectSwap(sessionId, target, mayComplete) {
      const change = await decideUntilWritten<Change | 'none'>(sessionId, (tx, row) =>
        row.state === 'running' && row.swap_state !== null && row.swap_app_id === target
          ? applyStep(tx, row, swapRejected(target, mayComplete), false)
          : Promise.resolve('none'),
      );
      if (change !== undefined && change !== 'none') announce(change);
    },

    async stop(sessionId, reason) {
      const outcome = await decideUntilWritten(sessionId, async (tx, row) => {
        if (isTerminal(row.state) || row.state === 'stopping') return { row, change: null };
        const change = await (row.state === 'pending'
          ? applyEnding(tx, row, stoppedBeforePlacement(reason), 'control_plane')
          : requestStop(tx, row, reason));
        if (change === null) return null;
        return { row: (await loadSession(tx, row.id)) as SessionRow, change };
      });
      if (outcome === undefined) return null;
      if (outcome.change !== null) announce(outcome.change);
      return { row: outcome.row, moved: outcome.change !== null };
    },
  };

  async function requestStop(tx: Tx, row: LifeRow, reason: string): Promise<Change | null> {
    const set = { state_detail: DETAIL.stop_requested, stop_reason: reason };
    const moved = await moveSession(tx, row.id, row.state, 'stopping', set, clock.nowMs());
    if (!moved) return null;
    const shows = { state_detail: DETAIL.stop_requested };
    return { id: row.id, host_id: row.host_id, state: 'stopping', moved: true, shows, failure: null };
  }
}

const shownBySwap = ({ state_detail, app }: SwapStep): NonNullable<Change['shows']> => ({
  state_detail,
  ...(app !== null && { app_id: app.app_id }),
});

/** A session that no host got ends without a command. */
const stoppedBeforePlacement = (reason: string): Ending => ({
  to: 'stopped',
  state_detail: DETAIL.stop_requested,
  error_message: null,
  failure_code: null,
  end_reason: reason,
  app_log_tail: null,
  home_bytes: null,
});
