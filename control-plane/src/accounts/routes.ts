import { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { UNAVAILABLE_STATUS } from '@footlight/protocol/rest';
import { ApiError } from '../platform/errors.ts';
import type { EarlyRequest } from '../platform/http/message/contract.ts';
import type { Server } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import type { AccountsDeps } from './deps.ts';
import { registerDevSessionRoutes } from './dev-session/routes.ts';
import { registerInviteRoutes } from './invites/routes.ts';
import { registerMeRoutes } from './me-routes.ts';
import { registerOidcRoutes } from './oidc/routes.ts';
import type { Accounts } from './service.ts';
import { describeAccess, trustAdvice } from './setup/access-check.ts';
import { createSignInHeaders, isSecure } from './sign-in/sign-in-headers.ts';
import type { LoginOrigin } from './tokens/bearer-tokens.ts';
import { clearedPageCookie, pageCookie } from './tokens/tokens.ts';
import { registerUserRoutes } from './users/routes.ts';

const CLAIMED = 201;

/** Registers the routes of sign-in, set-up and access, and the routes of the sub-folders. */
export function registerAccountsRoutes(
  server: Server,
  accounts: Accounts,
  platform: Platform,
  deps: Pick<AccountsDeps, 'settings' | 'certificate'>,
): void {
  const { clock, logger } = platform;
  const { claimLimiter, claimLog, passwordReset, registration, setup, setupToken, signInBuckets, tokens } =
    accounts.services;

  const signInHeaders = createSignInHeaders(clock);
  registerMeRoutes(server, accounts);
  registerUserRoutes(server, accounts.services.users);
  registerInviteRoutes(server, accounts.services.invites);
  registerDevSessionRoutes(server, accounts.services.devSessions, signInHeaders);
  registerOidcRoutes(server, accounts.services.oidc, { signInBuckets, signInHeaders });

  const limitSignIn = { early: ({ addressKey }: { addressKey: string }) => signInBuckets.take(addressKey) };

  server.handle(
    'auth.register',
    async ({ addressKey, body }) => ({
      status: 201,
      body: { user: await registration.register(body, addressKey) },
    }),
    limitSignIn,
  );

  server.handle(
    'auth.login',
    async (request) => {
      const signedIn = await tokens.login(request.body, originOf(request));
      return { status: 200, body: signedIn.response, headers: signInHeaders(signedIn, request) };
    },
    limitSignIn,
  );

  server.handle(
    'auth.passwordReset',
    async (request) => {
      const signedIn = await passwordReset.redeem(request.body, originOf(request));
      return { status: 200, body: signedIn.response, headers: signInHeaders(signedIn, request) };
    },
    limitSignIn,
  );

  server.handle('users.passwordReset', async ({ caller, headers, params }) => ({
    status: 201,
    body: await passwordReset.link(caller, params.id, headers.host),
  }));

  server.handle('auth.logout', async (request) => {
    await tokens.logout(request.caller);
    return { status: 204, headers: { 'set-cookie': clearedPageCookie(isSecure(request)) } };
  });

  server.handle('me.read', async (request) => {
    const { expiresAtMs, ...body } = await tokens.readSelf(request.caller);
    const bearer = presentedBearer(request.headers);
    if (expiresAtMs === null || bearer === null) return { status: 200, body };
    const cookie = pageCookie(bearer, expiresAtMs, clock.nowMs(), isSecure(request));
    return { status: 200, body, headers: { 'set-cookie': cookie } };
  });

  server.handle('setup.status', async () => ({ status: 200, body: await setup.status() }));

  server.handle('setup.complete', async () => ({ status: 200, body: await setup.complete() }));

  /**
   * Logs every successful claim. While no administrator exists, other attempts are logged once per minute and address.
   */
  async function logClaimAttempt(address: string, addressKey: string, status: number): Promise<void> {
    const claimed = status === CLAIMED;
    if (!claimed && (claimLog.tryTake(addressKey) > 0 || (await setup.status()).admin_exists)) return;
    logger.warn({ address, status }, 'accounts.claim_attempt');
  }

  /** Limits the attempts, then checks the token before the body is read. */
  async function authorizeClaim(request: EarlyRequest<'setup.claim'>): Promise<void> {
    const { address, addressKey, headers, reply } = request;
    reply.raw.once('close', () => {
      logClaimAttempt(address, addressKey, reply.statusCode).catch((error: unknown) => {
        logger.debug({ err: error }, 'accounts.claim_log_failed');
      });
    });
    const attempt = claimLimiter.admit(addressKey);
    reply.raw.once('close', attempt.done);
    const presented = headers['x-service-setup-token'];
    const token = typeof presented === 'string' ? presented : '';
    if (!(await setupToken.matches(token))) {
      throw new ApiError('unauthorized', { message: 'The setup token is missing or wrong.' });
    }
    attempt.accepted();
  }

  server.handle(
    'setup.claim',
    async (request) => {
      const signedIn = await setup.claim(request.body, originOf(request));
      return { status: CLAIMED, body: signedIn.response, headers: signInHeaders(signedIn, request) };
    },
    { early: authorizeClaim },
  );

  server.handle('access.check', async (request) => {
    const { headers, overTls, untrustedForwarder } = request;
    const origins = await deps.settings.originsInForce();
    const facts = {
      host: headers.host,
      origin: headers.origin,
      overTls,
      forwardedProtoHeader: single(headers['x-forwarded-proto']),
      forwardedHeader: headers.forwarded,
      proxyAdvice:
        untrustedForwarder === null
          ? undefined
          : trustAdvice(platform.config.http.trustedProxies, untrustedForwarder),
    };
    return { status: 200, body: describeAccess(facts, deps.certificate(), origins, clock.nowMs()) };
  });

  server.handle('tls.certificate', async () => {
    const certificate = deps.certificate();
    const leaf = certificate?.chain[0];
    if (certificate === null || leaf === undefined) {
      throw new ApiError('internal', {
        status: UNAVAILABLE_STATUS,
        message: 'TLS is off in this service.',
      });
    }
    return {
      status: 200,
      raw: new X509Certificate(leaf).toString(),
      headers: {
        'content-type': 'application/x-pem-file',
        'content-disposition': 'attachment; filename="service-control-plane.pem"',
        'x-content-type-options': 'nosniff',
        'x-service-certificate-fingerprint': certificate.fingerprint,
      },
    };
  });
}

const originOf = ({
  addressKey,
  headers,
}: EarlyRequest<'auth.login' | 'auth.passwordReset' | 'setup.claim'>): LoginOrigin => ({
  addressKey,
  userAgent: headers['user-agent'],
});

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** The bearer token of the request, which the server has already accepted. */
function presentedBearer(headers: IncomingHttpHeaders): string | null {
  const match = /^bearer (.*)$/i.exec(headers.authorization ?? '');
  return match?.[1]?.trim() || null;
}
