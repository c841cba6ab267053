import {
  isTerminal,
  nonterminalStates,
  type SessionEndReason,
  type SessionStateName,
} from '@footlight/protocol';
import type { AdminSession, Body, IceServer, Placement, Query, Session } from '@footlight/protocol/rest';
import type { Agents, ConsoleSessions, HostPresence, Links } from '../fleet/index.ts';
import type { Images } from '../images/index.ts';
import { ApiError } from '../platform/errors.ts';
import type { Caller } from '../platform/http/message/contract.ts';
import { createKeyedCount } from '../platform/keyed-count.ts';
import { type Fence, LeaseLost } from '../platform/leader.ts';
import { pageOf, readCursor } from '../platform/page-cursor.ts';
import type { Platform } from '../platform/platform.ts';
import { createKeyedQueue } from '../platform/queues/keyed-queue.ts';
import type { Recordings } from '../recordings/index.ts';
import type { Settings } from '../settings/index.ts';
import {
  mintIceServers,
  type SessionDirectory,
  type SignalingToken,
  type SignalingTokens,
  sessionSubjects,
} from '../signaling/index.ts';
import type { Telemetry, ViewerReport } from '../telemetry/index.ts';
import { judgeJoin, judgeRead, UNKNOWN_SESSION } from './access/join-rules.ts';
import { type Captures, createCaptures } from './captures/captures.ts';
import { createConsoleSessions } from './console.ts';
import { asksForPicture, type DisplayChange, judgeDisplayChange, pictureAfter } from './display/display.ts';
import { createEventStreams, type EventStreams } from './events.ts';
import { createGuests, type Guests } from './guests/guests.ts';
import { createViewerWatch } from './health/viewer-watch.ts';
import { type BenchLaunch, createBenchLauncher } from './launch/bench-launcher.ts';
import { createLauncher } from './launch/launch.ts';
import { findLaunchUser } from './launch/launch-store.ts';
import { createLaunchWatch } from './launch/launch-watch.ts';
import { refusalError } from './launch/refusal.ts';
import type { BookedLaunch, LaunchBody } from './launch/stages.ts';
import { createDriver } from './life/driver.ts';
import { createHandlers } from './life/handlers.ts';
import { setNegotiatedCodec } from './life/life-store.ts';
import { LiveSessions } from './life/live.ts';
import { firstCodec } from './life/negotiated-codec.ts';
import { createTransitions, type Transitions } from './life/transitions.ts';
import { readOrder, readSortedCursor, writeSortedCursor } from './list-order.ts';
import { countAllSessions, listAllSessions, listOwnSessions } from './list-store.ts';
import { adminSessionRecord, type SessionRow, sessionRecord } from './record.ts';
import { followReplicas } from './replicas/follow.ts';
import { replicaSubjects } from './replicas/subjects.ts';
import { countLiveSessions, loadLiveSessions, loadPlacement, loadSession } from './store.ts';
import { beginSwapTo } from './swap/swap.ts';
import { registerKeptSessions } from './sweeps/kept-sessions.ts';
import { registerReapers } from './sweeps/reapers.ts';

export interface SessionsDeps {
  fleet: { agents: Agents; links: Links; presence: HostPresence };
  images: Pick<Images, 'used'>;
  recordings: Recordings;
  settings: Settings;
  telemetry: Telemetry;
  tokens: SignalingTokens;
}

interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** Sessions from launch to end. Every method with a parameter `caller` checks the rights of this account. */
export interface Sessions extends SessionDirectory, Captures {
  readonly streams: EventStreams;
  readonly guests: Guests;
  /** ICE servers with credentials for one viewer connection of this session. */
  iceServers(sessionId: string): IceServer[];
  /** Launches sessions for consoles. */
  readonly consoles: ConsoleSessions;
  /** Launches a measurement. @throws ApiError 409 with the reason */
  launchBench(request: BenchLaunch, actorUserId: string): Promise<{ sessionId: string; token: string }>;
  /** Loads the live sessions. Call this after the migrations and before agents connect. */
  start(): Promise<void>;
  /** Ends event streams and timers. Sessions continue. */
  close(): void;
  launch(caller: Caller, body: LaunchBody): Promise<{ session: Session; token: SignalingToken }>;
  /** Result of a hypothetical launch by the given account. @throws ApiError 404 */
  preview(request: Body<'admin.placement.preview'>): Promise<Placement>;
  /** Stored explanation of a session's placement. @throws ApiError 404 */
  placement(id: string): Promise<Placement>;
  listOwn(caller: Caller, limit: number, cursor: string | undefined): Promise<Page<Session>>;
  listAll(query: Query<'admin.sessions.list'>): Promise<Page<AdminSession> & { total?: number }>;
  /** Returns the row, if the caller is the owner or an administrator. @throws ApiError 403, 404 */
  read(caller: Caller, id: string): Promise<SessionRow>;
  record(row: SessionRow): Session;
  /** @returns ended: the session had already ended */
  stop(caller: Caller, id: string): Promise<{ session: Session; ended: boolean }>;
  /** Changes a size and waits for the host's answer. @throws ApiError with the first refusal */
  updateDisplay(caller: Caller, id: string, change: DisplayChange): Promise<Session>;
  /** Starts a swap. @throws ApiError with the first refusal */
  swap(caller: Caller, id: string, appId: string): Promise<Session>;
  /**
   * Stops several sessions and stores the reason. Failures are logged.
   * @param fence given by a leader task
   * @throws LeaseLost when another replica has the lease
   */
  stopAll(ids: readonly string[], reason: SessionEndReason, fence?: Fence): Promise<void>;
  /** Creates a signaling token; only the owner may do this. @throws ApiError 403, 404, 409 */
  mintToken(caller: Caller, id: string): Promise<SignalingToken>;
  /** Adds a viewer's report to the record of a session that has not ended. Never rejects. */
  viewerReported(caller: Caller, session: SessionRow, report: ViewerReport): Promise<void>;
  /**
   * Called when a viewer saw the app's first picture. @param sinceLaunchMs time that the viewer reports; null: not
   * reported
   */
  seen(sessionId: string, sinceLaunchMs: number | null): void;
  /** Sessions that have not ended, by state; a state without a session is missing. */
  countLive(): Promise<ReadonlyMap<string, number>>;
  /** Returns the row without checking rights; undefined when it was deleted. */
  find(id: string): Promise<SessionRow | undefined>;
}

const ADMIN_FILTERS = new Map<string, readonly SessionStateName[] | null>([
  ['all', null],
  ['active', nonterminalStates],
  ['ended', ['stopped']],
  ['failed', ['failed']],
]);

