import { instant } from '../platform/database/index.ts';
import type { Server } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import type { Storage } from './collection.ts';
import { sumOwnHomes } from './store.ts';

/** Registers the routes of homes for people, for administrators, and for the hosts that delete homes. */
export function registerStorageRoutes(
  server: Server,
  storage: Storage,
  { database }: Pick<Platform, 'database'>,
): void {
  server.handle('storage.readOwn', async ({ caller }) => {
    const rows = await sumOwnHomes(database.db, caller.userId);
    return {
      status: 200,
      body: { items: rows.map((row) => ({ ...row, last_used_at: instant(row.last_used_at) })) },
    };
  });

  server.handle('admin.storage.homes.list', async ({ query }) => ({
    status: 200,
    body: await storage.list(query),
  }));

  server.handle('admin.storage.homes.delete', async ({ caller, params }) => {
    await storage.tombstone(params.id, caller.userId);
    return { status: 204 };
  });

  server.handle('agent.storage.gcPending', async ({ node, query }) => ({
    status: 200,
    body: await storage.pending(node.hostId, query.cursor),
  }));

  server.handle('agent.storage.gcConfirm', async ({ node, body }) => ({
    status: 200,
    body: await storage.confirm(node.hostId, body.home_ids),
  }));
}
