/**
 * All time limits of a session's life, decided from facts and the current time. Pure. All times are milliseconds on the
 * monotonic clock of this process, so a jump of the wall clock ends no session. Source of the limits: docs/sessions.md,
 * "Time limits".
 */

import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import type { SessionStateName } from '@footlight/protocol';
import type { ControlEnd } from '../life/state.ts';

/** Limits from the acknowledged start to running: since the agent's last report, and in total. */
const START_SILENCE_MS = 90 * SECOND_MS;
const START_TOTAL_MS = 15 * MINUTE_MS;
export const STUCK_SWEEP_MS = 30 * SECOND_MS;
const STUCK_PENDING_MS = 60 * SECOND_MS;
const STUCK_STEP_MS = 120 * SECOND_MS;
/** A younger session may be missing from a heartbeat that was already on its way. */
const DRIFT_SETTLE_MS = 15 * SECOND_MS;
/** Consecutive heartbeats without a session before it counts as lost. */
const DRIFT_MISSES = 2;
/** Minimum interval between stops of a session that should not run. */
export const DRIFT_STOP_EVERY_MS = 10 * SECOND_MS;
/** Pause of the grace sweep after the first agent reconnected. */
const RETURN_PAUSE_MS = MINUTE_MS;

/** In-memory times of a session. null: it did not happen since this process started. */
export interface SessionTimes {
  state: SessionStateName;
  changedAtMs: number | null;
  reportedAtMs: number | null;
  /** Last time when the database refused a report about the session; the report is repeated. */
  refusedAtMs: number | null;
  /** Time of the ack of session_start. */
  startAckedAtMs: number | null;
}

export interface HostTimes {
  /** Whether the host has a live connection. */
  connected: boolean;
  registeredAtMs: number | null;
  /** Last frame of the host. */
  lastSeenAtMs: number | null;
}

/** Used if a session has no host, or if the replica with the host's link does not answer. */
export const NO_HOST: HostTimes = { connected: false, registeredAtMs: null, lastSeenAtMs: null };

/** The end of a session by a time limit; null: no limit has passed. */
export type TimeoutEnd = Extract<
  ControlEnd,
  { cause: 'assign_timed_out' | 'start_timed_out' | 'stop_timed_out' }
> | null;

const latest = (...instants: (number | null)[]): number =>
  instants.reduce<number>(
    (newest, at) => (at !== null && at > newest ? at : newest),
    Number.NEGATIVE_INFINITY,
  );

/** Whether the start deadline applies in this state. */
export function isStarting(state: SessionStateName): boolean {
  return state === 'assigned' || state === 'starting';
}

/**
 * The start deadline after the agent acknowledged the start; null: no deadline applies.
 * @param bootAtMs start of this process
 */
export function startDeadline(session: SessionTimes, host: HostTimes, bootAtMs: number): number | null {
  if (session.startAckedAtMs === null || !isStarting(session.state)) return null;
  const base = latest(session.startAckedAtMs, session.changedAtMs, host.registeredAtMs, bootAtMs);
  const silence = latest(base, session.reportedAtMs) + START_SILENCE_MS;
  return Math.min(silence, base + START_TOTAL_MS);
}

/**
 * The start deadline, and the limits of sessions whose timer was lost in a restart. For a host without a live
 * connection only the grace applies.
 */
export function decideStuck(
  session: SessionTimes,
  host: HostTimes,
  bootAtMs: number,
  nowMs: number,
): TimeoutEnd {
  if (session.state === 'pending')
    return nowMs - latest(session.changedAtMs, bootAtMs) > STUCK_PENDING_MS
      ? { cause: 'assign_timed_out' }
      : null;
  if (!host.connected) return null;
  const deadline = startDeadline(session, host, bootAtMs);
  if (deadline !== null) return nowMs >= deadline ? { cause: 'start_timed_out' } : null;
  const idle = nowMs - latest(session.changedAtMs, session.reportedAtMs, host.registeredAtMs, bootAtMs);
  if (idle <= STUCK_STEP_MS) return null;
  if (session.state === 'assigned') return { cause: 'assign_timed_out' };
  if (session.state === 'starting') return { cause: 'start_timed_out' };
  if (session.state === 'stopping') return { cause: 'stop_timed_out' };
  return null;
}

/** Facts about the connections of the whole fleet. */
export interface PresenceFacts {
  connected: number;
  /** Number of hosts that were still connected during the grace period before the last connection was lost. */
  lastConnected: number;
  /** Time when the number of connections last rose from zero; null: never. */
  firstConnectedAtMs: number | null;
}

/**
 * Whether the sweep of lost hosts is paused. If all agents are offline at once, the control plane's network is the
 * likely fault, and the first agent to reconnect must not end the others' sessions.
 */
export function isSweepPaused(presence: PresenceFacts, nowMs: number): boolean {
  if (presence.connected === 0) return presence.lastConnected >= 2;
  return presence.firstConnectedAtMs !== null && nowMs - presence.firstConnectedAtMs < RETURN_PAUSE_MS;
}

/** Interval of the sweep for lost hosts. */
export const graceSweepEveryMs = (graceMs: number): number =>
  Math.max(5 * SECOND_MS, Math.floor(graceMs / 4));

/**
 * Decides whether a session of an offline host ends.
 * @param rests result of isSweepPaused; a session that a person stopped ends even during the pause
 */
export function decideGrace(
  state: SessionStateName,
  host: HostTimes,
  bootAtMs: number,
  graceMs: number,
  rests: boolean,
  nowMs: number,
): ControlEnd | null {
  if (host.connected || (rests && state !== 'stopping')) return null;
  if (nowMs - latest(host.lastSeenAtMs, bootAtMs) <= graceMs) return null;
  return {
    cause: 'host_lost',
    error: 'host agent did not return within the grace window',
    failure_code: null,
  };
}

/** Effect of a heartbeat on one session that is stored as starting or running. */
export function decideDrift(
  session: SessionTimes,
  hostRegisteredAtMs: number,
  bootAtMs: number,
  missesBefore: number,
  listed: boolean,
  nowMs: number,
): { misses: number; end: ControlEnd | null } {
  if (listed || (session.state !== 'starting' && session.state !== 'running'))
    return { misses: 0, end: null };
  // A refused report may be the reason why the host no longer lists the session.
  const settlesFrom = latest(session.changedAtMs, session.refusedAtMs, hostRegisteredAtMs, bootAtMs);
  if (nowMs - settlesFrom <= DRIFT_SETTLE_MS) return { misses: 0, end: null };
  const misses = missesBefore + 1;
  if (misses < DRIFT_MISSES) return { misses, end: null };
  return {
    misses,
    end: { cause: 'host_lost', error: 'agent no longer holds the session', failure_code: null },
  };
}
