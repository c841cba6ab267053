/**
 * Guests of a session: people without an account, to whom the owner gave a link. Without zod, so that the web app's
 * pages do not load a parser.
 */

/**
 * What a guest may do. watch: see and hear. gamepad: also use one gamepad of the session. full: also use keyboard,
 * pointer, touch and gamepads.
 */
export const GUEST_ROLES = ['watch', 'gamepad', 'full'] as const;
export type GuestRole = (typeof GUEST_ROLES)[number];

/**
 * Largest number of links of a session that are neither ended nor expired, so also its largest number of guests. Each
 * guest costs the host the bitrate of the stream again. Chosen, not measured.
 */
export const MAX_GUESTS = 4;
/** Shortest and longest time for which a link is valid. */
export const MIN_GUEST_MINUTES = 5;
export const MAX_GUEST_MINUTES = 24 * 60;
/** Longest name that a guest may choose, in UTF-8 bytes. */
export const MAX_GUEST_NAME_BYTES = 64;
/**
 * Time without the owner's connection after which the guests are disconnected. It is longer than the half minute in
 * which a page reconnects after a cut (docs/media.md, "A network that is cut").
 */
export const OWNER_AWAY_MS = 60_000;
