import type { Server } from '../platform/http/server.ts';
import type { Images } from './service.ts';

/** Registers the routes of the image catalog. */
export function registerImagesRoutes(server: Server, images: Images): void {
  server.handle('images.list', async () => ({ status: 200, body: await images.read() }));
  server.handle('images.sync', async ({ caller }) => ({ status: 200, body: await images.sync(caller) }));
  server.handle('images.install', async ({ caller, params, body }) => ({
    status: 201,
    body: { image: await images.install(caller, params.id, body.lazy ?? false) },
  }));
  server.handle('images.uninstall', async ({ caller, params }) => {
    await images.uninstall(caller, params.id);
    return { status: 204 };
  });
  server.handle('images.pin', async ({ caller, params }) => {
    await images.pin(caller, params.id, true);
    return { status: 204 };
  });
  server.handle('images.unpin', async ({ caller, params }) => {
    await images.pin(caller, params.id, false);
    return { status: 204 };
  });
  server.handle('images.update', async ({ caller, params }) => ({
    status: 200,
    body: await images.update(caller, params.id),
  }));
}
