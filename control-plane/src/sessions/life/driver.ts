/**
 * Sends the commands of sessions to their hosts and applies the answers.
 *
 * assign → start → wait for running. A failed step ends the session. A broken link ends nothing: the next
 * registration of the agent lists the sessions that it holds. A stop without an ack leaves the session stopping until
 * the agent reports, registers, or the sweep for stuck sessions ends it.
 */
import type { AppSpec } from '@footlight/protocol/agent';
import type { CommandResult, Fleet } from '../../fleet/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Assignment } from '../app-spec.ts';
import type { DisplayChange } from '../display/display.ts';
import { noteSwapTaken } from '../store.ts';
import {
  ASSIGN_ACK_MS,
  DISPLAY_ACK_MS,
  decideStuck,
  type HostTimes,
  isStarting,
  START_ACK_MS,
  STOP_ACK_MS,
  SWAP_ACK_MS,
  startDeadline,
} from '../sweeps/timeouts.ts';
import type { LiveSessions } from './live.ts';
import type { ControlEnd, SessionStateName } from './state.ts';
import type { Transitions } from './transitions.ts';

/**
 * States in which a failed command may end a launch. A stopping session is excluded: the person's stop decides its
 * end.
 */
const LAUNCHING: readonly SessionStateName[] = ['assigned', 'starting'];
/** Interval at which a waiting start is checked again while its host is offline. */
const RECHECK_MS = 5_000;

export interface Driver {
  /** Prepares and starts a session that was just stored as assigned. Never rejects. */
  launch(hostId: string, assignment: Assignment): Promise<void>;
  /** Sends session_start (again) and waits for running. Never rejects. */
  start(hostId: string, sessionId: string): Promise<void>;
  /** Tells the agent to stop a session. Never rejects; resolves with the answer. */
  stop(hostId: string, sessionId: string, reason: string): Promise<CommandResult>;
  /** The same for requests of people: concurrent stops of one session share one command. */
  stopOnce(hostId: string, sessionId: string, reason: string): Promise<CommandResult>;
  /** Sends a size change and resolves with the answer. Never rejects. */
  display(hostId: string, sessionId: string, change: DisplayChange): Promise<CommandResult>;
  /** Sends the command of a swap that is stored as swapping. A refusal keeps the old app. Never rejects. */
  swap(hostId: string, sessionId: string, target: { app_id: string; app: AppSpec }): Promise<void>;
  hostTimes(hostId: string): HostTimes;
  close(): void;
}

