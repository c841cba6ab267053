/** Plans a change of a job's schedule. Pure. Source: docs/configuration.md, "Background jobs". */
import type { JobPatch } from '@footlight/protocol/rest';
import { flag, toJson } from '../../platform/database/codec.ts';
import type { JobsTable } from '../../platform/database/tables/jobs.ts';
import { parseTimeOfDay, writeTimeOfDay } from './schedule.ts';

export type PatchPlan =
  | { kind: 'invalid'; why: string }
  | { kind: 'locked' }
  | {
      kind: 'change';
      columns: Partial<JobsTable>;
      /** Whether the pending runs of the schedule must be planned again. */
      isReplanned: boolean;
    };

const invalid = (why: string): PatchPlan => ({ kind: 'invalid', why });

/** @param isLocked whether the environment sets the interval */
export function planPatch(job: JobsTable, patch: JobPatch, isLocked: boolean): PatchPlan {
  const { enabled, interval_secs, window_days, timezone, history_limit } = patch;
  if (interval_secs !== undefined && job.schedule_kind !== 'interval')
    return invalid('interval_secs: this job has no interval');
  const times = { window_start: job.window_start, window_end: job.window_end };
  for (const bound of ['window_start', 'window_end'] as const) {
    const text = patch[bound];
    if (text === undefined) continue;
    const secs = text === null ? null : parseTimeOfDay(text);
    if (text !== null && secs === null) return invalid(`${bound}: must be HH:MM or HH:MM:SS`);
    times[bound] = secs === null ? null : writeTimeOfDay(secs);
  }
  const { window_start, window_end } = times;
  if ((window_start === null) !== (window_end === null))
    return invalid('window_start, window_end: set both or neither');
  if (window_start !== null && window_start === window_end)
    return invalid('window_end: must differ from window_start');
  if (interval_secs !== undefined && isLocked) return { kind: 'locked' };
  const columns: Partial<JobsTable> = {
    ...(enabled !== undefined && { enabled: flag(enabled) }),
    ...(interval_secs !== undefined && { interval_secs }),
    ...times,
    ...(window_days !== undefined && { window_days: toJson([...new Set(window_days)].sort()) }),
    ...(timezone !== undefined && { timezone }),
    ...(history_limit !== undefined && { history_limit }),
  };
  const changes = Object.entries(columns).filter(
    ([column, value]) => job[column as keyof JobsTable] !== value,
  );
  return {
    kind: 'change',
    columns: Object.fromEntries(changes),
    isReplanned: changes.some(([column]) => column !== 'history_limit'),
  };
}
