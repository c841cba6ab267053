/** How long tests wait for an event. It is long enough for a busy machine, so only a missing event reaches it. */
export const EVENT_LIMIT_MS = 60_000;
