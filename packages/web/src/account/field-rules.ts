/** Shortest password that the server accepts, in code points. */
export const PASSWORD_MIN = 12;
const PASSWORD_MAX = 128;
const USERNAME_MAX = 64;
const EMAIL_MAX = 320;

/** Fault of an email address, or null. The server decides; this check only saves a round trip. */
export function emailProblem(email: string): string | null {
  const length = [...email.trim()].length;
  if (length === 0) return 'Enter an email address';
  if (!email.includes('@') || length > EMAIL_MAX) return 'This does not look like an email address';
  return null;
}

/** Fault of a user name, or null. */
export function usernameProblem(username: string): string | null {
  const length = [...username.trim()].length;
  if (length === 0) return 'Choose a name';
  return length > USERNAME_MAX ? `At most ${USERNAME_MAX} characters` : null;
}

/**
 * Fault of a new password, or null. The server also refuses common ones, whose list is too large for the page.
 * @param owner the account's name and address, which a password must not contain
 */
export function passwordProblem(password: string, owner: { username: string; email: string }): string | null {
  const length = [...password].length;
  if (length < PASSWORD_MIN) return `At least ${PASSWORD_MIN} characters`;
  if (length > PASSWORD_MAX) return `At most ${PASSWORD_MAX} characters`;
  const lower = password.toLowerCase();
  const parts = [owner.username.trim(), owner.email.trim().split('@')[0] ?? ''];
  const contained = parts.some((part) => [...part].length >= 3 && lower.includes(part.toLowerCase()));
  return contained ? 'It must not contain your name or email address' : null;
}
