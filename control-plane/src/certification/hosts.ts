/** Loads the host of a certification, and refuses an unknown or offline host. */
import type { Executor } from '../platform/database/index.ts';
import { ApiError } from '../platform/errors.ts';
import { type CertifiedHost, findHost } from './store.ts';

/** @throws ApiError 404 */
export async function requireHost(db: Executor, id: string): Promise<CertifiedHost> {
  const host = await findHost(db, id);
  if (host === undefined) throw new ApiError('not_found', { message: 'There is no such host.' });
  return host;
}

/** @throws ApiError 409 */
export function requireOnline({ node_name, status }: CertifiedHost): void {
  if (status !== 'online')
    throw new ApiError('conflict', { message: `${node_name} is ${status}, so nothing can be measured.` });
}
