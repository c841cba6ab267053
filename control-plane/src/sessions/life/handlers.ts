/** Handlers of agent messages about sessions, and other callbacks of the fleet feature. */

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
import type { Guests } from '../guests/guests.ts';
import { createReconciliation } from '../reconcile/registering-hosts.ts';
import { observedRecord } from '../record.ts';
import { observedFor, replicaSubjects } from '../replicas/subjects.ts';
import { DRIFT_STOP_EVERY_MS, decideDrift } from '../sweeps/timeouts.ts';
import type { Driver } from './driver.ts';
import { createHostReports } from './host-reports.ts';
import {
  countSessionsOfHost,
  deleteSessionsOfHost,
  loadLives,
  loadLivesOfHosts,
  loadLoads,
  sessionsOnHost,
  setDetailOfHost,
  setNegotiatedCodec,
} from './life-store.ts';
import type { LiveSessions } from './live.ts';
import { answeredCodec } from './negotiated-codec.ts';
import { DETAIL, UNSUSTAINABLE } from './state.ts';
import type { Transitions } from './transitions.ts';

/** Maximum remembered stops of unknown sessions. */
const MAX_REMEMBERED_STOPS = 4_096;

export function createHandlers(
  platform: Platform,
  deps: {
    agents: Agents;
    guests: Pick<Guests, 'resend'>;
    links: Links;
    live: LiveSessions;
    recordings: Recordings;
    telemetry: Telemetry;
    transitions: Transitions;
    driver: Driver;
    bootAtMs: number;
  },
): AgentHandlers {
  const { bus, clock, database, logger, writeBatch } = platform;
  const { agents, guests, links, live, recordings, telemetry, transitions, driver, bootAtMs } = deps;
  const hostReports = createHostReports(platform, live, transitions);
  const stopsSent = new Map<string, number>();
  /** Limits stops per host. A host cannot have more sessions, so a longer list is forged. */
  const stopsOfHost = new LimiterKeys<WindowCounter>((stops, nowMs) => stops.isFull(nowMs));
  /**
   * Hosts with a pending look-up of unknown sessions: at most one per host, even if its heartbeats arrive too often.
   */
  const lookingUp = new Set<string>();

  /** Sends an agent a stop for a session that should not run there, at most every 10 s per session. */
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
    reconcile: createReconciliation(platform, { driver, guests, links, live, transitions, stopUnknown }),

    sessionStates: (hostId, reports) => hostReports.report(hostId, reports),

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
        if (session?.hostId === hostId && live.viewerChanged(session, event.payload, clock.monotonicMs())) {
          bus.publish(
            replicaSubjects.observed,
            session.id,
            observedFor(session.observed, clock.monotonicMs()),
          );
          bus.publish(sessionSubjects.changed, session.id, { observed: observedRecord(session.observed) });
        }
      }
      // Events of the reliable lane are stored before they are confirmed.
      if (event.seq === undefined)
        telemetry.ingest.hostEvent(hostId, event, live.get(event.session_id)?.hostId === hostId);
      const codec = event.event === 'sdp.answer_applied' ? answeredCodec(event.payload) : null;
      if (codec !== null) inBackground('session.codec_failed', storeCodec(hostId, event.session_id, codec));
    },

    async storeEvents(source, events) {
      // Refuse the write, to keep the remaining disk space for the rows that end sessions.
      if (database.full) throw unavailable('The disk is full.');
      // Each event inserts its own row, so this transaction locks no row that another transaction needs.
      await writeBatch.run({}, async (tx) => {
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
      const isShown = live.observe(session, metrics, clock.monotonicMs(), clock.nowMs());
      bus.publish(replicaSubjects.observed, session.id, observedFor(session.observed, clock.monotonicMs()));
      if (isShown)
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
        // Logged at debug level only, because one agent could fill the disk with a line per frame.
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
      const rows = await loadLivesOfHosts(database.db, [hostId]);
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

  /** Changes only the text of the sessions, because the sessions of an offline host wait for the host. */
  async function markUnreachable(hostId: string): Promise<void> {
    const nowMs = clock.nowMs();
    const rows = { gpusOfHosts: [hostId], sessionsOfHosts: [hostId] };
    const ids = await writeBatch.run(rows, (tx) =>
      setDetailOfHost(tx, hostId, DETAIL.host_unreachable, null, nowMs),
    );
    // The host may have reconnected in the meantime, and the write above may have overwritten the text that its
    // registration set.
    if ((await agents.link(hostId).catch(() => null)) !== null)
      await writeBatch.run(rows, (tx) =>
        setDetailOfHost(tx, hostId, DETAIL.host_reconnected, DETAIL.host_unreachable, nowMs),
      );
    for (const id of ids) bus.publish(sessionSubjects.changed, id, {});
  }

  /**
   * Stops sessions that an agent runs but should not run: sessions of another host, ended sessions and unknown
   * sessions.
   */
  async function stopForeignSessions(hostId: string, ids: readonly string[]): Promise<void> {
    const rows = new Map((await loadLives(database.db, ids)).map((row) => [row.id, row]));
    for (const id of ids) {
      const row = rows.get(id);
      if (row === undefined || row.host_id !== hostId || isTerminal(row.state)) stopUnknown(hostId, id);
      else live.track(row, null);
    }
  }
}
