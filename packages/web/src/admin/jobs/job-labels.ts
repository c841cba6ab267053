import type { Job, JobRun, JobSchedule } from '@footlight/protocol/rest';
import type { Tone } from '../../components/state-chip.tsx';
import { msg, plural, t } from '../../i18n/translate.ts';
import { detailLabel } from '../activity/activity-labels.ts';
import { everyLabel } from '../frame/interval-labels.ts';

/** Days of the week in the schedule's numbering. */
export const DAYS = [
  msg('Sunday'),
  msg('Monday'),
  msg('Tuesday'),
  msg('Wednesday'),
  msg('Thursday'),
  msg('Friday'),
  msg('Saturday'),
] as const;

/** When a job runs automatically: "Every 6 hours, between 03:00 and 05:00 on Sunday (Europe/Berlin)". */
export function scheduleLabel(schedule: JobSchedule): string {
  const { kind, interval_secs, window_start, window_end, window_days, timezone } = schedule;
  if (kind === 'manual') return t('Only when you run it');
  if (kind === 'event') return t('When it is needed');
  if (interval_secs === 0 || interval_secs === null) return t('Never automatically');
  const every = everyLabel(interval_secs);
  if (window_start === null || window_end === null) return every;
  const window = { every, start: timeLabel(window_start), end: timeLabel(window_end), timezone };
  const days = window_days.flatMap((day) => DAYS[day] ?? []).map((day) => t(day));
  return days.length === 0
    ? t('{every}, between {start} and {end} ({timezone})', window)
    : t('{every}, between {start} and {end} on {days} ({timezone})', { ...window, days: days.join(', ') });
}

/** A time of day; seconds are omitted if they are 0. */
export const timeLabel = (time: string): string => time.replace(/^(\d\d:\d\d):00$/, '$1');

const RUN: Readonly<Record<JobRun['state'], readonly [Tone, string]>> = {
  pending: ['info', msg('Waiting')],
  running: ['info', msg('Running')],
  succeeded: ['success', msg('Done')],
  failed: ['danger', msg('Failed')],
  deferred: ['warning', msg('Postponed')],
  skipped: ['neutral', msg('Nothing to do')],
  aborted: ['danger', msg('Aborted')],
};

/** The state of a run, for its chip. */
export function runState(state: JobRun['state']): readonly [Tone, string] {
  const [tone, label] = RUN[state];
  return [tone, t(label)];
}

export const TRIGGER_LABELS: Readonly<Record<JobRun['trigger'], string>> = {
  schedule: msg('Its schedule'),
  manual: msg('An administrator'),
  event: msg('An event'),
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
  const runningLabel = () =>
    job.targets === undefined
      ? t('Running')
      : plural(places.length, 'Running on {running} of {n} host', 'Running on {running} of {n} hosts', {
          running,
        });
  if (!job.managed) return { ...base, tone: 'neutral', label: t('Listed only') };
  if (running > 0) return { ...base, tone: 'info', label: runningLabel() };
  if (!job.enabled) return { ...base, tone: 'neutral', label: t('Switched off') };
  if (failed > 0) return { ...base, tone: 'danger', label: failureLabel(job) };
  if (lastRun === null) return { ...base, tone: 'neutral', label: t('Has not run yet') };
  const [tone, label] = runState(lastRun.state);
  return { ...base, tone, label };
}

/** How a job fails: repeatedly, or on how many hosts. */
export function failureLabel({ consecutive_failures = 0, targets }: Job): string {
  if (consecutive_failures > 1)
    return plural(consecutive_failures, 'Failed {n} time in a row', 'Failed {n} times in a row');
  if (targets === undefined) return t('Failed');
  const failed = targets.filter(({ last_run }) => isFailure(last_run)).length;
  return plural(targets.length, 'Failed on {failed} of {n} host', 'Failed on {failed} of {n} hosts', {
    failed,
  });
}

function finishedMs(run: JobRun | null): number {
  return run === null ? Number.NEGATIVE_INFINITY : Date.parse(run.finished_at ?? run.started_at ?? '') || 0;
}
