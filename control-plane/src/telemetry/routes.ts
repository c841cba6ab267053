import { Readable } from 'node:stream';
import type { Server } from '../platform/http/server.ts';
import type { Recordings } from '../recordings/index.ts';
import type { Telemetry } from './service.ts';

/** Registers the routes by which administrators read the telemetry of a session. */
export function registerTelemetryRoutes(
  server: Server,
  { reads, capture, bundle }: Telemetry,
  recordings: Pick<Recordings, 'freezeOnce'>,
): void {
  server.handle('admin.sessions.metrics', async ({ params, query }) => ({
    status: 200,
    body: await reads.metrics(params.id, query),
  }));

  server.handle('admin.sessions.trace', async ({ params, query }) => ({
    status: 200,
    body: await reads.trace(params.id, query),
  }));

  server.handle('admin.sessions.traceWindow', async ({ params, query }) => ({
    status: 200,
    body: await reads.trace(params.id, query),
  }));

  server.handle('admin.sessions.traceMetrics', async ({ params, query }) => ({
    status: 200,
    body: await reads.series(params.id, query),
  }));

  server.handle('admin.sessions.traceEvents', async ({ params, query }) => ({
    status: 200,
    body: await reads.events(params.id, query),
  }));

  server.handle('admin.sessions.annotate', async ({ caller, params, body }) => {
    const id = await reads.annotate(params.id, body);
    void recordings.freezeOnce(params.id, 'note', caller.userId);
    return { status: 201, body: { id } };
  });

  server.handle('admin.sessions.captureResult', async ({ params }) => ({
    status: 200,
    body: await capture(params.id, params.capture_id),
  }));

  server.handle('admin.sessions.diagnosticBundle', async ({ params, query }) => ({
    status: 200,
    raw: Readable.from(await bundle(params.id, query), { objectMode: false }),
    headers: {
      'content-disposition': `attachment; filename="session-${params.id}-bundle.json"`,
      'cache-control': 'no-store',
    },
  }));
}
