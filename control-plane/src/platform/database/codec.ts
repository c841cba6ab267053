/**
 * The only place that converts between product types and stored values: booleans are stored as 0/1, and JSON as text.
 * Times are stored as epoch milliseconds in both databases, and API answers contain them in RFC 3339.
 */

/** A stored boolean. */
export type Flag = 0 | 1;

export const flag = (value: boolean): Flag => (value ? 1 : 0);
export const bool = (stored: number): boolean => stored !== 0;

/** Text of a JSON column. */
export const toJson = (value: unknown): string => JSON.stringify(value);

/**
 * Value of a JSON column. Its shape was validated when it was written. `__proto__` stays an ordinary key, as in
 * JSON.parse.
 */
export const fromJson = <T>(stored: string): T => JSON.parse(stored) as T;

/** RFC 3339 in UTC with milliseconds and `Z`. */
export const instant = (epochMs: number): string => new Date(epochMs).toISOString();

/** RFC 3339 of a time; null stays null. */
export const instantOrNull = (epochMs: number | null): string | null =>
  epochMs === null ? null : instant(epochMs);
