const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** "14:03:05", in the browser's time zone. @param ms since 1970; a host may send any number */
export const timeLabel = (ms: number): string => labelOf(time, ms);

/** The time with its date. @param ms since 1970 */
export const exactTimeLabel = (ms: number): string => labelOf(exact, ms);

/** Formats a time. A number outside the range of dates would throw and crash the page. */
const labelOf = (format: Intl.DateTimeFormat, ms: number): string =>
  Number.isNaN(new Date(ms).getTime()) ? 'no time' : format.format(ms);
