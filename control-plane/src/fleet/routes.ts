import { MAX_AGENT_FRAME_BYTES } from '@footlight/protocol/agent';
import type { FastifyRequest } from 'fastify';
import type { Server } from '../platform/http/server.ts';
import type { Admission } from './admission.ts';
import type { FleetService } from './service.ts';

/** Hosts and enrollment tokens for administrators, and the socket of the agents. */
export function registerFleetRoutes(server: Server, fleet: FleetService): void {
  server.handle('hosts.list', async ({ query }) => ({
    status: 200,
    body: await fleet.hosts.list(query.limit, query.cursor),
  }));
  server.handle('hosts.read', async ({ params }) => ({
    status: 200,
    body: await fleet.hosts.read(params.id),
  }));
  server.handle('hosts.gpus', async ({ params }) => ({
    status: 200,
    body: { items: await fleet.hosts.gpus(params.id) },
  }));
  server.handle('hosts.drain', async ({ params, body, caller }) => ({
    status: 200,
    body: await fleet.hosts.drain(params.id, body.force, caller.userId),
  }));
  server.handle('hosts.uncordon', async ({ params, caller }) => ({
    status: 200,
    body: await fleet.hosts.uncordon(params.id, caller.userId),
  }));
  server.handle('hosts.delete', async ({ params, caller }) => {
    await fleet.hosts.delete(params.id, caller.userId);
    return { status: 204 };
  });

  server.handle('enrollmentTokens.create', async ({ body, caller }) => ({
    status: 201,
    body: await fleet.tokens.create(body, caller.userId),
    headers: { 'cache-control': 'no-store' },
  }));
  server.handle('enrollmentTokens.list', async () => ({
    status: 200,
    body: { items: await fleet.tokens.list() },
  }));
  server.handle('enrollmentTokens.delete', async ({ params, caller }) => {
    await fleet.tokens.delete(params.id, caller.userId);
    return { status: 204 };
  });

  const admissions = new WeakMap<FastifyRequest, Admission>();
  server.upgrade('agent.connect', {
    maxPayloadBytes: MAX_AGENT_FRAME_BYTES,
    async authorize({ headers, addressKey, raw }, isUpgrade) {
      const admission = await fleet.admission.check({ headers, addressKey, isUpgrade });
      // Whatever happens to the request from here on, the name is free again when its connection is gone.
      if (admission.kind === 'enrolled') {
        if (raw.raw.socket.destroyed) admission.release();
        else raw.raw.socket.once('close', admission.release);
      }
      admissions.set(raw, admission);
    },
    open(socket, { raw }) {
      fleet.links.accept(socket, admissions.get(raw)!);
    },
  });
}
