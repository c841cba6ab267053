import { instant } from '../platform/database/index.ts';
import type { Server } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { sumOwnHomes } from './store.ts';

/** Registers the routes of a person's files. */
export function registerStorageRoutes(server: Server, { database }: Pick<Platform, 'database'>): void {
  server.handle('storage.readOwn', async ({ caller }) => {
    const rows = await sumOwnHomes(database.db, caller.userId);
    return {
      status: 200,
      body: { items: rows.map((row) => ({ ...row, last_used_at: instant(row.last_used_at) })) },
    };
  });
}