export function createDriver(
  platform: Platform,
  deps: { fleet: Fleet; live: LiveSessions; transitions: Transitions; bootAt: number },
): Driver {
  const { clock, database, logger } = platform;
  const { fleet, live, transitions, bootAt } = deps;
  let closed = false;

  const hostTimes = (hostId: string): HostTimes => ({
    connected: fleet.isConnected(hostId),
    registeredAt: fleet.registeredMonotonicMs(hostId),
    lastSeenAt: fleet.lastSeenMonotonicMs(hostId),
  });

  /**
   * Whether an unanswered command proves that the agent did not take it. If the link broke meanwhile, the agent may
   * have taken the command, and its next registration shows that.
   */
  function isVerdict(result: CommandResult, hostId: string, registeredAt: number | null): boolean {
    if (result.kind === 'refused') return true;
    if (result.kind === 'not_connected') return !result.sent;
    return fleet.isConnected(hostId) && fleet.registeredMonotonicMs(hostId) === registeredAt;
  }

  async function fail(hostId: string, sessionId: string, end: ControlEnd): Promise<void> {
    const ended = await transitions.end(sessionId, end, LAUNCHING);
    // A refusal proves that the agent holds nothing. Any other failure may have left a part of the session on the
    // host.
    if (
      ended &&
      (end.cause === 'assign_timed_out' || end.cause === 'start_timed_out' || end.cause === 'start_refused')
    )
      await stop(hostId, sessionId, end.cause === 'start_refused' ? 'start_refused' : 'start_timed_out');
  }

  /** Pending stops by host and session. Bounded by the pending commands of a link. */
  const stopping = new Map<string, Promise<CommandResult>>();

  function stopOnce(hostId: string, sessionId: string, reason: string): Promise<CommandResult> {
    const key = `${hostId} ${sessionId}`;
    const underWay = stopping.get(key);
    if (underWay !== undefined) return underWay;
    const result = stop(hostId, sessionId, reason).finally(() => stopping.delete(key));
    stopping.set(key, result);
    return result;
  }

  async function stop(hostId: string, sessionId: string, reason: string): Promise<CommandResult> {
    const result = await fleet.command(
      hostId,
      { type: 'session_stop', session_id: sessionId, reason },
      STOP_ACK_MS,
    );
    if (result.kind !== 'ok')
      logger.warn({ session_id: sessionId, host_id: hostId, result }, 'session.stop_unconfirmed');
    return result;
  }

  async function assign(hostId: string, assignment: Assignment): Promise<boolean> {
    const registeredAt = fleet.registeredMonotonicMs(hostId);
    const result = await fleet.command(hostId, { type: 'session_assign', ...assignment }, ASSIGN_ACK_MS);
    if (result.kind === 'ok') return true;
    logger.info({ session_id: assignment.session_id, host_id: hostId, result }, 'session.assign_failed');
    if (!isVerdict(result, hostId, registeredAt)) return false;
    const end: ControlEnd =
      result.kind === 'refused'
        ? { cause: 'assign_refused', code: result.code, error: result.error }
        : { cause: result.kind === 'timeout' ? 'assign_timed_out' : 'not_delivered' };
    await fail(hostId, assignment.session_id, end);
    return false;
  }

  async function start(hostId: string, sessionId: string): Promise<void> {
    const state = live.get(sessionId)?.state;
    if (state === undefined || !isStarting(state)) return;
    const registeredAt = fleet.registeredMonotonicMs(hostId);
    const result = await fleet.command(
      hostId,
      { type: 'session_start', session_id: sessionId },
      START_ACK_MS,
    );
    if (result.kind === 'ok') {
      const session = live.get(sessionId);
      if (session === undefined) return;
      session.startAckedAt = clock.monotonicMs();
      watchStart(hostId, sessionId);
      return;
    }
    logger.info({ session_id: sessionId, host_id: hostId, result }, 'session.start_failed');
    if (!isVerdict(result, hostId, registeredAt)) return;
    const end: ControlEnd =
      result.kind === 'refused'
        ? { cause: 'start_refused', code: result.code, error: result.error }
        : { cause: result.kind === 'timeout' ? 'start_timed_out' : 'not_delivered' };
    await fail(hostId, sessionId, end);
  }

  async function swap(
    hostId: string,
    sessionId: string,
    { app_id, app }: { app_id: string; app: AppSpec },
  ): Promise<void> {
    const registeredAt = fleet.registeredMonotonicMs(hostId);
    // An agent without the feature `swap` would not answer; its registration says so at once.
    const result: CommandResult =
      fleet.isConnected(hostId) && !fleet.features(hostId).has('swap')
        ? { kind: 'refused', code: 'unsupported', error: 'the host cannot change apps' }
        : await fleet.command(
            hostId,
            { type: 'session_swap_app', session_id: sessionId, app_id, app },
            SWAP_ACK_MS,
          );
    if (result.kind === 'ok') {
      await noteSwapTaken(database.db, sessionId, app_id);
      return;
    }
    logger.info({ session_id: sessionId, host_id: hostId, result }, 'session.swap_failed');
    // After a broken link the result is open. The app in the agent's next registration decides it.
    if (!isVerdict(result, hostId, registeredAt)) return;
    await transitions.rejectSwap(sessionId, app_id, result.kind === 'timeout');
  }

  /** Waits until the session runs or the deadline passes. Every report of the agent moves the deadline. */
  function watchStart(hostId: string, sessionId: string): void {
    const session = live.get(sessionId);
    session?.startWatch?.cancel();
    if (closed || session === undefined) return;
    const host = hostTimes(hostId);
    const deadline = startDeadline(session, host, bootAt);
    if (deadline === null) return;
    const now = clock.monotonicMs();
    const end = decideStuck(session, host, bootAt, now);
    if (end !== null) {
      void fail(hostId, sessionId, end).catch((error: unknown) => logFailure(sessionId, error));
      return;
    }
    const wait = host.connected ? deadline - now : RECHECK_MS;
    session.startWatch = clock.setTimeout(() => watchStart(hostId, sessionId), Math.max(1, wait));
  }

  function logFailure(sessionId: string, error: unknown): void {
    logger.error({ session_id: sessionId, err: error }, 'session.drive_failed');
  }

  function display(hostId: string, sessionId: string, change: DisplayChange): Promise<CommandResult> {
    const features = fleet.features(hostId);
    const knows =
      features.has('display') && (change.stream_width === undefined || features.has('stream_resize'));
    if (fleet.isConnected(hostId) && !knows)
      return Promise.resolve({ kind: 'refused', code: 'unsupported', error: 'the host cannot change sizes' });
    return fleet.command(
      hostId,
      { type: 'session_display_update', session_id: sessionId, ...change },
      DISPLAY_ACK_MS,
    );
  }

  return {
    hostTimes,
    stop,
    stopOnce,
    display,
    async start(hostId, sessionId) {
      try {
        await start(hostId, sessionId);
      } catch (error) {
        logFailure(sessionId, error);
      }
    },
    async launch(hostId, assignment) {
      try {
        if (await assign(hostId, assignment)) await start(hostId, assignment.session_id);
      } catch (error) {
        logFailure(assignment.session_id, error);
      }
    },
    async swap(hostId, sessionId, target) {
      try {
        await swap(hostId, sessionId, target);
      } catch (error) {
        logFailure(sessionId, error);
      }
    },
    close() {
      closed = true;
      for (const session of live.values()) session.startWatch?.cancel();
    },
  };
}
