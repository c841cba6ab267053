import { INVISIBLE } from '@footlight/protocol';
import { MAX_EMAIL_CHARACTERS, MAX_USERNAME_CHARACTERS } from '@footlight/protocol/bounds';
import { hasCodePoints } from '@footlight/protocol/rest';
import { foldUsername } from '../platform/database/index.ts';
import { invalid } from '../platform/errors.ts';
import { hasEmailForm, normaliseEmail } from './account-texts.ts';
import { passwordProblem } from './password/password-rule.ts';

/** Fields of a new account in their stored form. */
export interface NewAccount {
  email: string;
  username: string;
  password: string;
}

/**
 * Checks the fields of a new account in the order email, username, password.
 * @returns email trimmed and lowercased, username trimmed with single spaces, password unchanged
 * @throws ApiError validation_failed at the first fault; the message names the field and contains no value
 */
export function checkNewAccount(fields: NewAccount): NewAccount {
  const email = normaliseEmail(fields.email);
  if (!hasEmailForm(email)) {
    throw invalid(`email must contain @ and have at most ${MAX_EMAIL_CHARACTERS} characters`);
  }
  if (INVISIBLE.test(email)) {
    throw invalid('email must hold no control, format or line-separator characters');
  }
  if (INVISIBLE.test(fields.username)) {
    throw invalid('username must hold no control, format or line-separator characters');
  }
  const username = fields.username.trim().replace(/\s+/gu, ' ');
  if (!hasCodePoints(username, 1, MAX_USERNAME_CHARACTERS)) {
    throw invalid(`username must have 1 to ${MAX_USERNAME_CHARACTERS} characters`);
  }
  if (foldUsername(username).trim() === '') throw invalid('username must have a visible character');
  const breach = passwordProblem(fields.password, { username, email });
  if (breach !== null) throw invalid(breach);
  return { email, username, password: fields.password };
}
