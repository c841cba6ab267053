import type { Job, JobRun, JobSchedule } from '@footlight/protocol/rest';
import type { Tone } from '../../components/state-chip.tsx';
import { detailLabel } from '../activity/activity-labels.ts';
import { countLabel } from '../frame/quantity-labels.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Units of an interval, largest first, in seconds. */
export const INTERVAL_UNITS = [
  { value: 'days', seconds: DAY, one: 'day' },
  { value: 'hours', seconds: HOUR, one: 'hour' },
  { value: 'minutes', seconds: MINUTE, one: 'minute' },
  { value: 'seconds', seconds: 1, one: 'second' },
] as const;
export type IntervalUnit = (typeof INTERVAL_UNITS)[number]['value'];

/** Days of the week in the schedule's numbering. */
export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

/** The largest unit that divides a number of seconds. */
export function splitInterval(secs: number): { count: number; unit: IntervalUnit } {
  const unit = INTERVAL_UNITS.find(({ seconds }) => secs % seconds === 0) ?? INTERVAL_UNITS[3];
  return { count: secs / unit.seconds, unit: unit.value };
}

/** When a job runs automatically: "Every 6 hours, between 03:00 and 05:00 on Sunday (Europe/Berlin)". */
export function scheduleLabel(schedule: JobSchedule): string {
  const { kind, interval_secs, window_start, window_end, window_days, timezone } = schedule;
  if (kind === 'manual') return 'Only when you run it';
  if (kind === 'event') return 'When it is needed';
  if (interval_secs === 0 || interval_secs === null) return 'Never automatically';
  const { count, unit } = splitInterval(interval_secs);
  const one = INTERVAL_UNITS.find(({ value }) => value === unit)?.one ?? unit;
  const every = count === 1 ? `Every ${one}` : `Every ${count} ${unit}`;
  if (window_start === null || window_end === null) return every;
  const days = window_days.map((day) => DAYS[day]).join(', ');
  const between = `between ${timeLabel(window_start)} and ${timeLabel(window_end)}`;
  return `${every}, ${between}${days === '' ? '' : ` on ${days}`} (${timezone})`;
}

/** A time of day; seconds are omitted if they are 0. */
export const timeLabel = (time: string): string => time.replace(/^(\d\d:\d\d):00$/, '$1');

const RUN: Readonly<Record<JobRun['state'], readonly [Tone, string]>> = {
  pending: ['info', 'Waiting'],
  running: ['info', 'Running'],
  succeeded: ['success', 'Done'],
  failed: ['danger', 'Failed'],
  deferred: ['warning', 'Postponed'],
  skipped: ['neutral', 'Nothing to do'],
  aborted: ['danger', 'Aborted'],
};

/** The state of a run, for its chip. */
export const runState = (state: JobRun['state']): readonly [Tone, string] => RUN[state];

export const TRIGGER_LABELS: Readonly<Record<JobRun['trigger'], string>> = {
  schedule: 'Its schedule',
  manual: 'An administrator',
  event: 'An event',
};

/** The result of a run: its error, the reason why it did nothing, or its counts. */
export function resultLabel({ error, summary }: Pick<JobRun, 'error' | 'summary'>): string {
  if (error !== null) return error;
  const { reason, ...counted } = summary;
  const others = detailLabel({ details: counted });
  return typeof reason === 'string' ? [reason, others].filter(Boolean).join(' · ') : others;
}

/** The state of a job over all its hosts, for the list. */
export interface JobStanding {
  tone: Tone;
  label: string;
  running: boolean;
  /** The job needs attention, because its last run failed or was aborted on some host. */
  failing: boolean;
  lastRun: JobRun | null;
  nextRunAt: string | null;
}

const isFailure = (run: JobRun | null | undefined): boolean =>
  run?.state === 'failed' || run?.state === 'aborted';

/**
 * Summarizes a job. Pure. For a job that runs on hosts, the label counts hosts; a job that is only listed has no runs.
 */
export function standingOf(job: Job): JobStanding {
  const places = job.targets ?? [
    { running: job.running ?? false, next_run_at: job.next_run_at ?? null, last_run: job.last_run ?? null },
  ];
  const running = places.filter((place) => place.running).length;
  const failed = places.filter((place) => isFailure(place.last_run)).length;
  const lastRun = places
    .map((place) => place.last_run)
    .reduce((latest, run) => (finishedMs(run) > finishedMs(latest) ? run : latest), null);
  const nextRunAt =
    places
      .map((place) => place.next_run_at)
      .filter((at) => at !== null)
      .sort()[0] ?? null;
  const base = { running: running > 0, failing: failed > 0 && job.enabled, lastRun, nextRunAt };
  const onHosts = (count: number) =>
    job.targets === undefined ? '' : ` on ${count} of ${countLabel(places.length, 'host')}`;
  if (!job.managed) return { ...base, tone: 'neutral', label: 'Listed only' };
  if (running > 0) return { ...base, tone: 'info', label: `Running${onHosts(running)}` };
  if (!job.enabled) return { ...base, tone: 'neutral', label: 'Switched off' };
  if (failed > 0) return { ...base, tone: 'danger', label: failureLabel(job) };
  if (lastRun === null) return { ...base, tone: 'neutral', label: 'Has not run yet' };
  const [tone, label] = runState(lastRun.state);
  return { ...base, tone, label };
}

/** How a job fails: repeatedly, or on how many hosts. */
export function failureLabel({ consecutive_failures = 0, targets }: Job): string {
  if (consecutive_failures > 1) return `Failed ${consecutive_failures} times in a row`;
  if (targets === undefined) return 'Failed';
  const failed = targets.filter(({ last_run }) => isFailure(last_run)).length;
  return `Failed on ${failed} of ${countLabel(targets.length, 'host')}`;
}

function finishedMs(run: JobRun | null): number {
  return run === null ? Number.NEGATIVE_INFINITY : Date.parse(run.finished_at ?? run.started_at ?? '') || 0;
}
