import {
  MAX_PASSWORD_CHARACTERS,
  MIN_IDENTIFIER_CHARACTERS,
  MIN_PASSWORD_CHARACTERS,
} from '@footlight/protocol/bounds';
import { hasCodePoints } from '@footlight/protocol/rest';
import { dictionary } from '@zxcvbn-ts/language-common';

/** The set contains only entries that pass the length rule: about three hundred of fifty thousand. */
const COMMON: ReadonlySet<string> = new Set([
  ...dictionary['passwords-common'].map(fold).filter((entry) => entry.length >= MIN_PASSWORD_CHARACTERS),
  'changeme1234',
  'whatever123456',
]);

/**
 * The reason why a password is refused; null when it is accepted. Only the first fault is reported, in this order:
 * length, common password, identity. Lengths are Unicode code points; nothing is trimmed; there are no composition
 * rules.
 * @param account trimmed username, and the email, whose part before `@` is checked
 */
export function passwordProblem(
  password: string,
  account: { username: string; email: string },
): string | null {
  return strengthProblem(password) ?? identityProblem(password, account);
}

/** The checks that need no account: length and common passwords. */
function strengthProblem(password: string): string | null {
  if (!hasCodePoints(password, MIN_PASSWORD_CHARACTERS, MAX_PASSWORD_CHARACTERS)) {
    return `password must have ${MIN_PASSWORD_CHARACTERS} to ${MAX_PASSWORD_CHARACTERS} characters`;
  }
  if (COMMON.has(fold(password))) return 'password is one of the most common ones';
  return null;
}

/** The check against the account: the password must not contain the username or the local part of the email. */
function identityProblem(password: string, account: { username: string; email: string }): string | null {
  const folded = fold(password);
  const localPart = account.email.slice(0, Math.max(0, account.email.indexOf('@')));
  for (const identifier of [account.username, localPart]) {
    if (!hasCodePoints(identifier, MIN_IDENTIFIER_CHARACTERS, Number.POSITIVE_INFINITY)) continue;
    if (folded.includes(fold(identifier))) return 'password must not contain your username or email';
  }
  return null;
}

function fold(text: string): string {
  return text.toLowerCase();
}
