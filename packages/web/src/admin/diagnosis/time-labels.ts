const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** "14:03:05", in the zone of this browser. @param ms since 1970; hosts say any number */
export const timeLabel = (ms: number): string => labelOf(time, ms);

/** The same with its day. @param ms since 1970 */
export const exactTimeLabel = (ms: number): string => labelOf(exact, ms);

/** A number that is no time would be an exception, and take the page away. */
const labelOf = (format: Intl.DateTimeFormat, ms: number): string =>
  Number.isNaN(new Date(ms).getTime()) ? 'no time' : format.format(ms);
