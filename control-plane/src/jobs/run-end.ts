import type { Random } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import { cutUtf8 } from '@footlight/protocol';
import { isSummaryWithinBound, type JobReport } from '@footlight/protocol/agent';
import { type Tx, toJson } from '../platform/database/index.ts';
import { findJob } from './job-store.ts';
import { windowOf } from './rules/effective.ts';
import { planFollowing } from './rules/run-life.ts';
import { endRuns, insertPending, type RunningRun } from './run-store.ts';

/** Longest stored error text: a page of the history has up to 500 of them. Chosen, not measured. */
const MAX_ERROR_BYTES = 4_096;

/** How a run ended, from its report, from the job itself or from the claim reaper. */
export interface RunEnding {
  state: JobReport['state'] | 'aborted';
  summary: JsonObject;
  error: string | null;
}

/** Ends a run that the transaction has locked, and adds the run that follows. */
export async function endRun(
  tx: Tx,
  run: RunningRun,
  ending: RunEnding,
  { nowMs, random }: { nowMs: number; random: Pick<Random, 'uuid'> },
): Promise<void> {
  const { state, error } = ending;
  const summary = isSummaryWithinBound(ending.summary) ? ending.summary : { truncated: true };
  await endRuns(tx, [run.id], {
    state,
    summary: toJson(summary),
    error: error === null ? null : cutUtf8(error, MAX_ERROR_BYTES),
    finished_at: nowMs,
  });
  if (state !== 'deferred' && run.rerun === 0) return;
  const job = await findJob(tx, run.job_id);
  if (job === undefined) return;
  const following = planFollowing(run, state, windowOf(job), nowMs);
  if (following === null) return;
  const { job_id, host_id } = run;
  await insertPending(tx, [{ ...following, id: random.uuid(), job_id, host_id, created_at: nowMs }]);
}
