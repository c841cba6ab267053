/**
 * The states of a run. Pure: the functions receive facts and the time, and return decisions.
 *
 *     pending ──claim──> running ──report──> succeeded, failed, skipped
 *                           ├──report────> deferred, followed by a pending run with the next attempt
 *                           └──reaper────> aborted
 *
 * Source: docs/configuration.md, "Background jobs".
 */
import { MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { type JobReport, MAX_CLAIMED_RUNS } from '@footlight/protocol/agent';
import type { JobRunState } from '@footlight/protocol/rest';
import { MAX_RETRY_MS, moveIntoWindow, type Window } from './schedule.ts';

const FIRST_RETRY_MS = 30 * SECOND_MS;

export type OpenState = 'pending' | 'running';
export type Trigger = 'schedule' | 'manual' | 'event';

/** Effect of an agent's report on a run of its host. */
export function decideRunReport(state: JobRunState): 'close' | 'no_op' | 'refuse' {
  if (state === 'running') return 'close';
  // No process claimed a pending run, so no process can report its end.
  return state === 'pending' ? 'refuse' : 'no_op';
}

/** Wait after a deferred attempt: first 30 s, doubled each time up to 15 minutes. */
export function retryDelayMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt - 1, 16), MAX_RETRY_MS);
}

/** An ending run. */
export interface EndingRun {
  trigger: Trigger;
  attempt: number;
  actor_user_id: string | null;
  /** Parameters of the job as JSON text. */
  params: string;
  /** 1: another event asked for a run while this one was running. */
  rerun: 0 | 1;
}

/** The run that follows an ended run. */
export type FollowingRun = Omit<EndingRun, 'rerun'> & { scheduled_for: number };

/**
 * Plans the run that follows the end of a run.
 *
 * A deferred run is tried again; this try also handles an event that occurred during the run. After any other end, such
 * an event adds a new run, so that no event is lost.
 * @param outcome how the run ended
 * @param window start window of the run's job
 * @returns null: no run follows
 */
export function planFollowing(
  run: EndingRun,
  outcome: JobReport['state'] | 'aborted',
  window: Window | null,
  nowMs: number,
): FollowingRun | null {
  const { trigger, attempt, actor_user_id, params, rerun } = run;
  if (outcome === 'deferred') {
    const dueMs = nowMs + retryDelayMs(attempt);
    return {
      ...{ trigger, actor_user_id, params, attempt: attempt + 1 },
      scheduled_for: trigger === 'manual' ? dueMs : moveIntoWindow(window, dueMs),
    };
  }
  if (rerun === 0) return null;
  return {
    ...{ trigger: 'event', actor_user_id: null, params, attempt: 1 },
    scheduled_for: moveIntoWindow(window, nowMs),
  };
}

/** Reason for which the claim reaper ends a running run; null: the run continues. */
export type Reaped = 'timed_out' | 'dispatcher_gone' | null;

/**
 * Decides whether the claimer of a running run has stopped.
 * @param isExecuting whether this dispatcher is executing the run
 */
export function judgeClaim(
  run: { claimed_at: number | null; fence: number | null },
  { isExecuting, timeoutMs, nowMs }: { isExecuting: boolean; timeoutMs: number; nowMs: number },
): Reaped {
  // Only one dispatcher is active at a time. A run that it is not executing belongs to a former dispatcher, or the
  // answer to its claim was lost.
  if (run.fence !== null && !isExecuting) return 'dispatcher_gone';
  // A claim in the future was stored while the clock was ahead.
  return run.claimed_at !== null && Math.abs(nowMs - run.claimed_at) > timeoutMs ? 'timed_out' : null;
}

/** An open run of a host, with the fields that its agent's claim needs. */
export interface RunOfHost {
  id: string;
  job_id: string;
  params: string;
  state: OpenState;
  scheduled_for: number;
  claimed_at: number | null;
  claimed_boot: string | null;
  /** 1: the run's job is enabled. */
  enabled: 0 | 1;
}

/** The answer to a claim may be lost, so after this time the same run is returned again. */
const HAND_OUT_AGAIN_MS = MINUTE_MS;

/**
 * Selects the runs that a host's poll returns.
 * @param runs open runs of the host
 * @param bootId id of the agent process that polls; null: it sent none
 * @returns due: pending runs to claim, those due for the longest time first; again: runs that this process claimed and
 *   did not report
 */
export function selectRuns<Run extends RunOfHost>(
  runs: readonly Run[],
  bootId: string | null,
  nowMs: number,
): { due: Run[]; again: Run[] } {
  const byTime = (a: Run, b: Run) => a.scheduled_for - b.scheduled_for || (a.id < b.id ? -1 : 1);
  const ordered = [...runs].sort(byTime);
  return {
    due: ordered
      .filter(
        ({ state, scheduled_for, enabled }) => state === 'pending' && scheduled_for <= nowMs && enabled === 1,
      )
      .slice(0, MAX_CLAIMED_RUNS),
    again: ordered
      .filter(
        ({ state, claimed_at, claimed_boot }) =>
          state === 'running' &&
          bootId !== null &&
          claimed_boot === bootId &&
          claimed_at !== null &&
          nowMs - claimed_at > HAND_OUT_AGAIN_MS,
      )
      .slice(0, MAX_CLAIMED_RUNS),
  };
}
