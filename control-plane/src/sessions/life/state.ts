/**
 * The session state machine.
 *
 * pending → assigned → starting → running → stopping → stopped, failed is reached from every state before stopping, and
 * stopped also from pending. The control plane (launch, stops, time limits, lost hosts) and the agent of the session's
 * host (reports) change the state. In assigned, starting, running and stopping a session has encode slots; the update
 * that leaves these states frees them. stopped and failed are final and accept only late fields.
 *
 * All functions here are pure and never throw.
 */

import {
  type FailureCode,
  isTerminal,
  isTransportError,
  LAUNCH_STEPS,
  type Open,
  type RefusalCode,
  type SessionEndReason,
  type SessionStateName,
  type TerminalState,
} from '@footlight/protocol';
import type { HeldSession, SessionState } from '@footlight/protocol/agent';
import { decideSwap, type SwapFacts, type SwapStep } from '../swap/swap-rules.ts';

/** Fields of a report that can change a row. */
export type SessionReport = Pick<
  SessionState,
  'state' | 'detail' | 'reason' | 'error' | 'failure_code' | 'app_log_tail' | 'home_bytes' | 'swap'
>;

export type Actor = 'agent' | 'control_plane';

/** All allowed state changes by actor. Staying in a state is not listed. */
export const TRANSITIONS: Record<Actor, Record<SessionStateName, readonly SessionStateName[]>> = {
  agent: {
    pending: [],
    assigned: ['starting', 'running', 'stopping', 'stopped', 'failed'],
    starting: ['running', 'stopping', 'stopped', 'failed'],
    running: ['stopping', 'stopped', 'failed'],
    stopping: ['stopped'],
    stopped: [],
    failed: [],
  },
  control_plane: {
    pending: ['assigned', 'stopped', 'failed'],
    assigned: ['stopping', 'failed'],
    starting: ['stopping', 'failed'],
    running: ['stopping', 'failed'],
    stopping: ['stopped'],
    stopped: [],
    failed: [],
  },
};

export const mayMove = (actor: Actor, from: SessionStateName, to: SessionStateName): boolean =>
  TRANSITIONS[actor][from].includes(to);

/** Failure code, end reason and text prefix for a session whose network path is too slow for its stream. */
export const UNSUSTAINABLE = 'unsustainable' satisfies FailureCode;

/** Detail texts that other modules read or write. */
export const DETAIL = {
  stop_requested: 'stop requested',
  host_unreachable: 'host_unreachable',
  host_reconnected: 'host_reconnected',
  host_lost: 'host_lost',
  start_timed_out: 'start timed out',
  assign_timed_out: 'assign timed out',
  stop_timed_out: 'stop timed out',
} as const;

/** Launch steps from which the agent can negotiate with a viewer, as the agent's texts. */
const RELAY_STEPS: ReadonlySet<string> = new Set([
  LAUNCH_STEPS.starting_encoder,
  LAUNCH_STEPS.app_booting,
  LAUNCH_STEPS.app_presented,
]);

/** Whether viewers may attach after this report. */
export function opensRelay(report: Pick<SessionReport, 'state' | 'detail'>): boolean {
  if (report.state === 'running') return true;
  return report.state === 'starting' && report.detail !== undefined && RELAY_STEPS.has(report.detail);
}

/** Stored facts that a decision about a report needs. */
export interface SessionFacts extends SwapFacts {
  state_detail: string | null;
  end_reason: Open<SessionEndReason> | null;
  stop_reason: Open<SessionEndReason> | null;
  failure_code: Open<FailureCode> | null;
  app_log_tail: string | null;
  home_bytes: number | null;
}

/** Columns that the end of a session writes; null is stored as null. */
export interface Ending {
  to: TerminalState;
  /** null: the stored text stays. */
  state_detail: string | null;
  error_message: string | null;
  failure_code: Open<FailureCode> | null;
  /** null: the agent listed the end in a registration and sends the reason in a later report. */
  end_reason: Open<SessionEndReason> | null;
  app_log_tail: string | null;
  home_bytes: number | null;
}

/** Fields that a final row still accepts, each only while it is null. */
export type LateFields = Partial<
  Pick<SessionFacts, 'app_log_tail' | 'failure_code' | 'end_reason' | 'home_bytes'>
>;

/**
 * Effect of a report on its row. move: another state that is not final; a null text keeps the stored one. end: a final
 * state. detail: the same state with another text. swap: the result of a swap. late: fields that a final row does not
 * have yet. ignore: no change.
 */
