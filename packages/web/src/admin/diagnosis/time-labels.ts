import { localeTag, t } from '../../i18n/translate.ts';

/** Formats of the current language, made at the first use. */
let formats: ReturnType<typeof makeFormats> | null = null;

/** "14:03:05", in the browser's time zone. @param ms since 1970; a host may send any number */
export const timeLabel = (ms: number): string => labelOf('time', ms);

/** The time with its date. @param ms since 1970 */
export const exactTimeLabel = (ms: number): string => labelOf('exact', ms);

/** A label of a time axis; it has seconds only if the labels differ in them. @param stepMs distance between two labels */
export const axisTimeLabel = (ms: number, stepMs: number): string =>
  labelOf(stepMs < 60_000 ? 'time' : 'minute', ms);

/** Formats a time. A number outside the range of dates would throw and crash the page. */
function labelOf(format: 'time' | 'minute' | 'exact', ms: number): string {
  if (Number.isNaN(new Date(ms).getTime())) return t('no time');
  if (formats?.tag !== localeTag()) formats = makeFormats();
  return formats[format].format(ms);
}

function makeFormats() {
  const tag = localeTag();
  return {
    tag,
    time: new Intl.DateTimeFormat(tag, { timeStyle: 'medium' }),
    minute: new Intl.DateTimeFormat(tag, { timeStyle: 'short' }),
    exact: new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'medium' }),
  };
}
