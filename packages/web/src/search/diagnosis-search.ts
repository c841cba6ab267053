/** Lengths of the window that the service reads, in minutes. */
export const WINDOW_MINUTES = [2, 5, 10] as const;
export type WindowMinutes = (typeof WINDOW_MINUTES)[number];

/** The last instant of a date, ms since 1970 (ECMA-262, "Time Values and Time Range"). */
const LAST_MS = 8.64e15;

/** State of a session's diagnosis page, stored in the URL. */
export interface DiagnosisSearch {
  /** The chosen moment, in ms since 1970; missing: the newest moment, or the end of the session. */
  at?: number;
  /** Length of the window; missing: five minutes, or less for a shorter session. */
  minutes?: WindowMinutes;
}

/** Parses the URL's search part; unknown keys are dropped, and missing values are undefined, as in parseListSearch. */
export function parseDiagnosisSearch(search: Record<string, unknown>): DiagnosisSearch {
  const { at } = search;
  return {
    at: typeof at === 'number' && at > 0 && at <= LAST_MS ? Math.round(at) : undefined,
    minutes: WINDOW_MINUTES.find((each) => each === search.minutes),
  } as DiagnosisSearch;
}
