import type { IncomingHttpHeaders } from 'node:http';
import { MAX_AGENT_FRAME_BYTES } from '@footlight/protocol/agent';
import type { FastifyRequest } from 'fastify';
import { forwardedProtoOf } from '../platform/http/origin/forwarded.ts';
import type { Server } from '../platform/http/server.ts';
import type { FleetService } from './service.ts';
import type { AgentIdentity } from './upgrade/agent-upgrade.ts';

const INSTALL_FILES = [
  ['install.script', 'agent.sh'],
  ['install.archive', 'agent-linux-x64.tgz'],
] as const;

/** Whether the request has proxy headers. Their values are not trusted here. */
function cameThroughProxy(headers: IncomingHttpHeaders): boolean {
  const direct = headers['x-forwarded-proto'];
  return forwardedProtoOf(Array.isArray(direct) ? direct[0] : direct, headers.forwarded) !== undefined;
}

/** Registers the routes for hosts, enrollment tokens and the agents' socket. */
export function registerFleetRoutes(server: Server, fleet: FleetService): void {
  server.handle('hosts.list', async ({ query }) => ({
    status: 200,
    body: await fleet.hosts.list(query),
  }));
  server.handle('fleet.summary', async () => ({ status: 200, body: await fleet.hosts.summary() }));
  server.handle('hosts.read', async ({ params }) => ({
    status: 200,
    body: await fleet.hosts.read(params.id),
  }));
  server.handle('hosts.gpus', async ({ params }) => ({
    status: 200,
    body: { items: await fleet.hosts.gpus(params.id) },
  }));
  server.handle('gpus.list', async ({ query }) => ({
    status: 200,
    body: await fleet.hosts.listGpus(query),
  }));
  server.handle('hosts.load', async ({ params }) => ({
    status: 200,
    body: await fleet.hosts.load(params.id),
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

  server.handle('hosts.restart', async ({ params, body, caller }) => {
    await fleet.hosts.restart(params.id, body.confirm === true, caller.userId);
    return { status: 200, body: { restart_triggered: true as const } };
  });

  server.handle('hostSettings.read', async ({ params }) => ({
    status: 200,
    body: await fleet.settings.read(params.id),
  }));
  server.handle('hostSettings.update', async ({ params, body, caller }) => ({
    status: 200,
    body: await fleet.settings.update(
      params.id,
      body.overrides,
      body.restart_confirm === true,
      caller.userId,
    ),
  }));

  server.handle('hostConsole.read', async ({ params }) => ({
    status: 200,
    body: await fleet.console.read(params.id),
  }));
  server.handle('hostConsole.update', async ({ params, body, caller }) => ({
    status: 200,
    body: await fleet.console.update(params.id, body, caller.userId),
  }));

  server.handle('enrollmentTokens.create', async ({ body, caller, headers, overTls }) => ({
    status: 201,
    body: await fleet.tokens.create(body, caller.userId, {
      host: headers.host,
      ownTls: overTls && !cameThroughProxy(headers),
    }),
  }));
  server.handle('enrollmentTokens.list', async () => ({
    status: 200,
    body: { items: await fleet.tokens.list() },
  }));
  server.handle('enrollmentTokens.delete', async ({ params, caller }) => {
    await fleet.tokens.delete(params.id, caller.userId);
    return { status: 204 };
  });

  for (const [id, name] of INSTALL_FILES) {
    server.handle(
      id,
      async ({ raw }) => {
        const { content, bytes } = await fleet.installFile(name, raw.method !== 'HEAD');
        return {
          status: 200,
          raw: content,
          headers: { 'content-length': String(bytes), 'cache-control': 'no-cache' },
        };
      },
      {
        early({ addressKey, raw }) {
          if (id === 'install.archive' && raw.method !== 'HEAD') fleet.archiveLimiter.take(addressKey);
        },
      },
    );
  }

  const identities = new WeakMap<FastifyRequest, AgentIdentity>();
  server.upgrade('agent.connect', {
    maxPayloadBytes: MAX_AGENT_FRAME_BYTES,
    async authorize({ headers, addressKey, raw }, isUpgrade) {
      const identity = await fleet.authentication.check({ headers, addressKey, isUpgrade });
      // Release the name when this connection closes, even if the request fails.
      if (identity.kind === 'enrolled') {
        if (raw.raw.socket.destroyed) identity.release();
        else raw.raw.socket.once('close', identity.release);
      }
      identities.set(raw, identity);
    },
    open(socket, { raw }) {
      fleet.links.accept(socket, identities.get(raw)!);
    },
  });
}
