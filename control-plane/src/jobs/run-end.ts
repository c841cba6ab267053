import type { Random } from '@footlight/platform';
import type { JsonObject } from '@footlight/protocol';
import { cutUtf8 } from '@footlight/protocol';
import { isSummaryWithinBound, type JobReport } from '@footlight/protocol/agent';
import { type Tx, toJson } from '../platform/database/index.ts';
import { findJob } from './job-store.ts';
import { windowOf } from './rules/effective.ts';
import { planFollowing } from './rules/run-life.ts';
import { endRuns, insertPending, type RunningRun } from './run-store.ts';

/** Longest stored error text. A page of the history contains up to 500 error texts. Chosen, not measured. */
const MAX_ERROR_BYTES = 4_096;

/** The end of a run, from its report, from the job itself or from the claim reaper. */
export interface RunEnding {
  state: JobReport['state'] | 'aborted';
  summary: JsonObject;
  error: string | null;
}

/** Ends runs that the transaction has locked, and adds the runs that follow. */
export async function endRunning(
  tx: Tx,
  ends: readonly { run: RunningRun; ending: RunEnding }[],
  { nowMs, random }: { nowMs: number; random: Pick<Random, 'uuid'> },
): Promise<void> {
  await endRuns(
    tx,
    ends.map(({ run: { id }, ending: { state, summary, error } }) => ({
      ...{ id, state },
      summary: toJson(isSummaryWithinBound(summary) ? summary : { truncated: true }),
      error: error === null ? null : cutUtf8(error, MAX_ERROR_BYTES),
    })),
    nowMs,
  );
  for (const { run, ending } of ends) {
    if (ending.state !== 'deferred' && run.rerun === 0) continue;
    const job = await findJob(tx, run.job_id);
    if (job === undefined) continue;
    const following = planFollowing(run, ending.state, windowOf(job), nowMs);
    if (following === null) continue;
    const { job_id, host_id } = run;
    await insertPending(tx, [{ ...following, id: random.uuid(), job_id, host_id, created_at: nowMs }]);
  }
}
