import type { Role } from '@footlight/protocol/rest';

/** What decides whether an account can run the instance. */
export interface Standing {
  role: Role;
  disabled: boolean;
}

const isEnabledAdmin = ({ role, disabled }: Standing): boolean => role === 'admin' && !disabled;

/**
 * Whether a change would leave the instance without an enabled administrator. Pure.
 * @param after null: the account is gone
 * @param otherAdmins enabled administrators besides this account (count)
 * Source: docs/accounts.md, "The last administrator".
 */
export function takesLastAdmin(before: Standing, after: Standing | null, otherAdmins: number): boolean {
  return isEnabledAdmin(before) && !(after !== null && isEnabledAdmin(after)) && otherAdmins === 0;
}
