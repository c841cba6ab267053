/**
 * Bounds of texts in Unicode code points. Pages of the user area check them too, so this module has no schemas and such
 * pages can import it. The service checks a new account after its rate limits, so the schemas of the bodies do not
 * contain these bounds.
 */

/** RFC 5321, 4.5.3.1: 64 characters, an @ and 255 characters. */
export const MAX_EMAIL_CHARACTERS = 320;
/** The same as for the local part of an email address, because people also sign in with their email address. */
export const MAX_USERNAME_CHARACTERS = 64;
/** Between the 8 characters that NIST SP 800-63B (5.1.1.2) requires and the 15 of its fourth revision. */
export const MIN_PASSWORD_CHARACTERS = 12;
/**
 * Twice the 64 characters that a service must accept according to NIST SP 800-63B (5.1.1.2). There is a limit, because
 * anyone can send a password.
 */
export const MAX_PASSWORD_CHARACTERS = 128;
/**
 * Shortest username or local part of an email address that a password must not contain. Shorter ones occur by chance.
 */
export const MIN_IDENTIFIER_CHARACTERS = 3;

/** Enough for the full names of a browser and its operating system. Chosen, not measured. */
export const MAX_DEVICE_NAME_CHARACTERS = 128;
/** Longest search text of a list, enough for a title. Chosen, not measured. */
export const MAX_SEARCH_CHARACTERS = 100;
/** Longest kind of an action's target, which is a name from this code. */
export const MAX_TARGET_TYPE_CHARACTERS = 64;
