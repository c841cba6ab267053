/** Bodies of the agent's HTTP calls about jobs. Unknown keys are ignored, because the other side may be newer. */
import { z } from 'zod';
import {
  count,
  humanText,
  type JsonObject,
  jsonObject,
  text,
  utf8Length,
  uuid,
  wireUuid,
} from '../common.ts';

/** Jobs that agents run. An agent that does not know a job reports its run as skipped. */
export const AGENT_JOB_IDS = ['home.gc', 'template.warmup'] as const;
export type AgentJobId = (typeof AGENT_JOB_IDS)[number];

/** Interval of an agent's polls for runs, ± 10 %. */
export const POLL_INTERVAL_MS = 60_000;
/**
 * Largest number of new runs in one answer. The answer may also contain up to this number of runs that this process has
 * claimed before.
 */
export const MAX_CLAIMED_RUNS = 5;
/** Longest summary of a run, in bytes of JSON. */
export const MAX_SUMMARY_BYTES = 4096;
/** Longest body of an agent's call in bytes, unless the call has its own limit. */
export const MAX_CALL_BODY_BYTES = 64 * 1024;

const jobRunOrder = z.object({
  run_id: wireUuid.describe('Id of the run.'),
  job_id: text(128).describe('Which job to run.'),
  params: jsonObject.meta({ type: 'object' }).describe('Parameters of the run; {} without any.'),
  deadline_secs: count.describe('Seconds that are left until the claim is treated as abandoned.'),
});
/** A claimed run. */
export type JobRunOrder = z.infer<typeof jobRunOrder>;

export const jobsPendingSchema = z.object({
  runs: z
    .array(jobRunOrder)
    .max(2 * MAX_CLAIMED_RUNS)
    .describe(
      'Runs that this host claimed with the call, and runs that it claimed before but has not reported.',
    ),
});
export type JobsPending = z.infer<typeof jobsPendingSchema>;

/**
 * Whether a run's summary is short enough. The schema does not check this, because the run's ownership must be checked
 * first.
 */
export function isSummaryWithinBound(summary: JsonObject): boolean {
  return utf8Length(JSON.stringify(summary)) <= MAX_SUMMARY_BYTES;
}

export const jobReportSchema = z.object({
  run_id: uuid.describe('Id of the run.'),
  state: z
    .enum(['succeeded', 'failed', 'deferred', 'skipped'])
    .describe(
      '`deferred`: a gate of the job refused, and it is tried again later; `skipped`: there was nothing to do.',
    ),
  summary: jsonObject
    .meta({ type: 'object' })
    .optional()
    .describe('Result of the run, at most 4096 bytes; left out: {}.'),
  error: humanText(MAX_CALL_BODY_BYTES)
    .nullable()
    .optional()
    .describe('Why it failed; null or left out for other states.'),
});
export type JobReport = z.infer<typeof jobReportSchema>;
