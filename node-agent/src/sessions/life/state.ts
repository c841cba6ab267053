/**
 * The state machine of one session. Pure: the inputs are facts, the results are the next state and effects.
 *
 *   waiting ──home free──► preparing ──start──► starting ──first encoded frame──► running
 *      │                      │                    │                                 │
 *      └──────────────────────┴────── stop, failure, app exit, time-out ─────────────┘
 *                                          ▼
 *                                       ending ──torn down──► ended (stopped | failed)
 *
 * Preparation and start overlap. The app starts when the display listens, sound and home are ready, and the start was
 * requested. The encoder starts when the app was started and the worker is prepared; the worker is prepared only after
 * the display has answered. A local session is running from the app's start. If there are several causes of an end, the
 * first one is reported. A failure is reported after the teardown. Before the teardown, a failed session does not
 * report `stopping`, because a failure after `stopping` counts as stopped.
 */

import {
  type FailureCode,
  LAUNCH_STEPS,
  type Open,
  type SessionEndReason,
  type SessionStateName,
} from '@footlight/protocol';

export type Phase = 'waiting' | 'preparing' | 'starting' | 'running' | 'ending' | 'ended';

export type Ending =
  | { state: 'stopped'; reason: Open<SessionEndReason>; appLog: boolean }
  | { state: 'failed'; failure_code: FailureCode; error: string };

export interface Machine {
  readonly phase: Phase;
  /** Whether the session encodes pictures; false: a local session. */
  readonly encodes: boolean;
  readonly startRequested: boolean;
  /** Whether home and sound are ready and the display listens. */
  readonly screenReady: boolean;
  readonly workerReady: boolean;
  readonly appStarted: boolean;
  readonly encoderStarted: boolean;
  readonly presented: boolean;
  readonly ending: Ending | null;
}

export type Input =
  | { kind: 'home_busy' }
  | { kind: 'home_free' }
  /** An image is being pulled. */
  | { kind: 'pulling'; percent: number }
  | { kind: 'display_begun' }
  | { kind: 'screen_ready' }
  | { kind: 'worker_ready' }
  | { kind: 'start' }
  | { kind: 'encoding' }
  | { kind: 'presented' }
  /** `status` is null if a signal ended the app. `hint`: the requirement that the app probably lacks. */
  | { kind: 'app_exited'; status: number | null; hint?: string | undefined }
  /** A stop requested by session_stop or by the agent itself. */
  | { kind: 'stop'; reason: Open<SessionEndReason>; graceMs: number }
  | { kind: 'failure'; failure_code: FailureCode; error: string }
  | { kind: 'boot_timeout'; afterSecs: number }
  | { kind: 'torn_down' };

export type Effect =
  | { kind: 'report'; state: 'starting' | 'running'; detail: string }
  | { kind: 'report_stopping'; reason: Open<SessionEndReason> }
  | { kind: 'launch_app' }
  | { kind: 'start_encoder' }
  | { kind: 'running' }
  | { kind: 'presented' }
  | { kind: 'app_ended'; status: number | null }
  /** graceMs: time between SIGTERM and SIGKILL. */
  | { kind: 'tear_down'; reason: Open<SessionEndReason>; graceMs: number }
  | { kind: 'report_end'; ending: Ending };

export interface Step {
  machine: Machine;
  effects: Effect[];
}

/** graceMs of an end that was not requested. */
const FAILURE_GRACE_MS = 500;

export function newMachine(encodes = true): Machine {
  return {
    phase: 'preparing',
    encodes,
    startRequested: false,
    screenReady: false,
    workerReady: false,
    appStarted: false,
    encoderStarted: false,
    presented: false,
    ending: null,
  };
}

/** The state that the control plane stores. assigned: the session is preparing or prepared, and not started. */
export function heldState(machine: Machine): Exclude<SessionStateName, 'pending'> {
  switch (machine.phase) {
    case 'waiting':
    case 'preparing':
      return 'assigned';
    case 'ending':
      return 'stopping';
    case 'ended':
      return machine.ending?.state ?? 'stopped';
    default:
      return machine.phase;
  }
}

