/**
 * The one place where values change between the product's types and what both databases store alike: booleans as 0/1,
 * JSON as text. Instants are epoch milliseconds in both and become RFC 3339 only in answers.
 */

/** A stored boolean. */
export type Flag = 0 | 1;

export const flag = (value: boolean): Flag => (value ? 1 : 0);
export const bool = (stored: number): boolean => stored !== 0;

/** Text of a JSON column. */
export const toJson = (value: unknown): string => JSON.stringify(value);

/**
 * Value of a JSON column. The shape was checked when it was written.
 * `__proto__` stays an ordinary key, as JSON.parse makes it.
 */
export const fromJson = <T>(stored: string): T => JSON.parse(stored) as T;

/** RFC 3339 in UTC with milliseconds and `Z`. */
export const instant = (epochMs: number): string => new Date(epochMs).toISOString();

/** Same, with null passed through. */
export const instantOrNull = (epochMs: number | null): string | null =>
  epochMs === null ? null : instant(epochMs);
