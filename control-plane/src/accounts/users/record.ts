import type { AdminUser } from '@footlight/protocol/rest';
import { instant, instantOrNull } from '../../platform/database/codec.ts';
import type { UsersTable } from '../../platform/database/tables/accounts.ts';
import { signInMethods } from '../sign-in/sign-in.ts';

/** An account with values from its devices and sessions. */
export interface UserRow
  extends Pick<
    UsersTable,
    | 'id'
    | 'email'
    | 'username'
    | 'password_hash'
    | 'role'
    | 'disabled_at'
    | 'max_concurrent_sessions'
    | 'created_at'
  > {
  /** Newest last_seen_at of the account's devices; null without devices. */
  last_seen_at: number | null;
  active_session_count: number;
  /** Persons of the provider that are linked to the account (count). */
  identity_count: number;
}

/** The account record for administrators. */
export function toAdminUser(row: UserRow): AdminUser {
  return {
    id: row.id,
    email: row.email,
    username: row.username,
    role: row.role,
    disabled: row.disabled_at !== null,
    max_concurrent_sessions: row.max_concurrent_sessions,
    created_at: instant(row.created_at),
    last_seen_at: instantOrNull(row.last_seen_at),
    sign_in_methods: signInMethods(row.password_hash, row.identity_count > 0),
    active_session_count: row.active_session_count,
  };
}
