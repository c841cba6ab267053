import type { Server } from '../platform/http/server.ts';
import type { Artwork } from './service.ts';

/** Registers the routes of artwork. */
export function registerArtworkRoutes(server: Server, artwork: Artwork, maxBytes: number): void {
  const early = () => artwork.ensureUsable();
  server.handle(
    'artwork.read',
    async ({ params, query, headers }) => {
      const served = await artwork.serving.serve(params.asset, query.w, headers['if-none-match']);
      return served.bytes === null
        ? { status: 304, headers: served.headers }
        : { status: 200, raw: served.bytes, headers: served.headers };
    },
    { early },
  );
  server.handle(
    'artwork.envelope',
    async ({ params }) => ({ status: 200, body: await artwork.read(params.id) }),
    { early },
  );
  server.handle(
    'artwork.set',
    async ({ caller, params, body }) => ({ status: 200, body: await artwork.set(caller, params.id, body) }),
    { early },
  );
  server.handle(
    'artwork.clear',
    async ({ caller, params }) => {
      await artwork.clear(caller, params.id);
      return { status: 204 };
    },
    { early },
  );
  server.handle(
    'artwork.search',
    async ({ params, body }) => ({ status: 200, body: await artwork.search(params.id, body.query) }),
    { early },
  );
  server.handle(
    'artwork.upload',
    async ({ caller, params, query, body }) => ({
      status: 200,
      body: await artwork.upload(caller, params.id, query.crop, body),
    }),
    { early, maxUploadBytes: maxBytes },
  );
  server.handle(
    'artwork.reresolve',
    async ({ caller, body }) => ({ status: 200, body: await artwork.reresolve(caller, body.force) }),
    { early },
  );
}
