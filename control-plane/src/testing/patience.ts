/** How long a test waits for an event. On a busy machine the event is late, not missing. */
export const PATIENTLY = { timeout: 60_000 };
