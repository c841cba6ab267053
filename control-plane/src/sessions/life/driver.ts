/**
 * Sends the commands of sessions to their hosts and applies the answers.
 *
 * assign → start → wait for running. A failed step ends the session. A broken link ends no session, because the agent
 * lists its sessions at its next registration. After a stop without an ack the session stays in stopping until the
 * agent reports or registers, or until the sweep for stuck sessions ends it.
 */
import type { Open, SessionEndReason, SessionStateName } from '@footlight/protocol';
import type { AppSpec } from '@footlight/protocol/agent';
import type { Agents, CommandResult, HostPresence, Links } from '../../fleet/index.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Assignment } from '../app-spec.ts';
import type { DisplayChange } from '../display/display.ts';
import type { LaunchWatch } from '../launch/launch-watch.ts';
import { HOME_BASE_FEATURE } from '../placement/placement.ts';
import { markSwapTaken } from '../swap/swap-store.ts';
import { decideStuck, type HostTimes, isStarting, NO_HOST, startDeadline } from '../sweeps/timeouts.ts';
import type { LiveSessions } from './live.ts';
import type { ControlEnd } from './state.ts';
import type { Transitions } from './transitions.ts';

/**
 * States in which a failed command may end a launch. A stopping session is excluded, because the person's stop
 * determines its end.
 */
const LAUNCHING: readonly SessionStateName[] = ['assigned', 'starting'];
/** Interval at which a waiting start is checked again while its host is offline. */
const RECHECK_MS = 5_000;

export interface Driver {
  /** Prepares and starts a session that was just stored as assigned. Never rejects. */
  launch(hostId: string, assignment: Assignment): Promise<void>;
  /** Sends session_start (again) and waits for running. Never rejects. */
  start(hostId: string, sessionId: string): Promise<void>;
  /** Sends session_stop to the agent. Never rejects; resolves with the answer. */
  stop(hostId: string, sessionId: string, reason: Open<SessionEndReason>): Promise<CommandResult>;
  /** Like `stop`, for requests of people: concurrent stops of one session share one command. */
  stopOnce(hostId: string, sessionId: string, reason: Open<SessionEndReason>): Promise<CommandResult>;
  /** Sends a size change and resolves with the answer. Never rejects. */
  display(hostId: string, sessionId: string, change: DisplayChange): Promise<CommandResult>;
  /** Sends the command of a swap that is stored as swapping. After a refusal the old app stays. Never rejects. */
  swap(hostId: string, sessionId: string, target: { app_id: string; app: AppSpec }): Promise<void>;
  hostTimes(hostId: string): Promise<HostTimes>;
  close(): void;
}

