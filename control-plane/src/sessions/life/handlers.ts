/** Handlers of agent messages about sessions, and answers to questions of the fleet feature. */

import { WindowCounter, within } from '@footlight/platform';
import { isTerminal, nonterminalStates, reservingStates } from '@footlight/protocol';
import { MAX_HOST_SESSIONS } from '@footlight/protocol/agent';
import type { LogEvent } from '@footlight/protocol/telemetry';
import pLimit from 'p-limit';
import type { AgentHandlers, Agents, Links } from '../../fleet/index.ts';
import { unavailable } from '../../platform/errors.ts';
import { LimiterKeys } from '../../platform/limits.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Recordings } from '../../recordings/index.ts';
import { sessionSubjects } from '../../signaling/index.ts';
import { orphanHomes } from '../../storage/index.ts';
import type { Telemetry } from '../../telemetry/index.ts';
import { planReconciliation, type Reconciled } from '../reconcile/reconcile.ts';
import { observedRecord } from '../record.ts';
import { DRIFT_STOP_EVERY_MS, decideDrift } from '../sweeps/timeouts.ts';
import type { Driver } from './driver.ts';
import {
  countSessionsOfHost,
  deleteSessionsOfHost,
  type LifeRow,
  loadLives,
  loadLivesOfHost,
  loadLoads,
  sessionsOnHost,
  setDetail,
  setDetailOfHost,
  setDetails,
  setNegotiatedCodec,
} from './life-store.ts';
import type { LiveSessions } from './live.ts';
import { answeredCodec } from './negotiated-codec.ts';
import { DETAIL, UNSUSTAINABLE } from './state.ts';
import type { Change, Transitions } from './transitions.ts';

/** Result for a host without sessions. Shared, because most hosts of a reconnecting fleet are idle. */
const NOTHING_RECONCILED = { afterCommit() {} };

/** Bound of the map that limits repeated stops of unknown sessions. */
const MAX_REMEMBERED_STOPS = 4_096;

