/**
 * The life of a run. Pure: facts and the time in, decisions out.
 *
 *     pending ──claim──> running ──report──> succeeded, failed, skipped
 *                           ├──report────> deferred, which a pending run with the next attempt follows
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

/** What an agent's report does to a run of its host. */
export function decideRunReport(state: JobRunState): 'close' | 'no_op' | 'refuse' {
  if (state === 'running') return 'close';
  // No process claimed it, so no process can report its end.
  return state === 'pending' ? 'refuse' : 'no_op';
}

/** Wait after a deferred attempt: 30 s, doubling to 15 minutes. */
export function retryDelayMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt - 1, 16), MAX_RETRY_MS);
}

/** A run that ends. */
export interface EndingRun {
  trigger: Trigger;
  attempt: number;
  actor_user_id: string | null;
  /** JSON text. */
  params: string;
  /** 1: another event asked for a run while this one was running. */
  rerun: 0 | 1;
}

/** The run that follows one that ended. */
export type FollowingRun = Omit<EndingRun, 'rerun'> & { scheduled_for: number };

/**
 * What follows the end of a run.
 *
 * A deferred run is tried again, and this try also serves an event that came during the run. After any other end a run
 * with such an event is followed by a new one, so that no event is lost.
 * @param outcome how it ended
 * @param window of its job
 * @returns null: nothing
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

/** What the claim reaper does to a running run. */
export type Reaped = 'timed_out' | 'dispatcher_gone' | null;

/**
 * Whether the claimer of a running run is gone.
 * @param isExecuting this dispatcher works on it
 */
export function judgeClaim(
  run: { claimed_at: number | null; fence: number | null },
  { isExecuting, timeoutMs, nowMs }: { isExecuting: boolean; timeoutMs: number; nowMs: number },
): Reaped {
  // One dispatcher works at a time, so a run that it does not know is another's, or its claim was never answered.
  if (run.fence !== null && !isExecuting) return 'dispatcher_gone';
  // A claim in the future was stored while the clock was ahead.
  return run.claimed_at !== null && Math.abs(nowMs - run.claimed_at) > timeoutMs ? 'timed_out' : null;
}

/** An open run of a host, as its agent's claim needs it. */
export interface RunOfHost {
  id: string;
  job_id: string;
  params: string;
  state: OpenState;
  scheduled_for: number;
  claimed_at: number | null;
  claimed_boot: string | null;
  /** 1: its job is switched on. */
  enabled: 0 | 1;
}

/** An answer that carried a claim may be lost; the agent asks again after this time. */
const HAND_OUT_AGAIN_MS = MINUTE_MS;

/**
 * What a host's poll gets.
 * @param runs its open ones
 * @param bootId of the agent process that asks; null: it did not say
 * @returns due: pending runs to claim, the longest due first; again: runs that this process claimed and did not report
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