/** Applies one input. Inputs that a state does not handle have no effect. */
export function step(machine: Machine, input: Input): Step {
  if (machine.phase === 'ended') return { machine, effects: [] };
  if (machine.phase === 'ending') {
    if (input.kind !== 'torn_down' || machine.ending === null) return { machine, effects: [] };
    return {
      machine: { ...machine, phase: 'ended' },
      effects: [{ kind: 'report_end', ending: machine.ending }],
    };
  }
  switch (input.kind) {
    case 'home_busy':
      if (machine.phase !== 'preparing' || machine.screenReady) return { machine, effects: [] };
      return detail({ ...machine, phase: 'waiting' }, LAUNCH_STEPS.waiting_home);
    case 'home_free': {
      if (machine.screenReady) return { machine, effects: [] };
      const phase = machine.startRequested ? 'starting' : 'preparing';
      return detail({ ...machine, phase }, LAUNCH_STEPS.preparing_home);
    }
    case 'pulling':
      if (machine.screenReady) return { machine, effects: [] };
      return detail(machine, `${LAUNCH_STEPS.pulling_image} ${input.percent} %`);
    case 'display_begun':
      if (machine.screenReady) return { machine, effects: [] };
      return detail(machine, LAUNCH_STEPS.starting_display);
    case 'screen_ready':
      return proceed({ ...machine, screenReady: true });
    case 'worker_ready':
      return proceed({ ...machine, workerReady: true });
    case 'start':
      if (machine.startRequested) return { machine, effects: [] };
      return proceed({
        ...machine,
        startRequested: true,
        phase: machine.phase === 'preparing' ? 'starting' : machine.phase,
      });
    case 'encoding':
      return encoding(machine);
    case 'presented':
      return presented(machine);
    case 'app_exited':
      return appExited(machine, input.status, input.hint);
    case 'stop':
      return {
        machine: end(machine, { state: 'stopped', reason: input.reason, appLog: false }),
        effects: [
          { kind: 'report_stopping', reason: input.reason },
          { kind: 'tear_down', reason: input.reason, graceMs: input.graceMs },
        ],
      };
    case 'failure':
      return fail(machine, input.failure_code, input.error);
    case 'boot_timeout':
      if (machine.presented) return { machine, effects: [] };
      return fail(machine, 'app_never_presented', `the app drew no window within ${input.afterSecs} s`);
    case 'torn_down':
      return { machine, effects: [] };
  }
}

function detail(machine: Machine, text: string): Step {
  return { machine, effects: [{ kind: 'report', state: 'starting', detail: text }] };
}

function proceed(machine: Machine): Step {
  const effects: Effect[] = [];
  let next = machine;
  if (next.startRequested && next.screenReady && !next.appStarted) {
    next = { ...next, appStarted: true };
    effects.push(
      { kind: 'report', state: 'starting', detail: LAUNCH_STEPS.starting_app },
      { kind: 'launch_app' },
    );
    // The worker may still be preparing. Messages of viewers after this report wait in the relay until the worker is
    // ready.
    if (next.encodes) {
      effects.push({ kind: 'report', state: 'starting', detail: LAUNCH_STEPS.starting_encoder });
    }
  }
  if (next.appStarted && next.workerReady && !next.encoderStarted) {
    next = { ...next, encoderStarted: true };
    if (!next.encodes) {
      const shown = encoding(next);
      return { machine: shown.machine, effects: [...effects, ...shown.effects] };
    }
    effects.push({ kind: 'start_encoder' });
  }
  return { machine: next, effects };
}

function encoding(machine: Machine): Step {
  if (!machine.encoderStarted || machine.phase === 'running') return { machine, effects: [] };
  const effects: Effect[] = [
    { kind: 'report', state: 'running', detail: LAUNCH_STEPS.app_booting },
    { kind: 'running' },
  ];
  // The app drew before the first encoded frame, but the steps are still reported in their usual order.
  if (machine.presented) effects.push(...shown());
  return { machine: { ...machine, phase: 'running' }, effects };
}

function presented(machine: Machine): Step {
  if (!machine.appStarted || machine.presented) return { machine, effects: [] };
  return {
    machine: { ...machine, presented: true },
    effects: machine.phase === 'running' ? shown() : [],
  };
}

function shown(): Effect[] {
  return [{ kind: 'report', state: 'running', detail: LAUNCH_STEPS.app_presented }, { kind: 'presented' }];
}

function appExited(machine: Machine, status: number | null, hint: string | undefined): Step {
  if (!machine.appStarted) return { machine, effects: [] };
  const ended: Effect = { kind: 'app_ended', status };
  if (status === 0 && machine.presented) {
    return {
      machine: end(machine, { state: 'stopped', reason: 'app_exited', appLog: true }),
      effects: [ended, { kind: 'tear_down', reason: 'app_exited', graceMs: FAILURE_GRACE_MS }],
    };
  }
  const failed = machine.presented
    ? fail(machine, 'app_crashed', `the app ${describeExit(status)}`)
    : fail(machine, 'app_exited_early', endedEarly(status, hint));
  return { ...failed, effects: [ended, ...failed.effects] };
}

function describeExit(status: number | null): string {
  return status === null ? 'was ended by a signal' : `exited with status ${status}`;
}

/** Message about an app that ended before its first window. */
export function endedEarly(status: number | null, hint: string | undefined): string {
  const more = hint === undefined ? '' : `; ${hint}`;
  // Status 0 is not a crash: the command finished, or handed its work to a program that was already running.
  if (status === 0) return `the app ended without showing a window (exit status 0)${more}`;
  return `the app ${describeExit(status)} before it drew anything${more}`;
}

function fail(machine: Machine, failure_code: FailureCode, error: string): Step {
  return {
    machine: end(machine, { state: 'failed', failure_code, error }),
    effects: [{ kind: 'tear_down', reason: failure_code, graceMs: FAILURE_GRACE_MS }],
  };
}

function end(machine: Machine, ending: Ending): Machine {
  return { ...machine, phase: 'ending', ending };
}