export function createDriver(
  platform: Platform,
  deps: {
    agents: Agents;
    launches: LaunchWatch;
    links: Links;
    live: LiveSessions;
    presence: HostPresence;
    transitions: Transitions;
    bootAtMs: number;
  },
): Driver {
  const { clock, database, logger } = platform;
  const { agents, launches, links, live, presence, transitions, bootAtMs } = deps;
  let closed = false;

  async function hostTimes(hostId: string): Promise<HostTimes> {
    const link = await agents.link(hostId);
    const now = clock.monotonicMs();
    return link === null
      ? { connected: false, registeredAtMs: null, lastSeenAtMs: presence.lastSeenMonotonicMs(hostId) }
      : { connected: true, registeredAtMs: now - link.registeredMs, lastSeenAtMs: now - link.silentMs };
  }

  /**
   * Whether a failed command may end its session. If the link broke before the ack, the session goes on: the agent may
   * have accepted the command, and its next registration shows the result.
   */
  const isVerdict = (result: CommandResult): boolean => result.kind !== 'not_connected' || !result.sent;

  async function fail(hostId: string, sessionId: string, end: ControlEnd): Promise<void> {
    const ended = await transitions.end(sessionId, end, LAUNCHING);
    // After a refusal the agent has nothing of the session. Any other failure may have left a part of the session on
    // the host.
    if (
      ended &&
      (end.cause === 'assign_timed_out' || end.cause === 'start_timed_out' || end.cause === 'start_refused')
    )
      await stop(hostId, sessionId, end.cause === 'start_refused' ? 'start_refused' : 'start_timed_out');
  }

  /** Pending stops by host and session. The limit of a link's pending commands bounds the map. */
  const stopping = new Map<string, Promise<CommandResult>>();

  function stopOnce(
    hostId: string,
    sessionId: string,
    reason: Open<SessionEndReason>,
  ): Promise<CommandResult> {
    const key = `${hostId} ${sessionId}`;
    const underWay = stopping.get(key);
    if (underWay !== undefined) return underWay;
    const result = stop(hostId, sessionId, reason).finally(() => stopping.delete(key));
    stopping.set(key, result);
    return result;
  }

  async function stop(
    hostId: string,
    sessionId: string,
    reason: Open<SessionEndReason>,
  ): Promise<CommandResult> {
    const result = await agents.command(hostId, { type: 'session_stop', session_id: sessionId, reason });
    if (result.kind !== 'ok')
      links.log('warn', hostId, { session_id: sessionId, result }, 'session.stop_unconfirmed');
    return result;
  }

  async function assign(hostId: string, assignment: Assignment): Promise<boolean> {
    const result = await agents.command(hostId, { type: 'session_assign', ...assignment });
    if (result.kind === 'ok') {
      launches.assigned(assignment.session_id);
      return true;
    }
    logger.info({ session_id: assignment.session_id, host_id: hostId, result }, 'session.assign_failed');
    if (!isVerdict(result)) return false;
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
    const result = await agents.command(hostId, { type: 'session_start', session_id: sessionId });
    if (result.kind === 'ok') {
      const session = live.get(sessionId);
      if (session === undefined) return;
      session.startAckedAtMs = clock.monotonicMs();
      await watchStart(hostId, sessionId);
      return;
    }
    logger.info({ session_id: sessionId, host_id: hostId, result }, 'session.start_failed');
    if (!isVerdict(result)) return;
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
    // An agent without the feature `swap` would not answer, so do not send the command.
    const link = await agents.link(hostId).catch(() => undefined);
    // The replica with the link does not answer. Nothing was sent, so the old app stays.
    if (link === undefined) return transitions.rejectSwap(sessionId, app_id, false);
    const lacks = (feature: string) => link !== null && !link.features.includes(feature);
    const result: CommandResult = lacks('swap')
      ? { kind: 'refused', code: 'unsupported', error: 'the host cannot change apps' }
      : app.home?.base !== undefined && lacks(HOME_BASE_FEATURE)
        ? { kind: 'refused', code: 'unsupported', error: 'the agent is too old for a base of homes' }
        : await agents.command(hostId, { type: 'session_swap_app', session_id: sessionId, app_id, app });
    if (result.kind === 'ok') {
      await markSwapTaken(database.db, sessionId, app_id);
      return;
    }
    // Only logged, because the person can simply try again.
    links.log('info', hostId, { session_id: sessionId, result }, 'session.swap_failed');
    // After a broken link the result is unknown. The agent's next registration lists the app and so shows the result.
    if (!isVerdict(result)) return;
    await transitions.rejectSwap(sessionId, app_id, result.kind === 'timeout');
  }

  /** Waits until the session runs or the deadline passes. Every report of the agent extends the deadline. */
  async function watchStart(hostId: string, sessionId: string): Promise<void> {
    // While the host's replica does not answer, check again as for an offline host.
    const host = await hostTimes(hostId).catch(() => NO_HOST);
    const session = live.get(sessionId);
    session?.startWatch?.cancel();
    if (closed || session === undefined) return;
    const deadline = startDeadline(session, host, bootAtMs);
    if (deadline === null) return;
    const now = clock.monotonicMs();
    const end = decideStuck(session, host, bootAtMs, now);
    if (end !== null) return fail(hostId, sessionId, end);
    const wait = host.connected ? deadline - now : RECHECK_MS;
    session.startWatch = clock.setTimeout(
      () => void watchStart(hostId, sessionId).catch((error: unknown) => logFailure(sessionId, error)),
      Math.max(1, wait),
    );
  }

  function logFailure(sessionId: string, error: unknown): void {
    logger.error({ session_id: sessionId, err: error }, 'session.drive_failed');
  }

  async function display(hostId: string, sessionId: string, change: DisplayChange): Promise<CommandResult> {
    const link = await agents.link(hostId);
    const needs = change.stream_width === undefined ? ['display'] : ['display', 'stream_resize'];
    if (link !== null && !needs.every((feature) => link.features.includes(feature)))
      return { kind: 'refused', code: 'unsupported', error: 'the host cannot change sizes' };
    return agents.command(hostId, { type: 'session_display_update', session_id: sessionId, ...change });
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
