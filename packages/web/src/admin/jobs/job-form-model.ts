import type { Job, SentBody } from '@footlight/protocol/rest';
import { t } from '../../i18n/translate.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule } from '../frame/bound-rules.ts';
import { INTERVAL_UNITS, type IntervalUnit, splitInterval } from '../frame/interval-labels.ts';
import { timeLabel } from './job-labels.ts';

const bounds = bodyBounds['admin.jobs.update'];
export const jobRules = {
  interval_secs: numberRule(bounds.interval_secs),
  history_limit: numberRule(bounds.history_limit),
};

/** Fields of the form of a job. */
export interface JobValues {
  enabled: boolean;
  /** Number of units; "" while its field is empty. */
  count: number | string;
  unit: string;
  windowed: boolean;
  /** HH:MM or HH:MM:SS. */
  start: string;
  end: string;
  /** Days as numbers in text form, which check boxes need. */
  days: string[];
  timezone: string;
  history_limit: number | string;
}

/** The stored job as form values. */
export function jobValues({ enabled, schedule, history_limit }: Job): JobValues {
  const { count, unit } = splitInterval(schedule.interval_secs ?? 0);
  return {
    enabled,
    count,
    unit,
    windowed: schedule.window_start !== null,
    start: timeLabel(schedule.window_start ?? '03:00'),
    end: timeLabel(schedule.window_end ?? '05:00'),
    days: schedule.window_days.map(String),
    timezone: schedule.timezone,
    history_limit,
  };
}

/**
 * The body of a change with all fields of the job. If the environment sets the interval, the body contains no interval.
 */
export function jobBody(
  values: JobValues,
  { schedule }: Pick<Job, 'schedule'>,
): SentBody<'admin.jobs.update'> {
  const isInterval = schedule.kind === 'interval';
  return {
    enabled: values.enabled,
    ...(isInterval && !schedule.locked && { interval_secs: secondsOf(values.count, values.unit) }),
    ...(isInterval && {
      window_start: values.windowed ? values.start : null,
      window_end: values.windowed ? values.end : null,
      window_days: values.windowed ? values.days.map(Number).sort() : [],
      timezone: values.timezone,
    }),
    history_limit: Number(values.history_limit),
  };
}

/** Describes the error of an interval; null: no error. */
export function intervalProblem(count: number | string, unit: IntervalUnit): string | null {
  if (count === '' || !Number.isInteger(Number(count))) return t('A whole number');
  return jobRules.interval_secs(secondsOf(count, unit)) === null ? null : t('At least one minute');
}

/** Describes the error of a time of day; null: no error. */
export function timeProblem(time: string): string | null {
  return /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(time) ? null : t('A time such as 03:00');
}

function secondsOf(count: number | string, unit: string): number {
  return Number(count) * (INTERVAL_UNITS.find(({ value }) => value === unit)?.seconds ?? 1);
}
