const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** "14:03:05", in the zone of this browser. @param ms since 1970 */
export const timeWords = (ms: number): string => time.format(ms);

/** The same with its day. @param ms since 1970 */
export const exactTimeWords = (ms: number): string => exact.format(ms);
