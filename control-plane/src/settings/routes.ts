import type { Server } from '../platform/http/server.ts';
import { CONFIG_CATALOG } from './config-catalog.ts';
import type { Secrets } from './secrets.ts';
import type { Settings } from './service.ts';

/** Registers the routes of the instance settings, the table of host settings, and secrets. */
export function registerSettingsRoutes(
  server: Server,
  { settings, secrets }: { settings: Settings; secrets: Secrets },
): void {
  server.handle('settings.read', async () => ({ status: 200, body: { settings: await settings.read() } }));
  server.handle('settings.update', async ({ caller, body }) => ({
    status: 200,
    body: { settings: await settings.update(caller, body) },
  }));
  server.handle('configCatalog.read', async () => ({ status: 200, body: { knobs: [...CONFIG_CATALOG] } }));
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
