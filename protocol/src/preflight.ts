/**
 * The connection test of a host: which paths work between the administrator's browser and the host. Without zod, so
 * that the web app's pages do not load a parser. Source: docs/address.md, "Test the connection of a host".
 */

/**
 * Largest session description of a test, in characters. One data channel and the candidates of MAX_CANDIDATES need
 * about 12 KiB.
 */
export const MAX_PREFLIGHT_SDP = 16 * 1024;
/** Largest number of messages that the host echoes in a test, and the largest size of one, in bytes. */
export const MAX_PREFLIGHT_ECHOES = 16;
export const MAX_PREFLIGHT_ECHO_BYTES = 64;
/** Largest number of tests that a host runs at the same time: each is a process. */
export const MAX_HOST_PREFLIGHTS = 4;
/** Time after which the host ends a test in any case. */
export const PREFLIGHT_LIMIT_MS = 20_000;
