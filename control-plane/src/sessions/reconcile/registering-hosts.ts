/**
 * Reconciles the sessions of registering hosts: applies the plan of each host inside the transaction of the
 * registration.
 */
import type { HeldSession } from '@footlight/protocol/agent';
import type { AgentHandlers, Links, RegisteringHost } from '../../fleet/index.ts';
import type { Tx } from '../../platform/database/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Guests } from '../guests/guests.ts';
import type { Driver } from '../life/driver.ts';
import { type LifeRow, loadLives, loadLivesOfHosts, setDetail, setDetails } from '../life/life-store.ts';
import type { LiveSessions } from '../life/live.ts';
import { DETAIL } from '../life/state.ts';
import type { Change, Transitions } from '../life/transitions.ts';
import { planReconciliation, type Reconciled } from './reconcile.ts';

/** Result for a host without sessions. One shared object, because most hosts of a reconnecting fleet are idle. */
const NOTHING_RECONCILED = { afterCommit() {} };

/** @param stopUnknown sends an agent a stop for a session that should not run there */
export function createReconciliation(
  { clock }: Pick<Platform, 'clock'>,
  deps: {
    driver: Driver;
    guests: Pick<Guests, 'resend'>;
    links: Links;
    live: LiveSessions;
    transitions: Transitions;
    stopUnknown(hostId: string, sessionId: string): void;
  },
): AgentHandlers['reconcile'] {
  const { driver, guests, links, live, transitions, stopUnknown } = deps;

  /**
   * Reconciles one of several hosts.
   * @param known rows of all sessions that are stored for the hosts or listed by them
   * @param unchanged receives the sessions that keep their state; only their state_detail must be updated
   */
  async function reconcileHost(
    tx: Tx,
    {
      host,
      held,
      own,
      known,
      unchanged,
    }: {
      host: RegisteringHost;
      held: readonly HeldSession[];
      own: readonly LifeRow[];
      known: ReadonlyMap<string, LifeRow>;
      unchanged: LifeRow[];
    },
    nowMs: number,
  ) {
    const stored = new Map(own.map((row) => [row.id, row]));
    for (const { session_id } of held) {
      const row = known.get(session_id);
      if (row !== undefined) stored.set(session_id, row);
    }
    const plan = planReconciliation(host.hostId, [...stored.values()], held, host.sameBoot);
    const changes: Change[] = [];
    for (const entry of plan) {
      const row = stored.get(entry.session_id);
      if (row === undefined) continue;
      for (const change of await apply(entry, row)) changes.push(change);
    }

    async function apply(entry: Reconciled, row: LifeRow): Promise<Change[]> {
      if (entry.kind === 'lost') {
        const change = await transitions.applyEnd(tx, row, entry.end);
        return change === null ? [] : [change];
      }
      if (entry.kind === 'ended_there') {
        const change = await transitions.applyStep(tx, row, entry.step, false);
        return change === null ? [] : [change];
      }
      if (entry.kind !== 'kept') return [];
      if (isUnchanged(entry)) {
        unchanged.push(row);
        return [reconnected(row, row.state)];
      }
      const opens = entry.step.kind === 'move' && entry.step.to === 'running';
      const change = await transitions.applyStep(tx, row, entry.step, opens);
      const state = change?.state ?? row.state;
      // Another swap may have begun since the row was read; then the stored app is not changed.
      const isSwapped =
        entry.swap !== null && (await transitions.applyStep(tx, row, entry.swap, false)) !== null;
      await setDetail(tx, [row.id], state, DETAIL.host_reconnected, opens, nowMs);
      return [reconnected(row, state, isSwapped ? entry.swap?.app?.app_id : undefined)];
    }

    return {
      afterCommit() {
        const now = clock.monotonicMs();
        for (const { session_id, viewer } of held) {
          const session = live.get(session_id);
          if (session?.hostId === host.hostId) live.viewerHeld(session, viewer, now);
        }
        for (const change of changes) transitions.announce(change);
        for (const entry of plan) {
          if (entry.kind === 'stop_unknown') stopUnknown(host.hostId, entry.session_id);
          if (entry.kind !== 'kept') continue;
          if (entry.command === 'session_start') void driver.start(host.hostId, entry.session_id);
          if (entry.command === 'session_stop') {
            const reason = stored.get(entry.session_id)?.stop_reason ?? 'user_requested';
            void driver.stop(host.hostId, entry.session_id, reason);
          }
        }
        // A guest may have been removed while the host was not connected.
        const kept = plan.flatMap((entry) => (entry.kind === 'kept' ? [entry.session_id] : []));
        void guests.resend(host.hostId, kept);
        // Do not log a host without changes.
        if (plan.every(isNoChange)) return;
        const counts = { same_boot: host.sameBoot, ...countKinds(plan) };
        links.log('info', host.hostId, counts, 'sessions.reconciled');
      },
    };
  }

  return async (tx, hosts) => {
    const nowMs = clock.nowMs();
    const lives = await loadLivesOfHosts(
      tx,
      hosts.map(({ host }) => host.hostId),
    );
    const known = new Map(lives.map((row) => [row.id, row]));
    const listed = hosts.flatMap(({ held }) => held.map(({ session_id }) => session_id));
    for (const row of await loadLives(tx, [...new Set(listed.filter((id) => !known.has(id)))]))
      known.set(row.id, row);
    const livesOf = new Map<string | null, LifeRow[]>(hosts.map(({ host }) => [host.hostId, []]));
    for (const row of lives) livesOf.get(row.host_id)?.push(row);
    /** Sessions with the same state on the host as in the database; only their text changes. */
    const unchanged: LifeRow[] = [];
    const reconciled: { afterCommit(): void }[] = [];
    for (const { host, held } of hosts) {
      const own = livesOf.get(host.hostId) ?? [];
      if (own.length === 0 && held.length === 0) reconciled.push(NOTHING_RECONCILED);
      else reconciled.push(await reconcileHost(tx, { host, held, own, known, unchanged }, nowMs));
    }
    await setDetails(tx, unchanged, DETAIL.host_reconnected, nowMs);
    return reconciled;
  };
}

/**
 * Change of a session that its host listed again. @param app_id the app that it runs now; missing: the app has not
 * changed
 */
const reconnected = (row: LifeRow, state: Change['state'], app_id?: string): Change => ({
  id: row.id,
  host_id: row.host_id,
  state,
  moved: true,
  shows: { state_detail: DETAIL.host_reconnected, ...(app_id !== undefined && { app_id }) },
  failure: null,
});

/** Whether the agent's state equals the stored state. */
function isUnchanged(entry: Reconciled & { kind: 'kept' }): boolean {
  return entry.step.kind === 'ignore' && entry.swap === null;
}

const isNoChange = (entry: Reconciled): boolean =>
  entry.kind === 'kept' && isUnchanged(entry) && entry.command === null;

function countKinds(plan: readonly Reconciled[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of plan) counts[entry.kind] = (counts[entry.kind] ?? 0) + 1;
  return counts;
}
