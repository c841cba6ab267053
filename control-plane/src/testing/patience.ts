/** How long a test waits for an event. The limit is long, because on a busy machine an event may be late. */
export const PATIENTLY = { timeout: 60_000 };
