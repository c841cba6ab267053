import type { Config } from '../platform/config/config.ts';
import type { Server } from '../platform/http/server.ts';
import { signalingUrl } from '../sessions/index.ts';
import type { CertificationService } from './service.ts';

/** Registers the routes of encoder certification. */
export function registerCertificationRoutes(
  server: Server,
  certification: CertificationService,
  config: Pick<Config, 'http'>,
): void {
  const { cells, runs } = certification;
  server.handle('certification.list', async ({ params, query }) => ({
    status: 200,
    body: { host_id: params.id, certifications: await certification.list(params.id, query) },
  }));
  server.handle('certification.startRun', async ({ params, body, caller }) => ({
    status: 201,
    body: await runs.start(params.id, body, caller.userId),
  }));
  server.handle('certification.readRun', async ({ params }) => ({
    status: 200,
    body: await runs.read(params.id, params.run_id),
  }));
  server.handle('certification.completeRun', async ({ params }) => ({
    status: 200,
    body: await runs.complete(params.id, params.run_id),
  }));
  server.handle('certification.startCell', async ({ params, body, caller, headers, overTls, raw }) => {
    const gone = new AbortController();
    const abort = () => gone.abort();
    raw.raw.socket.once('close', abort);
    try {
      const cell = await cells.start(params.id, body, caller.userId, gone.signal);
      const signaling_url = signalingUrl(headers, overTls, config.http.publicBaseUrl);
      return { status: 201, body: { ...cell, signaling_url } };
    } finally {
      raw.raw.socket.off('close', abort);
    }
  });
  server.handle('certification.finalizeCell', async ({ params }) => ({
    status: 200,
    body: await cells.finalize(params.id, params.session_id),
  }));
  server.handle('certification.concurrency', async ({ params }) => ({
    status: 200,
    body: { host_id: params.id, items: await certification.concurrency(params.id) },
  }));
  server.handle('certification.putConcurrency', async ({ params, body }) => ({
    status: 200,
    body: await certification.putConcurrency(params.id, body),
  }));
}
