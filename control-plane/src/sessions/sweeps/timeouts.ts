/**
 * Every limit of a session's life, decided from facts and the present instant. Pure.
 * All instants are milliseconds on the monotonic clock of this process: a jump of the wall clock ends nothing.
 */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { ControlEnd, SessionStateName } from '../life/state.ts';

export const ASSIGN_ACK_MS = 10 * SECOND_MS;
export const START_ACK_MS = 10 * SECOND_MS;
export const STOP_ACK_MS = 10 * SECOND_MS;
export const SWAP_ACK_MS = 10 * SECOND_MS;
export const DISPLAY_ACK_MS = 5 * SECOND_MS;
/** From the acknowledged start to running: since the agent last spoke of the session, and in all. */
const START_SILENCE_MS = 90 * SECOND_MS;
const START_TOTAL_MS = 15 * MINUTE_MS;
export const STUCK_SWEEP_MS = 30 * SECOND_MS;
const STUCK_PENDING_MS = 60 * SECOND_MS;
const STUCK_STEP_MS = 120 * SECOND_MS;
/** A session younger than this may be missing from a heartbeat that was already on its way. */
const DRIFT_SETTLE_MS = 15 * SECOND_MS;
/** Heartbeats in a row that must miss a session before it counts as lost. */
const DRIFT_MISSES = 2;
/** How often at most the agent is told to stop something that is not to run. */
export const DRIFT_STOP_EVERY_MS = 10 * SECOND_MS;
/** How long the grace sweep rests after the first agent came back. */
const RETURN_REST_MS = MINUTE_MS;

/** What is remembered about a session in this process. null: it has not happened since this process started. */
export interface SessionTimes {
  state: SessionStateName;
  changedAt: number | null;
  reportedAt: number | null;
  /** The acknowledgement of session_start. */
  startAckedAt: number | null;
}

export interface HostTimes {
  /** A live connection is there now. */
  connected: boolean;
  registeredAt: number | null;
  /** The last frame of the host. */
  lastSeenAt: number | null;
}

/** What a limit does. null: nothing is due. */
export type TimeoutEnd = Extract<
  ControlEnd,
  { cause: 'assign_timed_out' | 'start_timed_out' | 'stop_timed_out' }
> | null;

const latest = (...instants: (number | null)[]): number =>
  instants.reduce<number>(
    (newest, at) => (at !== null && at > newest ? at : newest),
    Number.NEGATIVE_INFINITY,
  );

/** Whether a wait for running may run in this state. */
export function isStarting(state: SessionStateName): boolean {
  return state === 'assigned' || state === 'starting';
}

/**
 * When the wait for running ends, once the agent acknowledged the start; null while no such wait runs.
 * @param bootAt when this process started
 */
export function startDeadline(session: SessionTimes, host: HostTimes, bootAt: number): number | null {
  if (session.startAckedAt === null || !isStarting(session.state)) return null;
  const base = latest(session.startAckedAt, session.changedAt, host.registeredAt, bootAt);
  const silence = latest(base, session.reportedAt) + START_SILENCE_MS;
  return Math.min(silence, base + START_TOTAL_MS);
}

/**
 * The wait for running and the limits for sessions that nobody waits for any more (a timer lost in a restart).
 * A host without a live connection is judged by the grace alone.
 */
export function decideStuck(session: SessionTimes, host: HostTimes, bootAt: number, now: number): TimeoutEnd {
  if (session.state === 'pending')
    return now - latest(session.changedAt, bootAt) > STUCK_PENDING_MS ? { cause: 'assign_timed_out' } : null;
  if (!host.connected) return null;
  const deadline = startDeadline(session, host, bootAt);
  if (deadline !== null) return now >= deadline ? { cause: 'start_timed_out' } : null;
  const idle = now - latest(session.changedAt, session.reportedAt, host.registeredAt, bootAt);
  if (idle <= STUCK_STEP_MS) return null;
  if (session.state === 'assigned') return { cause: 'assign_timed_out' };
  if (session.state === 'starting') return { cause: 'start_timed_out' };
  if (session.state === 'stopping') return { cause: 'stop_timed_out' };
  return null;
}

/** What the sweep knows about the fleet as a whole. */
export interface PresenceFacts {
  connected: number;
  /** Hosts that were there within a grace of the moment at which the last one was seen. */
  lastTogether: number;
  /** When the number of connections last left zero; null: never. */
  firstConnectedAt: number | null;
}

/**
 * Whether the sweep of lost hosts rests: with every agent away at once, the fault is more likely here, and the
 * first one back must not condemn the others.
 */
export function sweepRests(presence: PresenceFacts, now: number): boolean {
  if (presence.connected === 0) return presence.lastTogether >= 2;
  return presence.firstConnectedAt !== null && now - presence.firstConnectedAt < RETURN_REST_MS;
}

/** How often lost hosts are looked for, given the grace. */
export const graceSweepEveryMs = (graceMs: number): number =>
  Math.max(5 * SECOND_MS, Math.floor(graceMs / 4));

/**
 * Whether a session of an absent host is given up.
 * @param rests see sweepRests; what a person stopped is ended all the same
 */
export function decideGrace(
  state: SessionStateName,
  host: HostTimes,
  bootAt: number,
  graceMs: number,
  rests: boolean,
  now: number,
): ControlEnd | null {
  if (host.connected || (rests && state !== 'stopping')) return null;
  if (now - latest(host.lastSeenAt, bootAt) <= graceMs) return null;
  return {
    cause: 'host_lost',
    error: 'host agent did not return within the grace window',
    failure_code: null,
  };
}

/** What a heartbeat says about one session that is stored as starting or running. */
export function decideDrift(
  session: SessionTimes,
  host: HostTimes,
  bootAt: number,
  missesBefore: number,
  listed: boolean,
  now: number,
): { misses: number; end: ControlEnd | null } {
  if (listed || (session.state !== 'starting' && session.state !== 'running'))
    return { misses: 0, end: null };
  if (now - latest(session.changedAt, host.registeredAt, bootAt) <= DRIFT_SETTLE_MS)
    return { misses: 0, end: null };
  const misses = missesBefore + 1;
  if (misses < DRIFT_MISSES) return { misses, end: null };
  return {
    misses,
    end: { cause: 'host_lost', error: 'agent no longer holds the session', failure_code: null },
  };
}
