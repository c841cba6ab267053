import {
  MAX_EMAIL_CHARACTERS,
  MAX_PASSWORD_CHARACTERS,
  MAX_USERNAME_CHARACTERS,
  MIN_IDENTIFIER_CHARACTERS,
  MIN_PASSWORD_CHARACTERS,
} from '@footlight/protocol/bounds';
import { ApiFailure } from '../api/client.ts';
import { t } from '../i18n/translate.ts';

/** Text below the field of a new password. */
export const passwordHint = () =>
  t('At least {min} characters. A few plain words are fine.', { min: MIN_PASSWORD_CHARACTERS });

/** Describes the error of an email address; null: no error. The server decides; this check only saves a request. */
export function emailProblem(email: string): string | null {
  const length = [...email.trim()].length;
  if (length === 0) return t('Enter an email address');
  if (!email.includes('@') || length > MAX_EMAIL_CHARACTERS)
    return t('This does not look like an email address');
  return null;
}

/** Describes the error of a user name; null: no error. */
export function usernameProblem(username: string): string | null {
  const length = [...username.trim()].length;
  if (length === 0) return t('Choose a name');
  return length > MAX_USERNAME_CHARACTERS
    ? t('At most {max} characters', { max: MAX_USERNAME_CHARACTERS })
    : null;
}

/**
 * Describes the error of a new password; null: no error. The server also refuses common passwords, whose list is too
 * large for the page.
 * @param owner the account's name and address, which a password must not contain
 */
export function passwordProblem(password: string, owner: { username: string; email: string }): string | null {
  const length = [...password].length;
  if (length < MIN_PASSWORD_CHARACTERS)
    return t('At least {min} characters', { min: MIN_PASSWORD_CHARACTERS });
  if (length > MAX_PASSWORD_CHARACTERS)
    return t('At most {max} characters', { max: MAX_PASSWORD_CHARACTERS });
  const lower = password.toLowerCase();
  const parts = [owner.username.trim(), owner.email.trim().split('@')[0] ?? ''];
  const contained = parts.some(
    (part) => [...part].length >= MIN_IDENTIFIER_CHARACTERS && lower.includes(part.toLowerCase()),
  );
  return contained ? t('It must not contain your name or email address') : null;
}

/**
 * Why the server refused a new password that the page accepted; the server has a longer list of common passwords.
 * @param error a refusal; null: no refusal
 * @returns text for the field; null: the refusal is not about the password
 */
export function passwordRefusal(error: unknown): string | null {
  const isMeant =
    error instanceof ApiFailure && error.status === 400 && error.message.startsWith('password ');
  return isMeant ? t('Too common, or it contains your name or email address. Choose another.') : null;
}
