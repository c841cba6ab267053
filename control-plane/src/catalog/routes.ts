import type { Server } from '../platform/http/server.ts';
import type { Catalog } from './service.ts';

/** Registers the routes of apps, entitlements, runtime presets, favourites and highlights. */
export function registerCatalogRoutes(server: Server, catalog: Catalog): void {
  server.handle(
    'apps.list',
    async ({ caller, query, begun }) => ({
      status: 200,
      kept: await catalog.listBody(caller.userId, query, begun),
    }),
    { begin: catalog.beginList, compress: false },
  );
  server.handle('apps.read', async ({ caller, params }) => ({
    status: 200,
    body: { app: await catalog.read(caller, params.id) },
  }));
  server.handle('admin.apps.list', async ({ caller, query }) => ({
    status: 200,
    body: await catalog.listAll(caller.userId, query),
  }));
  server.handle('apps.create', async ({ caller, body }) => ({
    status: 201,
    body: { app: await catalog.create(caller, body) },
  }));
  server.handle('apps.update', async ({ caller, params, body }) => ({
    status: 200,
    body: { app: await catalog.update(caller, params.id, body) },
  }));
  server.handle('apps.delete', async ({ caller, params, query }) => {
    await catalog.remove(caller, params.id, query.delete_derived);
    return { status: 204 };
  });
  server.handle('entitlements.list', async ({ params }) => ({
    status: 200,
    body: { items: await catalog.entitlements.list(params.id) },
  }));
  server.handle('entitlements.grant', async ({ caller, params, body }) => ({
    status: 201,
    body: { entitlement: await catalog.entitlements.grant(caller, params.id, body) },
  }));
  server.handle('entitlements.revoke', async ({ caller, params }) => {
    await catalog.entitlements.revoke(caller, params.id, params.entitlement_id);
    return { status: 204 };
  });
  server.handle('libraryProviders.setEntitlementMode', async ({ caller, params, body }) => ({
    status: 200,
    body: { entitlement_mode: await catalog.entitlements.setMode(caller, params.provider, body.mode) },
  }));
  server.handle('runtimePresets.list', async () => ({
    status: 200,
    body: { items: await catalog.presets.list() },
  }));
  server.handle('runtimePresets.create', async ({ caller, body }) => ({
    status: 201,
    body: { runtime_preset: await catalog.presets.create(caller, body) },
  }));
  server.handle('runtimePresets.read', async ({ params }) => ({
    status: 200,
    body: { runtime_preset: await catalog.presets.read(params.id) },
  }));
  server.handle('runtimePresets.update', async ({ caller, params, body }) => ({
    status: 200,
    body: { runtime_preset: await catalog.presets.update(caller, params.id, body) },
  }));
  server.handle('runtimePresets.delete', async ({ caller, params }) => {
    await catalog.presets.remove(caller, params.id);
    return { status: 204 };
  });
  server.handle('favourites.add', async ({ caller, params }) => {
    await catalog.favourites.add(caller, params.app_id);
    return { status: 204 };
  });
  server.handle('favourites.remove', async ({ caller, params }) => {
    await catalog.favourites.remove(caller, params.app_id);
    return { status: 204 };
  });
  server.handle('highlights.list', async ({ caller, query }) => ({
    status: 200,
    body: { items: await catalog.highlights.list(caller.userId, query.window_days) },
  }));
}
