import type { AdminUser } from '@footlight/protocol/rest';
import { call } from '../../api/client.ts';
import type { Pick } from '../frame/lists/pick-dialog.tsx';

/** Number of results that fit on a laptop's screen; a longer search text reduces the results. */
const MATCHES = 20;

/** Accounts whose name or email contains the text, for a picker. */
export async function pickUsers(text: string, signal: AbortSignal): Promise<Pick[]> {
  const { items } = await call('users.list', { query: { q: text, limit: MATCHES }, signal });
  return items.map(({ id, username, email }) => ({ id, name: username, hint: email }));
}

/**
 * The account with the id. No operation reads a single account, so this sends a change without fields, which returns
 * the record.
 * @throws ApiFailure not_found
 */
export async function readAccount(id: string, signal: AbortSignal): Promise<AdminUser> {
  return (await call('users.update', { params: { id }, body: {}, signal })).user;
}

/** The name of the account with the id, for a filter. @throws ApiFailure not_found */
export const nameOfUser = async (id: string, signal: AbortSignal): Promise<string> =>
  (await readAccount(id, signal)).username;
