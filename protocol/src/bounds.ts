/**
 * Bounds of texts that pages of the user area check too, in Unicode code points. Without schemas, so that these pages
 * can import it. The service checks a new account after its rate limits, therefore not by the schemas of the bodies.
 */

/** RFC 5321, 4.5.3.1: 64 characters, an @ and 255 characters. */
export const MAX_EMAIL_CHARACTERS = 320;
/** As the local part of an email, which people also sign in with. */
export const MAX_USERNAME_CHARACTERS = 64;
/** Between the 8 that NIST SP 800-63B (5.1.1.2) requires and the 15 of its fourth revision. */
export const MIN_PASSWORD_CHARACTERS = 12;
/** Twice the 64 that NIST SP 800-63B (5.1.1.2) asks for; bounded, because anyone can send one. */
export const MAX_PASSWORD_CHARACTERS = 128;
/** Shortest username or local part of an email that a password must not contain; shorter ones appear by chance. */
export const MIN_IDENTIFIER_CHARACTERS = 3;

/** Full names of a browser and its operating system. Chosen, not measured. */
export const MAX_DEVICE_NAME_CHARACTERS = 128;
/** Search text of a list: room for a title. Chosen, not measured. */
export const MAX_SEARCH_CHARACTERS = 100;
/** Kind of an action's target: a name from this code. */
export const MAX_TARGET_TYPE_CHARACTERS = 64;
