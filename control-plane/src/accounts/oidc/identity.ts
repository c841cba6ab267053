/** Decisions about a person whom the provider has confirmed. Pure. */
import { INVISIBLE } from '@footlight/protocol';
import { MAX_USERNAME_CHARACTERS } from '@footlight/protocol/bounds';
import type { ErrorCode, Role } from '@footlight/protocol/rest';
import { foldUsername } from '../../platform/database/query/username-fold.ts';
import { isEmail, normaliseEmail } from '../account-texts.ts';
import { type Standing, takesLastAdmin } from '../users/last-admin.ts';

/** Claims of a validated ID token and of the user info. */
export type Claims = { readonly iss: string; readonly sub: string } & Readonly<Record<string, unknown>>;

/** A person of the provider. */
export interface Identity {
  issuer: string;
  /** Unique at the issuer, and never used again for another person. */
  subject: string;
  /** In the stored form; null: the provider gave no valid email. */
  email: string | null;
  isEmailVerified: boolean;
  /** Name that a new account gets if it is free. */
  username: string;
  groups: readonly string[];
}

/**
 * Reads the claims. Only the boolean true verifies an email: another value could be text from a profile field.
 * Source: OpenID Connect Core 1.0, section 5.1.
 */
export function readIdentity(claims: Claims, groupsClaim: string): Identity {
  const email = typeof claims.email === 'string' ? normaliseEmail(claims.email) : '';
  const isValid = isEmail(email);
  const name = [claims.preferred_username, isValid ? email : undefined].find(
    (text) => typeof text === 'string' && text !== '',
  );
  const groups = claims[groupsClaim];
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: isValid ? email : null,
    isEmailVerified: isValid && claims.email_verified === true,
    username: usernameOf(String(name ?? '')),
    groups: (Array.isArray(groups) ? groups : [groups]).filter((group) => typeof group === 'string'),
  };
}

/** Characters that are left for a suffix, after the cut of a name. */
const SUFFIX_CHARACTERS = 12;
/** Name of a person without a usable one. */
const NAMELESS = 'user';

/** Makes a name of the provider fit the rules of usernames. Of an email only the part before the @ is used. */
function usernameOf(name: string): string {
  const local = name.split('@', 1)[0] ?? '';
  const clean = local.replace(/\s+/gu, ' ').replace(new RegExp(INVISIBLE, 'gu'), '').trim();
  const cut = Array.from(clean)
    .slice(0, MAX_USERNAME_CHARACTERS - SUFFIX_CHARACTERS)
    .join('')
    .trim();
  return foldUsername(cut).trim() === '' ? NAMELESS : cut;
}

/** Numbered names that are tried before a random one. */
const NUMBERED_NAMES = 20;

/** Usernames for a new account, in the order in which they are tried. */
export function usernameChoices(username: string): string[] {
  const numbered = Array.from({ length: NUMBERED_NAMES - 1 }, (_, index) => `${username}-${index + 2}`);
  return [username, ...numbered];
}

/** Facts about the account with which a person signs in. */
export interface AccountFacts {
  disabled: boolean;
  /** The account belongs to the service itself. */
  internal: boolean;
}

export interface SignInFacts {
  identity: Pick<Identity, 'email' | 'isEmailVerified'>;
  /** The account that is linked to the person; null: none is. */
  linked: AccountFacts | null;
  /** The account with the person's email; null: there is none, or the person is linked. */
  byEmail: (AccountFacts & { isLinkedToAnother: boolean }) | null;
  mayRegister: boolean;
}

type SignInStep = { kind: 'sign_in' | 'link' | 'register' } | { kind: 'refuse'; code: ErrorCode };

/**
 * Which account a person gets. Only the subject identifies a linked person, because people can change their email. An
 * email that the provider has not verified never opens an existing account.
 * Source: docs/sign-on.md, "Which account a person gets".
 */
export function decideSignIn({ identity, linked, byEmail, mayRegister }: SignInFacts): SignInStep {
  if (linked !== null)
    return linked.disabled ? { kind: 'refuse', code: 'account_disabled' } : { kind: 'sign_in' };
  if (identity.email === null) return { kind: 'refuse', code: 'sign_in_not_confirmed' };
  if (byEmail === null)
    return mayRegister ? { kind: 'register' } : { kind: 'refuse', code: 'registration_closed' };
  if (!identity.isEmailVerified || byEmail.internal || byEmail.isLinkedToAnother)
    return { kind: 'refuse', code: 'account_not_linked' };
  return byEmail.disabled ? { kind: 'refuse', code: 'account_disabled' } : { kind: 'link' };
}

/** The role that the provider's groups give. null: Footlight manages the roles. */
export function roleOf(groups: readonly string[], adminGroup: string | null): Role | null {
  if (adminGroup === null) return null;
  return groups.includes(adminGroup) ? 'admin' : 'user';
}

/**
 * Whether a sign-in changes the role of an existing account. The last enabled administrator keeps the role, because
 * nobody could manage the instance any more.
 * @param wanted role of the groups; null: Footlight manages the roles
 */
export function decideRole(
  before: Standing,
  wanted: Role | null,
  otherAdmins: number,
): { kind: 'keep' | 'keep_last_admin' } | { kind: 'change'; role: Role } {
  if (wanted === null || wanted === before.role) return { kind: 'keep' };
  const after = { ...before, role: wanted };
  return takesLastAdmin(before, after, otherAdmins)
    ? { kind: 'keep_last_admin' }
    : { kind: 'change', role: wanted };
}
