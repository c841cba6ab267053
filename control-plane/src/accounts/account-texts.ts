/** Forms of the texts of an account. Pure. */
import { INVISIBLE } from '@footlight/protocol';
import { MAX_EMAIL_CHARACTERS } from '@footlight/protocol/bounds';
import { hasCodePoints } from '@footlight/protocol/rest';

/** The stored form of an email. */
export function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Whether a text can be an email, apart from invisible characters. */
export const hasEmailForm = (email: string): boolean =>
  hasCodePoints(email, 1, MAX_EMAIL_CHARACTERS) && email.includes('@');

/** Whether an account can have this email. @param email trimmed and lowercased */
export const isEmail = (email: string): boolean => hasEmailForm(email) && !INVISIBLE.test(email);
