/**
 * How long tests wait for an event. The time is long enough for a busy machine, so a test reaches the limit only if the
 * event never occurs.
 */
export const EVENT_LIMIT_MS = 60_000;