export function createSessions(platform: Platform, deps: SessionsDeps): Sessions {
  const { activity, bus, clock, config, database, logger } = platform;
  const { images, recordings, settings, telemetry, tokens } = deps;
  const { agents, links, presence } = deps.fleet;
  const bootAtMs = clock.monotonicMs();
  const live = new LiveSessions();
  const launches = createLaunchWatch(platform);
  const transitions = createTransitions(platform, live, {
    launches,
    // Keep the recording now, because a host keeps it for only ten minutes after the failure.
    onFailed: (id) => void recordings.freezeOnce(id, 'failure', null),
  });
  const driver = createDriver(platform, { agents, launches, links, live, presence, transitions, bootAtMs });
  const watchViewer = createViewerWatch(platform, live);
  const followed = followReplicas(platform, { driver, launches, links, live, watchViewer });
  const guests = createGuests(platform, { agents, settings, tokens });
  const launcher = createLauncher(platform, { presence, settings, tokens });
  const streams = createEventStreams(platform);
  const displayChanges = createKeyedCount();
  const listQueue = createKeyedQueue();
  links.setHandlers(
    createHandlers(platform, {
      agents,
      guests,
      links,
      live,
      recordings,
      telemetry,
      transitions,
      driver,
      bootAtMs,
    }),
  );
  registerReapers(platform, { live, presence, transitions, driver, tokens, bootAtMs });
  registerKeptSessions(platform);

  const record = (row: SessionRow): Session => sessionRecord(row, live.get(row.id)?.observed);

  async function read(caller: Caller, id: string): Promise<SessionRow> {
    const row = await loadSession(database.db, id);
    const refusal = judgeRead(caller, row);
    if (refusal !== null || row === undefined) throw refusalError(refusal ?? UNKNOWN_SESSION);
    return row;
  }

  /**
   * Starts sending the commands of a launched session.
   * @param actorUserId null: the service launched it
   * @param requestedAtMs epoch ms; missing: the launch was requested by the service itself
   */
  async function begin(
    { row, assignment }: BookedLaunch,
    actorUserId: string | null,
    requestedAtMs = row.created_at,
  ): Promise<Session> {
    live.track(row, clock.monotonicMs());
    launches.booked(row, requestedAtMs);
    // Announce the session, because the replica with the host's link does not know it yet.
    bus.publish(sessionSubjects.changed, row.id, {});
    void images.used(row.host_id as string, assignment.app.image);
    void driver.launch(row.host_id as string, assignment);
    await activity.record(actorUserId, 'session.launched', row.id, {
      app_id: row.app_id,
      host_id: row.host_id,
    });
    return record(row);
  }

  /** Sets a session to stopping and sends its host the stop; null when the session was deleted. */
  async function requestStop(
    id: string,
    reason: SessionEndReason,
    fence?: Fence,
  ): ReturnType<Transitions['stop']> {
    const outcome = await transitions.stop(id, reason, fence?.check);
    if (outcome?.row.state === 'stopping' && outcome.row.host_id !== null)
      void driver.stopOnce(outcome.row.host_id, id, outcome.row.stop_reason ?? reason);
    return outcome;
  }

  return {
    streams,
    guests,
    iceServers: (sessionId) => mintIceServers(config.sessions, sessionId, clock.nowMs()).iceServers,
    consoles: createConsoleSessions(platform, { launcher, begin, requestStop }),
    launchBench: createBenchLauncher(platform, { launcher, begin }),
    record,
    read,
    seen(sessionId, sinceLaunchMs) {
      launches.seen(sessionId, sinceLaunchMs);
      if (platform.traces !== null) bus.publish(replicaSubjects.seen, sessionId, { sinceLaunchMs });
    },
    ...createCaptures(platform, deps.fleet),
    find: (id) => loadSession(database.db, id),

    async view(id) {
      const row = await loadSession(database.db, id);
      if (row === undefined) return undefined;
      return {
        id,
        host_id: row.host_id,
        state: row.state,
        state_detail: row.state_detail,
        end_reason: row.end_reason,
        relay_ready: row.relay_ready !== 0,
        app_launch_state: live.get(id)?.observed.app_launch_state,
        stream: record(row).stream,
      };
    },

    async start() {
      for (const row of await loadLiveSessions(database.db)) live.track(row, null);
    },

    close() {
      followed.close();
      guests.close();
      streams.close();
      driver.close();
    },

    async launch(caller, body) {
      const requestedAtMs = clock.nowMs();
      const booked = await launcher.launch(caller, body);
      if (booked.token === null)
        throw new Error(`session ${booked.row.id} has no signaling token, but a person's launch is streamed`);
      return { session: await begin(booked, caller.userId, requestedAtMs), token: booked.token };
    },

    async preview({ user_id, ...body }) {
      const person = await findLaunchUser(database.db, user_id);
      if (person === null) throw new ApiError('not_found', { message: 'There is no such account.' });
      return launcher.preview(person, body);
    },

    countLive: () => countLiveSessions(database.db),

    async placement(id) {
      const stored = await loadPlacement(database.db, id);
      if (stored !== null) return stored;
      throw new ApiError('not_found', {
        message: 'There is no such session, or nothing was kept of its placement.',
      });
    },

    async listOwn(caller, limit, cursor) {
      const after = readCursor(cursor);
      const found = await listQueue(caller.userId, () =>
        listOwnSessions(database.db, caller.userId, after, limit),
      );
      const page = pageOf(found.rows, found.limit);
      return { items: page.rows.map(record), next_cursor: page.next_cursor };
    },

    async listAll({ state = 'all', q, host_id: hostId, sort, count, limit, cursor }) {
      const states = ADMIN_FILTERS.get(state);
      if (states === undefined)
        throw new ApiError('invalid_state', {
          message: `state: expected ${[...ADMIN_FILTERS.keys()].join(', ')}; it is ${JSON.stringify(state.slice(0, 40))}`,
        });
      const filter = { states, q, hostId };
      const order = readOrder(sort);
      const after = readSortedCursor(order, cursor);
      const page = await listAllSessions(database.db, filter, order, after, limit);
      return {
        items: page.rows.map((row) => adminSessionRecord(row, live.get(row.id)?.observed)),
        next_cursor: page.last === null ? null : writeSortedCursor(order, page.last),
        ...(count === true && { total: await countAllSessions(database.db, filter) }),
      };
    },

    async stop(caller, id) {
      await read(caller, id);
      const outcome = await requestStop(id, 'user_requested');
      if (outcome === null) throw refusalError(UNKNOWN_SESSION);
      const { row, moved } = outcome;
      const ended = isTerminal(row.state) && !moved;
      if (caller.role === 'admin' && caller.userId !== row.user_id)
        await activity.record(caller.userId, 'session.stop', id, { already_terminal: ended });
      return { session: record(row), ended };
    },

    async swap(caller, id, appId) {
      await read(caller, id);
      const { row, hostId, target } = await beginSwapTo(platform, settings, id, appId);
      const shows = { state_detail: row.state_detail };
      transitions.announce({ id, host_id: hostId, state: row.state, moved: true, shows, failure: null });
      void images.used(hostId, target.app.image);
      void driver.swap(hostId, id, target);
      return record(row);
    },

    async updateDisplay(caller, id, change) {
      const row = await read(caller, id);
      const { display } = live.get(id)?.observed ?? {};
      const refusal = judgeDisplayChange(row, change, { display, pending: displayChanges.of(id) });
      if (refusal !== null) throw refusalError(refusal);
      const done = displayChanges.begin(id);
      const result = await driver.display(row.host_id as string, id, change).finally(done);
      if (result.kind !== 'ok') {
        links.log('info', row.host_id as string, { session_id: id, result }, 'session.display_failed');
        throw new ApiError('display_update_rejected', {
          ...(result.kind === 'refused' && { message: `The host refused the change: ${result.error}` }),
        });
      }
      // Update the live session now, so that a read before the agent's next metrics shows the new size.
      const session = live.get(id);
      if (session !== undefined && asksForPicture(change))
        session.observed = {
          ...session.observed,
          display: { ...session.observed.display, ...pictureAfter(row, change) },
        };
      if (session?.observed.display !== undefined)
        bus.publish(replicaSubjects.observed, id, { display: session.observed.display });
      return record((await loadSession(database.db, id)) ?? row);
    },

    async stopAll(ids, reason, fence) {
      for (const id of ids) {
        try {
          await requestStop(id, reason, fence);
        } catch (error) {
          if (error instanceof LeaseLost) throw error;
          logger.warn({ session_id: id, reason, err: error }, 'session.stop_failed');
        }
      }
    },

    async viewerReported(caller, row, { sample, codecs, seconds }) {
      const { id, state, negotiated_codec } = row;
      const session = live.get(id);
      if (session !== undefined && sample !== null) {
        session.observed = { ...session.observed, viewer: sample };
        bus.publish(replicaSubjects.observed, id, { viewer: sample });
      }
      if (config.bus === null || links.holds(row.host_id ?? ''))
        await watchViewer(caller, row, seconds).catch((error: unknown) =>
          logger.error({ session_id: id, err: error }, 'session.decode_history_failed'),
        );
      // Only the replica with the host's link counts the seconds, so send them there.
      else if (seconds.length > 0)
        bus.publish(replicaSubjects.watched, id, {
          user_id: caller.userId,
          device_id: caller.deviceId,
          seconds: [...seconds],
        });
      const codec = firstCodec(codecs);
      if (codec === null || codec === negotiated_codec || isTerminal(state)) return;
      try {
        if (await setNegotiatedCodec(database.db, id, null, codec, clock.nowMs()))
          bus.publish(sessionSubjects.changed, id, {});
      } catch (error) {
        logger.error({ session_id: id, err: error }, 'session.codec_failed');
      }
    },

    async mintToken(caller, id) {
      const refusal = judgeJoin(caller, await loadSession(database.db, id));
      if (refusal !== null) throw refusalError(refusal);
      return tokens.mint(database.db, id);
    },
  };
}
