import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeSqlite } from '../../testing/index.ts';
import { type AccountsWorld, openAccountsWorld } from '../testing/world.ts';
import { oidcEnv } from './testing/client.ts';
import { type HostileProvider, LONG_AGO_SECS, startHostileProvider } from './testing/hostile-provider.ts';

const DISCOVERY = '/.well-known/openid-configuration';

describeSqlite('a provider with wrong answers', ({ fresh }) => {
  let provider: HostileProvider;
  let world: AccountsWorld;

  beforeEach(async () => {
    provider = await startHostileProvider();
    world = await openAccountsWorld(await fresh(), {
      env: { ...oidcEnv(provider.issuer), REGISTRATION_MODE: 'open' },
      limits: { signIn: { capacity: 10_000, refillEveryMs: 1 } },
    });
    await world.claim();
  });
  afterEach(async () => {
    await world.close();
    await provider.close();
  });

  async function start() {
    const answer = await world.call('POST', '/v1/auth/oidc/start');
    return {
      code: answer.json().error?.code as string | undefined,
      url: String(answer.json().url),
      cookie: String(answer.headers['set-cookie']).split(';', 1)[0] ?? '',
    };
  }

  async function finish({ url, cookie }: { url: string; cookie: string }): Promise<string> {
    const answer = `code=any&state=${new URL(url).searchParams.get('state')}`;
    const reply = await world.call('POST', '/v1/auth/oidc/finish', { body: { answer }, headers: { cookie } });
    return reply.json().error?.code ?? reply.json().user.username;
  }

  const reasons = () => world.logEvents('accounts.oidc_failed').map(({ reason }) => reason);

  test('a valid ID token signs in, so the refusals below have the named cause', async () => {
    const started = await start();
    provider.setIdToken(provider.validClaims(started.url));
    expect(await finish(started)).toBe('mallory');
  });

  test.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'another client' }],
    ['several audiences without azp', { aud: ['footlight', 'another client'] }],
    ['another authorized party', { aud: ['footlight', 'another client'], azp: 'another client' }],
    ['a time in the past', { exp: LONG_AGO_SECS }],
    ['no expiry', { exp: undefined }],
    ['another nonce', { nonce: 'of another sign-in' }],
    ['no nonce', { nonce: undefined }],
    ['no subject', { sub: undefined }],
    ['a subject that is not a text', { sub: 1 }],
    ['a time in the future from which it is valid', { nbf: 4_102_444_798 }],
  ])('an ID token with %s is refused', async (_, wrong) => {
    const started = await start();
    provider.setIdToken({ ...provider.validClaims(started.url), ...wrong });
    expect(await finish(started)).toBe('sign_in_not_confirmed');
    expect(reasons()).toHaveLength(1);
  });

  test.each([
    ['signed with a key that is not published', {}, 'stranger'],
    ['signed with a key that the token names', { kid: 'two' }, undefined],
    ['without a signature', { alg: 'none' }, 'none'],
    ['whose signature was removed', {}, 'none'],
    ['signed with the secret of the client', { alg: 'HS256' }, 'client_secret'],
  ] as const)('an ID token %s is refused', async (_, header, key) => {
    const started = await start();
    provider.setIdToken(provider.validClaims(started.url), header, key);
    expect(await finish(started)).toBe('sign_in_not_confirmed');
  });

  test('an ID token of an earlier sign-in is refused', async () => {
    const [first, second] = [await start(), await start()];
    provider.setIdToken(provider.validClaims(first.url));
    expect(await finish(second)).toBe('sign_in_not_confirmed');
  });

  test('the user info of another person is refused', async () => {
    const started = await start();
    provider.setIdToken(provider.validClaims(started.url));
    const body = JSON.stringify({ sub: 'alice', email: 'alice@example.org', email_verified: true });
    provider.answers.set('/userinfo', (respond) =>
      respond(200, { 'content-type': 'application/json' }, body),
    );
    expect(await finish(started)).toBe('sign_in_not_confirmed');
  });

  test('metadata of another issuer are refused', async () => {
    const body = JSON.stringify({
      issuer: 'https://evil.example',
      authorization_endpoint: 'https://evil.example',
    });
    provider.answers.set(DISCOVERY, (respond) => respond(200, { 'content-type': 'application/json' }, body));
    expect(await start()).toMatchObject({ code: 'provider_unavailable' });
    provider.answers.clear();
    expect(await start()).toMatchObject({ code: undefined });
  });

  test('an answer that is too large is not read to its end', async () => {
    const started = await start();
    const body = JSON.stringify({ padding: 'x'.repeat(1024 * 1024) });
    provider.answers.set('/token', (respond) => respond(200, { 'content-type': 'application/json' }, body));
    expect(await finish(started)).toBe('provider_unavailable');
  });

  test.each(['/token', '/jwks', '/userinfo', DISCOVERY])('a redirect of %s is not followed', async (path) => {
    const requests: string[] = [];
    provider.answers.set(path, (respond) => respond(307, { location: `${provider.issuer}/elsewhere` }, ''));
    provider.answers.set('/elsewhere', (respond) => {
      requests.push(path);
      respond(200, { 'content-type': 'application/json' }, '{}');
    });
    const started = await start();
    if (started.code === undefined) {
      provider.setIdToken(provider.validClaims(started.url));
      expect(await finish(started)).toBe('provider_unavailable');
    } else expect(started.code).toBe('provider_unavailable');
    expect(requests).toEqual([]);
  });

  test.each([
    ['/token', 500, 'provider_unavailable'],
    ['/token', 404, 'provider_unavailable'],
    ['/userinfo', 503, 'provider_unavailable'],
    ['/jwks', 503, 'provider_unavailable'],
  ])('%s with status %i is %s', async (path, status, code) => {
    const started = await start();
    provider.setIdToken(provider.validClaims(started.url));
    provider.answers.set(path, (respond) => respond(status, {}, 'down'));
    expect(await finish(started)).toBe(code);
  });

  test('while the provider is down, sign-in with a password works, and the log says why the other does not', async () => {
    await provider.close();
    expect(await start()).toMatchObject({ code: 'provider_unavailable' });
    expect(reasons()).toEqual(['ECONNREFUSED']);
    expect((await world.login('admin@example.org')).user.role).toBe('admin');
  });
});
