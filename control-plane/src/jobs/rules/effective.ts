/** The effective schedule of a job: values of the environment override the stored ones. Pure. */
import { SECOND_MS } from '@footlight/platform';
import { fromJson } from '../../platform/database/codec.ts';
import type { JobsTable } from '../../platform/database/tables/jobs.ts';
import type { IntervalLock } from '../../platform/platform.ts';
import { parseTimeOfDay, type Window } from './schedule.ts';

type WindowColumns = Pick<JobsTable, 'window_start' | 'window_end' | 'window_days' | 'timezone'>;

/** null: runs may start at any time. */
export function windowOf({ window_start, window_end, window_days, timezone }: WindowColumns): Window | null {
  const startSecs = window_start === null ? null : parseTimeOfDay(window_start);
  const endSecs = window_end === null ? null : parseTimeOfDay(window_end);
  if (startSecs === null || endSecs === null) return null;
  return { startSecs, endSecs, days: fromJson<number[]>(window_days), zone: timezone };
}

/** Interval from the end of a run to the next one; null: the job is not started by its schedule. */
export function intervalOf(
  job: Pick<JobsTable, 'schedule_kind' | 'interval_secs'>,
  lock: IntervalLock | null,
): number | null {
  if (job.schedule_kind !== 'interval') return null;
  if (lock !== null) return lock.everyMs;
  return job.interval_secs === null ? null : job.interval_secs * SECOND_MS;
}
