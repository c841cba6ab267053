import type { AdminUser } from '@footlight/protocol/rest';
import { call } from '../../api/client.ts';

/** Accounts whose name or email holds the text, at most `limit`. */
export async function searchUsers(text: string, limit: number, signal: AbortSignal): Promise<AdminUser[]> {
  return (await call('users.list', { query: { q: text, limit }, signal })).items;
}

/**
 * The account with the id. No operation reads a single account, but a change of nothing answers with the record.
 * @throws ApiFailure not_found
 */
export async function readAccount(id: string, signal: AbortSignal): Promise<AdminUser> {
  return (await call('users.update', { params: { id }, body: {}, signal })).user;
}
