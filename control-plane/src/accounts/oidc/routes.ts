import type { TokenBuckets } from '../../platform/buckets/token-buckets.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Server } from '../../platform/http/server.ts';
import { isSecure, type SignInHeaders } from '../sign-in/sign-in-headers.ts';
import { browserCookie, readBrowserSecrets } from './browser-cookie.ts';
import type { Oidc } from './service.ts';

/** Registers the routes of sign-in with a provider. @param oidc null: no provider is configured */
export function registerOidcRoutes(
  server: Server,
  oidc: Oidc | null,
  parts: { signInBuckets: TokenBuckets; signInHeaders: SignInHeaders },
): void {
  const limited = { early: ({ addressKey }: { addressKey: string }) => parts.signInBuckets.take(addressKey) };

  server.handle(
    'auth.oidcStart',
    async (request) => {
      const { url, browserSecret } = await configured(oidc).start();
      const secure = isSecure(request);
      const open = readBrowserSecrets(request.headers.cookie, secure);
      const headers = { 'set-cookie': browserCookie(browserSecret, open, secure) };
      return { status: 200, body: { url }, headers };
    },
    limited,
  );

  server.handle(
    'auth.oidcFinish',
    async (request) => {
      const { cookie, 'user-agent': userAgent } = request.headers;
      const browserSecrets = readBrowserSecrets(cookie, isSecure(request));
      const signedIn = await configured(oidc).finish(request.body, { browserSecrets, userAgent });
      return { status: 200, body: signedIn.response, headers: parts.signInHeaders(signedIn, request) };
    },
    limited,
  );
}

/** The operations are switched on by the variable that also configures the provider. */
function configured(oidc: Oidc | null): Oidc {
  if (oidc === null) throw new ApiError('internal');
  return oidc;
}
