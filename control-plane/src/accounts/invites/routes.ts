import type { Server } from '../../platform/http/server.ts';
import type { Invites } from './service.ts';

/** Registers the routes of invites. */
export function registerInviteRoutes(server: Server, invites: Invites): void {
  server.handle('invites.list', async ({ query }) => ({
    status: 200,
    body: { invites: await invites.list(query.state) },
  }));

  server.handle('invites.create', async ({ caller, body }) => ({
    status: 201,
    body: { invite: await invites.mint(caller, body) },
  }));

  server.handle('invites.revoke', async ({ caller, params }) => {
    await invites.revoke(caller, params.id);
    return { status: 204 };
  });
}
