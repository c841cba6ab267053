import { type Clock, HOUR_MS } from '@footlight/platform';
import * as oidc from 'openid-client';
import type { OidcConfig } from '../../platform/config/config.ts';
import { cappedFetch } from '../../platform/outgoing/capped-fetch.ts';
import type { Claims } from './identity.ts';

/** Time limit of each request. A person waits for it. Chosen, not measured. */
const REQUEST_SECS = 10;
/** Answers have a few KiB; the largest ones list the groups of a person. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** After this time the endpoints are read again, because an upgrade of the provider may move them. */
const METADATA_MS = HOUR_MS;

/** Values that bind an answer of the provider to the sign-in that was started. */
export interface LoginChecks {
  state: string;
  nonce: string;
  /** PKCE (RFC 7636). */
  verifier: string;
}

/** The provider did not confirm a sign-in. `reason` is a code for the log and contains no secret. */
export class ProviderFailure extends Error {
  readonly kind: 'unavailable' | 'refused';
  readonly reason: string;

  constructor(kind: ProviderFailure['kind'], reason: string) {
    super(`the identity provider: ${reason}`);
    this.name = 'ProviderFailure';
    this.kind = kind;
    this.reason = reason;
  }
}

/** Requests to the OpenID Connect provider. */
export interface OidcProvider {
  /** Address at which the person signs in. @throws ProviderFailure */
  authorizationUrl(checks: LoginChecks): Promise<string>;
  /**
   * Exchanges the code of the answer, and validates the ID token with its signature.
   * @param answer query with which the provider sent the browser back
   * @returns the claims of the ID token and of the user info
   * @throws ProviderFailure
   */
  redeem(answer: string, checks: LoginChecks): Promise<Claims>;
}

/** Creates the client. It reads the provider's metadata at the first use, so the provider may be down at the start. */
export function createOidcProvider(config: OidcConfig, clock: Pick<Clock, 'monotonicMs'>): OidcProvider {
  const { clientId, clientSecret, issuer, redirectUri, scopes } = config;
  const [basic, post] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)];
  let known: { metadata: oidc.Configuration; readAtMs: number } | null = null;
  let reading: Promise<oidc.Configuration> | null = null;

  /** Providers may require the method that they announce. None announced means basic (OpenID Connect Discovery, 3). */
  const authenticate: oidc.ClientAuth = (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...request);
  };

  function discover(): Promise<oidc.Configuration> {
    return oidc.discovery(issuer, clientId, undefined, authenticate, {
      [oidc.customFetch]: cappedFetch(MAX_ANSWER_BYTES),
      timeout: REQUEST_SECS,
      execute: [
        // By default the library trusts TLS and does not check the signature of the ID token.
        oidc.enableNonRepudiationChecks,
        // Only an issuer on this machine can have an http address.
        ...(issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : []),
      ],
    });
  }

  /** Concurrent sign-ins share one request, and a failed one is not cached. */
  async function metadata(): Promise<oidc.Configuration> {
    if (known !== null && clock.monotonicMs() - known.readAtMs < METADATA_MS) return known.metadata;
    reading ??= discover().finally(() => {
      reading = null;
    });
    const found = await reading.catch((error: unknown) => {
      throw new ProviderFailure('unavailable', reasonOf(error));
    });
    known = { metadata: found, readAtMs: clock.monotonicMs() };
    return found;
  }

  return {
    async authorizationUrl({ state, nonce, verifier }) {
      const url = oidc.buildAuthorizationUrl(await metadata(), {
        redirect_uri: redirectUri,
        scope: scopes,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return url.href;
    },

    async redeem(answer, { state, nonce, verifier }) {
      const client = await metadata();
      try {
        const tokens = await oidc.authorizationCodeGrant(client, new URL(`${redirectUri}?${answer}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new ProviderFailure('refused', 'no_id_token');
        if (client.serverMetadata().userinfo_endpoint === undefined) return claims;
        // Many providers send email and groups only here.
        const more = await oidc.fetchUserInfo(client, tokens.access_token, claims.sub);
        return { ...more, ...claims };
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

/** Codes of the library for answers that are not about this sign-in. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  const reason = reasonOf(error);
  // TypeError: fetch could not connect, or the answer was too large.
  const isUnavailable = error instanceof TypeError || UNAVAILABLE.has(reason);
  return new ProviderFailure(isUnavailable ? 'unavailable' : 'refused', reason);
}

/** Longest logged code. The provider or the browser can choose it. */
const MAX_REASON_CHARACTERS = 100;

/** The code of an error. Messages and causes are left out, because they may contain codes and tokens. */
function reasonOf(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError)
    return error.error.slice(0, MAX_REASON_CHARACTERS);
  if (error instanceof oidc.ClientError && error.code !== undefined) return error.code;
  // The code of a failed connection, such as ECONNREFUSED.
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && 'code' in cause) return String(cause.code).slice(0, MAX_REASON_CHARACTERS);
  return error instanceof Error ? error.name : 'unknown';
}
