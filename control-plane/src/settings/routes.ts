import type { Server } from '../platform/http/server.ts';
import type { Secrets } from './secrets.ts';

/** Secrets over HTTP. */
export function registerSettingsRoutes(server: Server, { secrets }: { secrets: Secrets }): void {
  server.handle('secrets.list', async () => ({ status: 200, body: await secrets.list() }));
  server.handle('secrets.set', async ({ caller, params, body }) => ({
    status: 200,
    body: await secrets.set(caller, params.name, body.value),
  }));
  server.handle('secrets.clear', async ({ caller, params }) => {
    await secrets.clear(caller, params.name);
    return { status: 204 };
  });
}
