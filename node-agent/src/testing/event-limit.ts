/** How long tests wait for an event: only one that never comes reaches it, whatever else the machine does. */
export const EVENT_LIMIT_MS = 60_000;
