import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Context, Provider } from 'oidc-provider';
import { BASE_URL, CLIENT, closeServer, oidcEnv, SCOPES } from './client.ts';

/** Claims of a person, without the subject. */
export type PersonClaims = Record<string, unknown>;

/** The library oidc-provider on loopback. Each sign-in succeeds at once as the person that `signInAs` names. */
export interface RealProvider {
  issuer: string;
  /** Environment of a control plane that uses this provider. */
  env: Record<string, string>;
  people: Map<string, PersonClaims>;
  signInAs(subject: string): void;
  /** Follows the redirects of a browser. @returns the query with which the browser comes back */
  follow(url: string): Promise<string>;
  close(): Promise<void>;
}

/** @param authMethod how the provider lets the client authenticate itself */
export async function startRealProvider(authMethod = 'client_secret_basic'): Promise<RealProvider> {
  const people = new Map<string, PersonClaims>();
  let person = '';
  let handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${BASE_URL}/login/callback`],
        token_endpoint_auth_method: authMethod,
      },
    ],
    clientAuthMethods: [authMethod],
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }] },
    cookies: { keys: ['of-the-test'] },
    scopes: SCOPES.split(' '),
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username'],
      groups: ['groups'],
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people.get(id) }),
    }),
    loadExistingGrant: async ({ oidc }: Context) => {
      const grant = new provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
  });
  const callback = provider.callback();
  handle = (request, response) =>
    request.url?.startsWith('/interaction/')
      ? provider.interactionFinished(request, response, { login: { accountId: person } })
      : callback(request, response);

  return {
    issuer,
    env: oidcEnv(issuer),
    people,
    signInAs(subject) {
      person = subject;
    },
    async follow(url) {
      const cookies = new Map<string, string>();
      let next = url;
      while (!next.startsWith(BASE_URL)) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const answer = await fetch(next, { redirect: 'manual', headers: { cookie } });
        const location = answer.headers.get('location');
        if (location === null)
          throw new Error(`the provider answers ${answer.status}: ${await answer.text()}`);
        for (const set of answer.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
          cookies.set(name, value);
        }
        next = new URL(location, issuer).href;
      }
      return new URL(next).search.slice(1);
    },
    close: () => closeServer(server),
  };
}
