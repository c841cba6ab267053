import type { Role } from '@footlight/protocol/rest';

/** Columns that decide whether an account can administrate. */
export interface Standing {
  role: Role;
  disabled: boolean;
}

/** Whether an account can administrate now. Pure. */
export const isEnabledAdmin = ({ role, disabled }: Standing): boolean => role === 'admin' && !disabled;

/**
 * Whether a change would leave the instance without an enabled administrator. Pure.
 * @param after null: the account is deleted
 * @param otherAdmins other enabled administrators (count). Source: docs/people.md, "The last administrator".
 */
export function takesLastAdmin(before: Standing, after: Standing | null, otherAdmins: number): boolean {
  return isEnabledAdmin(before) && !(after !== null && isEnabledAdmin(after)) && otherAdmins === 0;
}