export type Step =
  | { kind: 'move'; to: 'starting' | 'running' | 'stopping'; state_detail: string | null }
  | { kind: 'end'; ending: Ending }
  | { kind: 'detail'; state_detail: string }
  | { kind: 'late'; fields: LateFields }
  | SwapStep
  | { kind: 'ignore'; why: 'terminal' | 'illegal' | 'repeat' };

/**
 * Effect of an agent's report on a session of its host. Idempotent: a repeated report results in 'ignore' or in the
 * same detail.
 */
export function decideReport(facts: SessionFacts, report: SessionReport): Step {
  const from = facts.state;
  if (isTerminal(from)) return decideLate(from, facts, report);
  // A crash while the session is stopping counts as a stop, not as a failure.
  if (from === 'stopping' && report.state === 'failed') {
    const text = report.error === undefined || isTransportError(report.error) ? null : report.error;
    return {
      kind: 'end',
      ending: {
        to: 'stopped',
        state_detail: text ?? report.detail ?? null,
        error_message: null,
        failure_code: null,
        end_reason: report.reason ?? facts.stop_reason ?? 'stopped',
        app_log_tail: null,
        home_bytes: report.home_bytes ?? null,
      },
    };
  }
  const swap = decideSwap(facts, report);
  if (swap !== null) return swap;
  if (from === report.state) {
    const detail = report.detail;
    return detail === undefined || detail === facts.state_detail
      ? { kind: 'ignore', why: 'repeat' }
      : { kind: 'detail', state_detail: detail };
  }
  if (!mayMove('agent', from, report.state)) return { kind: 'ignore', why: 'illegal' };
  if (isTerminal(report.state)) return { kind: 'end', ending: endingOf(facts, report, report.state) };
  return { kind: 'move', to: report.state, state_detail: report.detail ?? null };
}

/** The end of a session from an agent's report. The caller has already handled a failure during a stop. */
function endingOf(facts: SessionFacts, report: SessionReport, to: TerminalState): Ending {
  const failed = to === 'failed';
  const end_reason = report.reason ?? facts.stop_reason ?? impliedReason(report, to);
  return {
    to,
    state_detail: report.detail ?? null,
    error_message: failed ? (report.error ?? 'the agent reported a failure') : null,
    failure_code: failed ? (report.failure_code ?? null) : null,
    end_reason,
    app_log_tail: mayCarryLog(to, end_reason) ? (report.app_log_tail ?? null) : null,
    home_bytes: report.home_bytes ?? null,
  };
}

/** End reason for a report without one. */
const impliedReason = (report: SessionReport, state: TerminalState): Open<SessionEndReason> =>
  state === 'failed' ? (report.failure_code ?? 'failed') : 'stopped';

/** Log tails are stored for failures and for apps that exited by themselves. */
const mayCarryLog = (state: TerminalState, endReason: Open<SessionEndReason> | null): boolean =>
  state === 'failed' || endReason === 'app_exited';

/**
 * The agent's report of an end that the control plane already decided. The details of the report are stored only once.
 */
function decideLate(state: TerminalState, facts: SessionFacts, report: SessionReport): Step {
  if (!isTerminal(report.state)) return { kind: 'ignore', why: 'terminal' };
  const fields: LateFields = {};
  if (facts.end_reason === null) fields.end_reason = report.reason ?? impliedReason(report, state);
  const endReason = fields.end_reason ?? facts.end_reason;
  if (facts.app_log_tail === null && report.app_log_tail !== undefined && mayCarryLog(state, endReason))
    fields.app_log_tail = report.app_log_tail;
  if (state === 'failed' && facts.failure_code === null && report.failure_code !== undefined)
    fields.failure_code = report.failure_code;
  if (facts.home_bytes === null && report.home_bytes !== undefined) fields.home_bytes = report.home_bytes;
  return Object.keys(fields).length === 0 ? { kind: 'ignore', why: 'terminal' } : { kind: 'late', fields };
}

/**
 * Effect of a stop that a person or the control plane requests. end: no host has the session, so it ends without a
 * command.
 */
export type StopStep =
  | { kind: 'ignore' }
  | { kind: 'end'; ending: Ending }
  | { kind: 'move'; to: 'stopping'; state_detail: string; stop_reason: Open<SessionEndReason> };

