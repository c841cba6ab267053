import type { Server } from '../platform/http/server.ts';
import type { ActivityLog } from './service.ts';

/** Registers the routes of the activity log. */
export function registerActivityRoutes(server: Server, activity: ActivityLog): void {
  server.handle('activity.list', async ({ query }) => ({ status: 200, body: await activity.list(query) }));
}
