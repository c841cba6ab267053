/** Forms of the texts of an account. Pure. */
import { MAX_EMAIL_CHARACTERS } from '@footlight/protocol/bounds';
import { hasCodePoints } from '@footlight/protocol/rest';

/**
 * Control, format and line-separator characters: they are invisible, or change how the text around them is drawn. Lone
 * surrogates are included: they are not characters, and a database may store a replacement character instead.
 */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** The stored form of an email. */
export function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Whether a text can be an email, apart from invisible characters. */
export const hasEmailForm = (email: string): boolean =>
  hasCodePoints(email, 1, MAX_EMAIL_CHARACTERS) && email.includes('@');

/** Whether an account can have this email. @param email trimmed and lowercased */
export const isEmail = (email: string): boolean => hasEmailForm(email) && !INVISIBLE.test(email);