export function createHandlers(
  platform: Platform,
  deps: {
    agents: Agents;
    links: Links;
    live: LiveSessions;
    recordings: Recordings;
    telemetry: Telemetry;
    transitions: Transitions;
    driver: Driver;
    bootAtMs: number;
  },
): AgentHandlers {
  const { bus, clock, database, logger } = platform;
  const { agents, links, live, recordings, telemetry, transitions, driver, bootAtMs } = deps;
  const stopsSent = new Map<string, number>();
  /** A host holds no more sessions; one that names more invents them. */
  const stopsOfHost = new LimiterKeys<WindowCounter>((stops, nowMs) => stops.isFull(nowMs));
  /** Hosts with a pending look-up of unknown sessions: one per host, at any heartbeat rate. */
  const lookingUp = new Set<string>();

  /** Tells an agent to stop a session that should not run there, at most every 10 s for each session. */
  function stopUnknown(hostId: string, sessionId: string): void {
    const now = clock.monotonicMs();
    const key = `${hostId} ${sessionId}`;
    if (now - (stopsSent.get(key) ?? Number.NEGATIVE_INFINITY) < DRIFT_STOP_EVERY_MS) return;
    const stops = stopsOfHost.get(hostId, now) ?? new WindowCounter(MAX_HOST_SESSIONS, DRIFT_STOP_EVERY_MS);
    if (!stops.take(now)) return;
    stopsOfHost.set(hostId, stops, now);
    stopsSent.delete(key);
    stopsSent.set(key, now);
    for (const oldest of stopsSent.keys()) {
      if (stopsSent.size <= MAX_REMEMBERED_STOPS) break;
      stopsSent.delete(oldest);
    }
    links.log('info', hostId, { session_id: sessionId }, 'session.stop_unknown');
    void driver.stop(hostId, sessionId, 'unknown_session');
  }

  async function storeCodec(hostId: string, sessionId: string, codec: string): Promise<void> {
    const changed = await setNegotiatedCodec(database.db, sessionId, hostId, codec, clock.nowMs());
    const session = live.get(sessionId);
    if (changed && session) bus.publish(sessionSubjects.changed, sessionId, {});
  }

  /** Ends an unsustainable session, so that its slots can serve another one. */
  async function endUnsustainable(hostId: string, sessionId: string, why: string): Promise<void> {
    const ended = await transitions.end(sessionId, { cause: UNSUSTAINABLE, why }, ['running']);
    if (ended) await driver.stop(hostId, sessionId, UNSUSTAINABLE);
  }

  function inBackground(event: LogEvent, work: Promise<unknown>): void {
    work.catch((error: unknown) => logger.error({ err: error }, event));
  }

  return {
    async reconcile(tx, host, held) {
      const nowMs = clock.nowMs();
      const stored = new Map<string, LifeRow>();
      for (const row of await loadLivesOfHost(tx, host.hostId)) stored.set(row.id, row);
      if (stored.size === 0 && held.length === 0) return NOTHING_RECONCILED;
      const listed = held.map((entry) => entry.session_id).filter((id) => !stored.has(id));
      for (const row of await loadLives(tx, listed)) stored.set(row.id, row);

      const plan = planReconciliation(host.hostId, [...stored.values()], held, host.sameBoot);
      const changes: Change[] = [];
      /** Sessions whose state on the host equals the stored one; only their text changes. */
      const unchanged: LifeRow[] = [];
      for (const entry of plan) {
        const row = stored.get(entry.session_id);
        if (row === undefined) continue;
        for (const change of await apply(entry, row)) changes.push(change);
      }
      await setDetails(tx, unchanged, DETAIL.host_reconnected, nowMs);

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
        // Another swap may have begun since the row was read; then the app stays the stored one.
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
          // An unchanged host needs no log line.
          if (plan.every(isNoChange)) return;
          const counts = { same_boot: host.sameBoot, ...countKinds(plan) };
          links.log('info', host.hostId, counts, 'sessions.reconciled');
        },
      };
    },

    sessionStates: (hostId, reports) => transitions.report(hostId, reports),

    heartbeat(hostId, registeredMs, runningSessionIds) {
      if (runningSessionIds.length === 0 && !live.anyOfHost(hostId)) return;
      const listed = new Set(runningSessionIds);
      const now = clock.monotonicMs();
      for (const session of live.ofHost(hostId)) {
        const drift = decideDrift(
          session,
          registeredMs,
          bootAtMs,
          session.misses,
          listed.has(session.id),
          now,
        );
        session.misses = drift.misses;
        listed.delete(session.id);
        if (drift.end !== null)
          inBackground(
            'session.drift_failed',
            transitions.end(session.id, drift.end, ['starting', 'running']),
          );
      }
      if (listed.size === 0 || lookingUp.has(hostId)) return;
      lookingUp.add(hostId);
      const looked = stopForeignSessions(hostId, [...listed]).finally(() => lookingUp.delete(hostId));
      inBackground('session.drift_failed', looked);
    },

    traceEvent(hostId, event) {
      logger.debug({ host_id: hostId, session_id: event.session_id, type: event.event }, 'session.trace');
      if (event.event === 'webrtc.state_changed') {
        const session = live.get(event.session_id);
        if (session?.hostId === hostId && live.viewerChanged(session, event.payload, clock.monotonicMs()))
          bus.publish(sessionSubjects.changed, session.id, { observed: observedRecord(session.observed) });
      }
      // Those of the reliable lane are stored before they are confirmed.
      if (event.seq === undefined)
        telemetry.ingest.hostEvent(hostId, event, live.get(event.session_id)?.hostId === hostId);
      const codec = event.event === 'sdp.answer_applied' ? answeredCodec(event.payload) : null;
      if (codec !== null) inBackground('session.codec_failed', storeCodec(hostId, event.session_id, codec));
    },

    async storeEvents(source, events) {
      // Keep the remaining disk space for the rows that end sessions.
      if (database.full) throw unavailable('The disk is full.');
      // Each event inserts a row of its own, so this transaction locks no row that another one needs.
      await links.write({}, async (tx) => {
        const unknown = events.filter(({ session_id }) => live.get(session_id)?.hostId !== source.hostId);
        const found =
          unknown.length === 0
            ? new Set<string>()
            : await sessionsOnHost(tx, source.hostId, [
                ...new Set(unknown.map(({ session_id }) => session_id)),
              ]);
        const own = events.filter((event) => !unknown.includes(event) || found.has(event.session_id));
        if (own.length > 0) await telemetry.storeEvents(tx, source, own);
        await recordings.settle(tx, source.hostId, own);
        if (own.length < events.length)
          logger.debug(
            { host_id: source.hostId, events: events.length - own.length },
            'session.trace_foreign',
          );
      });
    },

    metrics(hostId, metrics) {
      const session = live.get(metrics.session_id);
      if (session === undefined || session.hostId !== hostId) return;
      if (session.state !== 'running' && session.state !== 'stopping') return;
      telemetry.ingest.hostSample(hostId, metrics);
      if (metrics.late === true) return;
      if (live.observe(session, metrics, clock.monotonicMs(), clock.nowMs()))
        bus.publish(sessionSubjects.changed, session.id, { observed: observedRecord(session.observed) });
      const { network } = session.observed;
      if (session.state === 'running' && network?.state === UNSUSTAINABLE)
        inBackground(
          'session.unsustainable_failed',
          endUnsustainable(hostId, session.id, network.reason ?? ''),
        );
    },

    signaling(hostId, { session_id, conn, msg, text }) {
      const session = live.get(session_id);
      if (session === undefined || session.hostId !== hostId) {
        // Debug level: one agent could fill the disk with a line per frame.
        logger.debug({ session_id, host_id: hostId }, 'session.signal_foreign');
        return;
      }
      const isLast = msg.type === 'bye' || (msg.type === 'error' && msg.fatal);
      bus.publish(sessionSubjects.signal, session_id, { conn, text, last: isLast ? msg : null });
    },

    linkLost(hostId) {
      inBackground('session.unreachable_failed', markUnreachable(hostId));
    },

    async stopSessionsOfHost(hostId, reason, limits) {
      const limit = pLimit(limits.parallel);
      const rows = await loadLivesOfHost(database.db, hostId);
      const deadline = clock.monotonicMs() + limits.budgetMs;
      const stops = rows.map((row) =>
        limit(async () => {
          if (clock.monotonicMs() >= deadline) return;
          await transitions.stop(row.id, reason);
          await driver.stop(hostId, row.id, reason);
        }).catch((error: unknown) => logger.warn({ session_id: row.id, err: error }, 'session.drain_failed')),
      );
      await within(clock, limits.budgetMs, Promise.all(stops), undefined);
    },

    countLiveSessions: (tx, hostId) => countSessionsOfHost(tx, hostId, nonterminalStates),
    countReservingSessions: (tx, hostId) => countSessionsOfHost(tx, hostId, reservingStates),

    async forgetHost(tx, hostId) {
      await deleteSessionsOfHost(tx, hostId);
      return { homes: await orphanHomes(tx, 'host_id', hostId, clock.nowMs()) };
    },

    async loads(hostIds) {
      const rows = await loadLoads(database.db, hostIds);
      return rows.map((row) => ({ ...row, vram_mb_reserved: 0 }));
    },
  };

  /** Changes only the text: the sessions of an offline host wait for it. */
  async function markUnreachable(hostId: string): Promise<void> {
    const nowMs = clock.nowMs();
    const rows = { gpusOfHosts: [hostId], sessionsOfHosts: [hostId] };
    const ids = await links.write(rows, (tx) =>
      setDetailOfHost(tx, hostId, DETAIL.host_unreachable, null, nowMs),
    );
    // The host may have reconnected meanwhile, and this write may have overwritten the text of its registration.
    if ((await agents.link(hostId)) !== null)
      await links.write(rows, (tx) =>
        setDetailOfHost(tx, hostId, DETAIL.host_reconnected, DETAIL.host_unreachable, nowMs),
      );
    for (const id of ids) bus.publish(sessionSubjects.changed, id, {});
  }

  /** Stops sessions that an agent runs and should not run: sessions of another host, ended ones, unknown ones. */
  async function stopForeignSessions(hostId: string, ids: readonly string[]): Promise<void> {
    const rows = new Map((await loadLives(database.db, ids)).map((row) => [row.id, row]));
    for (const id of ids) {
      const row = rows.get(id);
      if (row === undefined || row.host_id !== hostId || isTerminal(row.state)) stopUnknown(hostId, id);
      else live.track(row, null);
    }
  }
}

/** Change of a session that its host listed again. @param app_id the app it runs now; missing: unchanged */
const reconnected = (row: LifeRow, state: Change['state'], app_id?: string): Change => ({
  id: row.id,
  host_id: row.host_id,
  state,
  moved: true,
  shows: { state_detail: DETAIL.host_reconnected, ...(app_id !== undefined && { app_id }) },
  failure: null,
});

/** Whether the agent's state equals the stored one. */
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
