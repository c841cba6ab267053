import { ApiError } from '../../platform/errors.ts';
import type { EarlyRequest } from '../../platform/http/message/contract.ts';
import type { Server } from '../../platform/http/server.ts';
import type { SignInHeaders } from '../sign-in/sign-in-headers.ts';
import type { DevSessions } from './service.ts';

/** Registers the routes of developers' sessions. */
export function registerDevSessionRoutes(
  server: Server,
  devSessions: DevSessions,
  signInHeaders: SignInHeaders,
): void {
  function authorize({ headers }: EarlyRequest<'dev.agentSession'>): void {
    const presented = headers['x-service-dev-key'];
    if (!devSessions.key.matches(typeof presented === 'string' ? presented : '')) {
      throw new ApiError('unauthorized', { message: 'The key is missing or wrong.' });
    }
  }

  server.handle(
    'dev.agentSession',
    async (request) => {
      const { signedIn, session } = await devSessions.open(request.body, {
        userAgent: request.headers['user-agent'],
        address: request.address,
      });
      return { status: 200, body: session, headers: signInHeaders(signedIn, request) };
    },
    { early: authorize },
  );
}
