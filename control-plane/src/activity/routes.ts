import type { Server } from '../platform/http/server.ts';
import type { ActivityLog } from './service.ts';

/** The activity log over HTTP. */
export function registerActivityRoutes(server: Server, activity: ActivityLog): void {
  server.handle('activity.list', async ({ query }) => ({ status: 200, body: await activity.list(query) }));
}
