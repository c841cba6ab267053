import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CLIENT, closeServer } from './client.ts';

const KEY_ID = 'one';
const rsaKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

/** A provider that sends whatever a test sets, also invalid answers. */
export interface HostileProvider {
  issuer: string;
  /** Claims of a valid ID token for this start. */
  validClaims(startUrl: string): Record<string, unknown>;
  /** Sets the ID token of the next answers. @param key missing: the published key */
  setIdToken(claims: object, header?: object, key?: 'stranger' | 'client_secret' | 'none'): void;
  /** Replaces the answer of a path, such as `/token`. */
  answers: Map<string, (respond: Respond) => void>;
  close(): Promise<void>;
}

type Respond = (status: number, headers: Record<string, string>, body: string) => void;

/** The start of 2001 and the end of 2099 in seconds since 1970: the library compares tokens with the wall clock. */
export const LONG_AGO_SECS = 978_307_200;
const FAR_AHEAD_SECS = 4_102_444_799;

export async function startHostileProvider(): Promise<HostileProvider> {
  const { publicKey, privateKey } = rsaKey();
  const stranger = rsaKey();
  function signatureOf(content: string, key?: 'stranger' | 'client_secret' | 'none'): string {
    if (key === 'none') return '';
    if (key === 'client_secret')
      return createHmac('sha256', CLIENT.client_secret).update(content).digest('base64url');
    const signer = key === 'stranger' ? stranger.privateKey : privateKey;
    return sign('sha256', Buffer.from(content), signer).toString('base64url');
  }
  const answers = new Map<string, (respond: Respond) => void>();
  let idToken = '';
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname;
    const respond: Respond = (status, headers, body) => response.writeHead(status, headers).end(body);
    const json = (value: unknown) =>
      respond(200, { 'content-type': 'application/json' }, JSON.stringify(value));
    const replaced = answers.get(path);
    if (replaced !== undefined) replaced(respond);
    else if (path === '/.well-known/openid-configuration')
      json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      });
    else if (path === '/jwks')
      json({
        keys: [{ ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, use: 'sig', alg: 'RS256' }],
      });
    else if (path === '/token') json({ access_token: 'opaque', token_type: 'Bearer', id_token: idToken });
    else if (path === '/userinfo') json({ sub: 'mallory' });
    else respond(404, {}, '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    answers,
    validClaims: (startUrl) => ({
      iss: issuer,
      aud: CLIENT.client_id,
      sub: 'mallory',
      iat: LONG_AGO_SECS,
      exp: FAR_AHEAD_SECS,
      nonce: new URL(startUrl).searchParams.get('nonce'),
      email: 'mallory@example.org',
      email_verified: true,
    }),
    setIdToken(claims, header = {}, key) {
      const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const content = `${encode({ alg: 'RS256', kid: KEY_ID, ...header })}.${encode(claims)}`;
      idToken = `${content}.${signatureOf(content, key)}`;
    },
    close: () => closeServer(server),
  };
}
