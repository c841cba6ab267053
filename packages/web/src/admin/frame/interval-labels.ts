import { msg, plural, t } from '../../i18n/translate.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Units of an interval, largest first, in seconds. */
export const INTERVAL_UNITS = [
  { value: 'days', seconds: DAY, label: msg('days') },
  { value: 'hours', seconds: HOUR, label: msg('hours') },
  { value: 'minutes', seconds: MINUTE, label: msg('minutes') },
  { value: 'seconds', seconds: 1, label: msg('seconds') },
] as const;
export type IntervalUnit = (typeof INTERVAL_UNITS)[number]['value'];

/** The largest unit that divides a number of seconds. */
export function splitInterval(secs: number): { count: number; unit: IntervalUnit } {
  const unit = INTERVAL_UNITS.find(({ seconds }) => secs % seconds === 0) ?? INTERVAL_UNITS[3];
  return { count: secs / unit.seconds, unit: unit.value };
}

/** "Every day", "Every 90 minutes". @param secs 0: never */
export function everyLabel(secs: number): string {
  if (secs === 0) return t('Never');
  const { count, unit } = splitInterval(secs);
  switch (unit) {
    case 'days':
      return count === 1 ? t('Every day') : plural(count, 'Every {n} day', 'Every {n} days');
    case 'hours':
      return count === 1 ? t('Every hour') : plural(count, 'Every {n} hour', 'Every {n} hours');
    case 'minutes':
      return count === 1 ? t('Every minute') : plural(count, 'Every {n} minute', 'Every {n} minutes');
    case 'seconds':
      return count === 1 ? t('Every second') : plural(count, 'Every {n} second', 'Every {n} seconds');
  }
}
