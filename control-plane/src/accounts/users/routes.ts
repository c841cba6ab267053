import type { Server } from '../../platform/http/server.ts';
import type { Users } from './service.ts';

/** Registers the administrators' routes for accounts. */
export function registerUserRoutes(server: Server, users: Users): void {
  server.handle('users.list', async ({ query }) => ({ status: 200, body: await users.list(query) }));

  server.handle('users.update', async ({ caller, params, body }) => ({
    status: 200,
    body: { user: await users.update(caller, params.id, body) },
  }));

  server.handle('users.delete', async ({ caller, params }) => {
    await users.remove(caller, params.id);
    return { status: 204 };
  });

  server.handle('users.entitlements', async ({ params }) => ({
    status: 200,
    body: { items: await users.entitlements(params.id) },
  }));
}
