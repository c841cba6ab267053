import { isTerminal, type SessionStateName } from '@footlight/protocol';
import { runWithIndividualRetry, type Tx } from '../../platform/database/index.ts';
import { batchWrites } from '../../platform/database/query/batch-writes.ts';
import type { Platform } from '../../platform/platform.ts';
import { loadSession } from '../store.ts';
import { type LifeRow, loadLives, setDetail } from './life-store.ts';
import type { LiveSessions } from './live.ts';
import { decideReport, opensRelay, type SessionReport } from './state.ts';
import { type Change, MAX_DECISIONS, type Transitions } from './transitions.ts';

/**
 * Maximum hosts whose reports share statements. Each has at most 64 reports (lengthOfRun), so the ids of a batch stay
 * far below the 32,766 placeholders of SQLite.
 */
const MAX_BATCH = 128;

type HostReport = SessionReport & { session_id: string };

/** Reports of one host in the order of arrival. */
interface OfHost {
  hostId: string;
  reports: readonly HostReport[];
}

/** Applies the hosts' reports about their sessions. */
export interface HostReports {
  /** Applies reports of one host in order, either all or none. Reports of other hosts' sessions are ignored. */
  report(hostId: string, reports: readonly HostReport[]): Promise<void>;
}

export function createHostReports(
  platform: Pick<Platform, 'clock' | 'database' | 'logger' | 'writeBatch'>,
  live: LiveSessions,
  transitions: Transitions,
): HostReports {
  const { clock, database, logger, writeBatch } = platform;

  // A reconnecting fleet reports thousands of sessions at once; one read and one write per host would take longer than
  // all other work for a report.
  const applyTogether = batchWrites<OfHost, readonly Change[]>(
    (batch) =>
      runWithIndividualRetry(batch, (some) =>
        writeBatch.run({ sessions: some.flatMap(({ reports }) => idsOf(reports)) }, (tx) => apply(tx, some)),
      ),
    MAX_BATCH,
  );

  /** @returns the changes of each host */
  async function apply(tx: Tx, batch: readonly OfHost[]): Promise<Change[][]> {
    const ids = [...new Set(batch.flatMap(({ reports }) => idsOf(reports)))];
    const rows = new Map((await loadLives(tx, ids)).map((row) => [row.id, row]));
    const changes = await applyTexts(tx, batch, rows);
    for (const [n, { hostId, reports }] of batch.entries()) {
      const ofHost = changes[n] as Change[];
      const written = new Set(ofHost.map(({ id }) => id));
      for (const report of reports) {
        if (written.has(report.session_id)) continue;
        const change = await applyReport(tx, hostId, report, rows);
        if (change !== null) ofHost.push(change);
      }
    }
    return changes;
  }

  /**
   * Applies the reports that change only a session's text, with one write for each distinct text: after a lost link a
   * host repeats the same text for all its sessions, and many hosts often report the same text.
   * @param rows read in this transaction; decided rows are removed
   * @returns for each host the changes that were written; the caller applies the other reports
   */
  async function applyTexts(
    tx: Tx,
    batch: readonly OfHost[],
    rows: Map<string, LifeRow>,
  ): Promise<Change[][]> {
    const changes: Change[][] = batch.map(() => []);
    const alike = new Map<
      string,
      { state: SessionStateName; text: string; opens: boolean; hostOf: Map<string, number> }
    >();
    for (const [n, { hostId, reports }] of batch.entries()) {
      const only = new Map<string, HostReport | null>();
      for (const report of reports) only.set(report.session_id, only.has(report.session_id) ? null : report);
      for (const [id, report] of only) {
        const row = rows.get(id);
        if (report === null || row?.host_id !== hostId) continue;
        const step = decideReport(row, report);
        if (step.kind !== 'detail') continue;
        // Read the row again for a later report of this session, because the stored state has changed by then.
        rows.delete(id);
        const write = { state: row.state, text: step.state_detail, opens: opensRelay(report) };
        const key = JSON.stringify(write);
        const known = alike.get(key);
        if (known === undefined) alike.set(key, { ...write, hostOf: new Map([[id, n]]) });
        else known.hostOf.set(id, n);
      }
    }
    for (const { state, text, opens, hostOf } of alike.values()) {
      for (const id of await setDetail(tx, [...hostOf.keys()], state, text, opens, clock.nowMs())) {
        const n = hostOf.get(id) as number;
        changes[n]?.push({
          id,
          host_id: (batch[n] as OfHost).hostId,
          state,
          moved: true,
          shows: { state_detail: text },
          failure: null,
        });
      }
    }
    return changes;
  }

  /**
   * @param rows read in this transaction; missing rows are read here
   * @returns null: it is not a session of this host
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
      const change = await transitions.applyStep(tx, row, step, opensRelay(report));
      if (change !== null) return change;
    }
    logger.warn({ session_id }, 'session.contended');
    return null;
  }

  /**
   * Ending a session also locks its GPU's row, whose id is only known inside the transaction, so it gets its own
   * transaction.
   */
  const store = (ofHost: OfHost): Promise<readonly Change[]> =>
    ofHost.reports.some(({ state }) => isTerminal(state))
      ? database.transaction(async (tx) => (await apply(tx, [ofHost])).flat())
      : applyTogether(ofHost);

  return {
    async report(hostId, reports) {
      let changes: readonly Change[];
      try {
        changes = await store({ hostId, reports });
      } catch (error) {
        for (const { session_id } of reports) {
          const known = live.get(session_id);
          if (known?.hostId === hostId) known.refusedAtMs = clock.monotonicMs();
        }
        throw error;
      }
      for (const change of changes) {
        const known = live.get(change.id);
        if (known !== undefined) known.reportedAtMs = clock.monotonicMs();
        transitions.announce(change);
      }
    },
  };
}

const idsOf = (reports: readonly HostReport[]): string[] => reports.map(({ session_id }) => session_id);
