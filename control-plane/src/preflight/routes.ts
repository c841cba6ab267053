import type { Server } from '../platform/http/server.ts';
import type { Preflights } from './service.ts';

export function registerPreflightRoutes(server: Server, preflights: Preflights): void {
  server.handle('preflight.start', async ({ params, caller }) => ({
    status: 200,
    body: await preflights.start(params.id, caller.userId),
  }));
  server.handle('preflight.offer', async ({ params, body }) => ({
    status: 200,
    body: await preflights.offer(params.id, body),
  }));
}
