import { type Clock, MINUTE_MS } from '@footlight/platform';
import type { Signaling } from '@footlight/protocol/rest';
import type { Config } from '../platform/config/config.ts';
import { instant } from '../platform/database/index.ts';
import type { Authenticate, EarlyRequest } from '../platform/http/message/contract.ts';
import { bearerToken, hijack } from '../platform/http/message/request.ts';
import type { Server } from '../platform/http/server.ts';
import { createWindowLimiter, type WindowLimit } from '../platform/limits.ts';
import type { SignalingToken } from '../signaling/index.ts';
import type { Sessions } from './service.ts';
import { signalingUrl } from './signaling-url.ts';

/** The limit is needed because each launch stores a permanent row, and each refusal writes a long log line. */
const LAUNCHES_PER_USER: WindowLimit = { limit: 600, windowMs: 10 * MINUTE_MS };
/** A page requests one ticket for each connection; each ticket is a row until it expires. */
const TICKETS_PER_USER: WindowLimit = { limit: 300, windowMs: MINUTE_MS };

/**
 * @param authenticate looks up a bearer token again, for event streams, which stay open after the check of their
 *   request
 */
export function registerSessionsRoutes(
  server: Server,
  sessions: Sessions,
  deps: { config: Config; clock: Clock; authenticate: Authenticate },
): void {
  const signaling = (
    request: Pick<EarlyRequest<'sessions.launch'>, 'headers' | 'overTls'>,
    sessionId: string,
    token: SignalingToken,
  ): Signaling => ({
    url: signalingUrl(request.headers, request.overTls, deps.config.http.publicBaseUrl),
    token: token.token,
    expires_at: instant(token.expiresAt),
    ice_servers: sessions.iceServers(sessionId),
  });

  const launches = createWindowLimiter(LAUNCHES_PER_USER, deps.clock);
  server.handle(
    'sessions.launch',
    async (request) => {
      const { session, token } = await sessions.launch(request.caller, request.body);
      return { status: 201, body: { session, signaling: signaling(request, session.id, token) } };
    },
    { early: ({ caller }) => launches.take(caller.userId) },
  );

  server.handle('sessions.list', async ({ caller, query }) => ({
    status: 200,
    body: await sessions.listOwn(caller, query.limit, query.cursor),
  }));

  server.handle('sessions.read', async ({ caller, params }) => ({
    status: 200,
    body: { session: sessions.record(await sessions.read(caller, params.id)) },
  }));

  server.handle('sessions.delete', async ({ caller, params }) => {
    const { session, ended } = await sessions.stop(caller, params.id);
    return { status: ended ? 200 : 202, body: { session } };
  });

  const tickets = createWindowLimiter(TICKETS_PER_USER, deps.clock);
  server.handle(
    'sessions.signalingToken',
    async (request) => {
      const token = await sessions.mintToken(request.caller, request.params.id);
      return { status: 201, body: { signaling: signaling(request, request.params.id, token) } };
    },
    { early: ({ caller }) => tickets.take(caller.userId) },
  );

  server.handle('sessions.events', async ({ caller, params, headers, reply }) => {
    await sessions.read(caller, params.id);
    const slot = sessions.streams.reserve(caller.userId);
    const bearer = bearerToken(headers.authorization) ?? '';
    sessions.streams.serve(
      {
        sessionId: params.id,
        userId: caller.userId,
        response: hijack(reply),
        // The role must be unchanged: a stream opened with the rights of an administrator ends when the role is lost.
        isSignedIn: async () => (await deps.authenticate(bearer))?.role === caller.role,
        async snapshot() {
          const row = await sessions.find(params.id);
          return row === undefined ? null : sessions.record(row);
        },
      },
      slot,
    );
    return { hijacked: true };
  });

  server.handle('sessions.swap', async ({ caller, params, body }) => ({
    status: 200,
    body: { session: await sessions.swap(caller, params.id, body.app_id) },
  }));

  server.handle('sessions.display', async ({ caller, params, body }) => ({
    status: 202,
    body: { session: await sessions.updateDisplay(caller, params.id, body) },
  }));

  server.handle('admin.sessions.list', async ({ query }) => ({
    status: 200,
    body: await sessions.listAll(query),
  }));

  server.handle('admin.sessions.capture', async ({ caller, params, body }) => ({
    status: 202,
    body: await sessions.capture(caller.userId, params.id, body),
  }));

  server.handle('admin.sessions.placement', async ({ params }) => ({
    status: 200,
    body: await sessions.placement(params.id),
  }));

  server.handle('admin.placement.preview', async ({ body }) => ({
    status: 200,
    body: await sessions.preview(body),
  }));
}
