import type { Server } from '../platform/http/server.ts';
import type { Discovery } from './service.ts';

/** Registers the routes of library discovery, for administrators and hosts. */
export function registerDiscoveryRoutes(server: Server, discovery: Discovery): void {
  server.handle('library.status', async () => ({ status: 200, body: await discovery.status() }));
  server.handle('library.scan', async ({ caller, body }) => ({
    status: 200,
    body: await discovery.force(caller, body),
  }));
  server.handle('libraryUnpublished.list', async ({ params }) => ({
    status: 200,
    body: { items: await discovery.rules.unpublished(params.id) },
  }));
  server.handle('libraryRules.list', async ({ params }) => ({
    status: 200,
    body: { items: await discovery.rules.list(params.id) },
  }));
  server.handle('libraryRules.set', async ({ caller, params, body }) => ({
    status: 200,
    body: await discovery.rules.set(caller, params.id, params.external_id, body),
  }));
  server.handle('libraryRules.delete', async ({ caller, params, query }) => {
    await discovery.rules.remove(caller, params.id, params.external_id, query.external_source ?? 'steam');
    return { status: 204 };
  });
  server.handle('agent.library.scanPending', async ({ node }) => ({
    status: 200,
    body: { scans: await discovery.claim(node) },
  }));
  server.handle('agent.library.scanReport', async ({ node, body }) => {
    await discovery.report(node, body);
    return { status: 200, body: { accepted: true as const } };
  });
}