export function decideStop({ state }: Pick<SessionFacts, 'state'>, reason: Open<SessionEndReason>): StopStep {
  const state_detail = DETAIL.stop_requested;
  if (mayMove('control_plane', state, 'stopping'))
    return { kind: 'move', to: 'stopping', state_detail, stop_reason: reason };
  if (state !== 'pending') return { kind: 'ignore' };
  return {
    kind: 'end',
    ending: {
      to: 'stopped',
      state_detail,
      error_message: null,
      failure_code: null,
      end_reason: reason,
      app_log_tail: null,
      home_bytes: null,
    },
  };
}

/** Reasons for which the control plane ends a session. */
export type ControlEnd =
  | { cause: 'assign_refused' | 'start_refused'; code: Open<RefusalCode>; error: string }
  | { cause: 'assign_timed_out' | 'start_timed_out' | 'stop_timed_out' }
  | { cause: 'not_delivered' }
  | { cause: 'unsustainable'; why: string }
  | { cause: 'host_lost'; error: string; failure_code: FailureCode | null };

/**
 * Columns of an end that the control plane decides. A session in stopping ends as stopped, without an error.
 * @returns null when the state is already final
 */
export function decideControlEnd(
  facts: Pick<SessionFacts, 'state' | 'stop_reason'>,
  end: ControlEnd,
): Ending | null {
  const stopping = facts.state === 'stopping';
  const to = stopping ? 'stopped' : 'failed';
  if (!mayMove('control_plane', facts.state, to)) return null;
  const text = CONTROL_ENDS[end.cause];
  const ending: Ending = {
    to,
    state_detail: text.detail,
    error_message: null,
    failure_code: null,
    end_reason: (stopping ? facts.stop_reason : null) ?? text.end_reason,
    app_log_tail: null,
    home_bytes: null,
  };
  if (stopping) return ending;
  ending.error_message = text.error;
  if (end.cause === 'assign_refused' || end.cause === 'start_refused') {
    ending.error_message = end.error === '' ? `${text.error} (${end.code})` : end.error;
    // Refusals of a launch are failure codes too; any other code is stored unchanged as an unknown code.
    ending.failure_code = end.code as Open<FailureCode>;
  }
  if (end.cause === 'unsustainable') {
    ending.state_detail = ending.error_message = `${UNSUSTAINABLE}: ${end.why}`;
    ending.failure_code = UNSUSTAINABLE;
  }
  if (end.cause === 'host_lost') {
    ending.error_message = end.error;
    ending.failure_code = end.failure_code;
  }
  return ending;
}

const CONTROL_ENDS: Record<
  ControlEnd['cause'],
  { detail: string; end_reason: SessionEndReason; error: string }
> = {
  assign_refused: {
    detail: 'the host refused the session',
    end_reason: 'assign_refused',
    error: 'the host refused the session',
  },
  start_refused: {
    detail: 'the host refused to start the session',
    end_reason: 'start_refused',
    error: 'the host refused to start the session',
  },
  assign_timed_out: {
    detail: DETAIL.assign_timed_out,
    end_reason: 'assign_timed_out',
    error: 'the host did not take the session in time',
  },
  start_timed_out: {
    detail: DETAIL.start_timed_out,
    end_reason: 'start_timed_out',
    error: 'the session did not start in time',
  },
  stop_timed_out: {
    detail: DETAIL.stop_timed_out,
    end_reason: 'stop_timed_out',
    error: 'the session did not stop in time',
  },
  not_delivered: {
    detail: DETAIL.host_lost,
    end_reason: 'host_lost',
    error: 'the host was not connected when the session was to start',
  },
  unsustainable: {
    detail: UNSUSTAINABLE,
    end_reason: UNSUSTAINABLE,
    error: 'the connection to the viewer is too slow for the stream',
  },
  host_lost: { detail: DETAIL.host_lost, end_reason: 'host_lost', error: 'the host is gone' },
};

/**
 * Effect on the row when a registration lists the session. The list has no end reason and no log; the agent's later
 * report adds them.
 */
export function decideHeld(facts: SessionFacts, held: HeldSession): Step {
  if (held.state === 'assigned') return { kind: 'ignore', why: 'repeat' };
  const { state, error, failure_code } = held;
  const step = decideReport(facts, { state, error, failure_code });
  if (step.kind !== 'end') return step;
  return { kind: 'end', ending: { ...step.ending, end_reason: facts.stop_reason } };
}
