/** Converts rows to the records of API answers. Pure. */
import type { Job, JobRun, JobSchedule } from '@footlight/protocol/rest';
import { bool, fromJson, instantOrNull } from '../platform/database/codec.ts';
import type { JobRunsTable, JobsTable } from '../platform/database/tables/jobs.ts';
import type { IntervalLock } from '../platform/platform.ts';

/** Columns that a run record contains. */
export const RECORD_COLUMNS = [
  'id',
  'job_id',
  'host_id',
  'state',
  'trigger',
  'started_at',
  'finished_at',
  'summary',
  'error',
  'created_at',
] as const;
export type RecordedRun = Pick<JobRunsTable, (typeof RECORD_COLUMNS)[number]>;

export function toRunRecord(run: RecordedRun): JobRun {
  const { id, host_id, state, trigger, started_at, finished_at, error } = run;
  return {
    ...{ id, host_id, state, trigger },
    started_at: instantOrNull(started_at),
    finished_at: instantOrNull(finished_at),
    duration_ms: started_at === null || finished_at === null ? null : Math.max(0, finished_at - started_at),
    summary: fromJson<JobRun['summary']>(run.summary),
    error,
  };
}

export function toSchedule(job: JobsTable, lock: IntervalLock | null): JobSchedule {
  const { schedule_kind: kind, window_start, window_end, timezone } = job;
  const lockedSecs = lock === null ? null : Math.ceil((lock.everyMs ?? 0) / 1_000);
  return {
    kind,
    interval_secs: kind === 'interval' ? (lockedSecs ?? job.interval_secs) : null,
    ...{ window_start, window_end, timezone },
    window_days: fromJson<number[]>(job.window_days),
    locked: lock !== null,
    locked_by: lock?.variable ?? null,
  };
}

/** The fields of a job record that do not depend on the job's runs. */
export function toJobHead(
  job: JobsTable,
  lock: IntervalLock | null,
): Pick<
  Job,
  'id' | 'name' | 'description' | 'plane' | 'scope' | 'managed' | 'enabled' | 'schedule' | 'history_limit'
> {
  const { id, name, description, plane, scope, history_limit } = job;
  return {
    ...{ id, name, description, plane, scope },
    managed: bool(job.managed),
    enabled: bool(job.enabled),
    schedule: toSchedule(job, lock),
    history_limit,
  };
}
