import { ApiError } from '../platform/errors.ts';
import type { Server } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { countsOf, kindOf } from './store.ts';

/** Registers the preview of deletions for administrators. */
export function registerDeletionRoutes(server: Server, { database }: Pick<Platform, 'database'>): void {
  const { db } = database;
  server.handle('admin.deletions.read', async ({ params: { id } }) => {
    const kind = await kindOf(db, id);
    if (kind === null)
      throw new ApiError('not_found', { message: 'There is no such app, host, account or grant.' });
    return { status: 200, body: { kind, ...(await countsOf[kind](db, id)) } };
  });
}
