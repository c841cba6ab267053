import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeSqlite, type TestDatabases } from '../../testing/index.ts';
import { type AccountsWorld, ADMIN, openAccountsWorld } from '../testing/world.ts';
import { LOGIN_LIFETIME_MS, MAX_OPEN_LOGINS } from './browser-cookie.ts';
import { attempt, claimsOf, finish, signOn, start } from './testing/browser.ts';
import { BASE_URL } from './testing/client.ts';
import { type RealProvider, startRealProvider } from './testing/real-provider.ts';

const OPEN = { REGISTRATION_MODE: 'open' };
const LIMITS = { signIn: { capacity: 10_000, refillEveryMs: 1 } };
let provider: RealProvider;

beforeAll(async () => {
  provider = await startRealProvider();
});
afterAll(() => provider.close());

const refusal = (code: string) => expect.objectContaining({ error: expect.objectContaining({ code }) });

/** A world that is claimed and uses the provider. */
function worldsWithProvider(fresh: TestDatabases['fresh']) {
  return async (env: Record<string, string>, work: (world: AccountsWorld) => Promise<void>) => {
    const world = await openAccountsWorld(await fresh(), {
      env: { ...provider.env, ...env },
      limits: LIMITS,
    });
    try {
      await world.claim();
      await work(world);
    } finally {
      await world.close();
    }
  };
}

const me = async (world: AccountsWorld, bearer: string) =>
  (await world.call('GET', '/v1/me', { bearer })).json();

describeSqlite('attacks on sign-in with a provider', ({ fresh }) => {
  const withWorld = worldsWithProvider(fresh);

  test.each([false, undefined, 'true', 1])(
    'an email with email_verified %s does not open an existing account',
    (email_verified) =>
      withWorld(OPEN, async (world) => {
        await world.register('alice');
        const answer = await signOn(
          world,
          provider,
          `s-${email_verified}`,
          claimsOf('alice', { email_verified }),
        );
        expect(answer).toEqual(refusal('account_not_linked'));
        expect((await world.login('alice@example.org')).user.username).toBe('alice');
      }),
  );

  test('the email of an account that belongs to another person does not open it', () =>
    withWorld(OPEN, async (world) => {
      const owner = await signOn(world, provider, 'owner', claimsOf('carol'));
      expect(owner.status).toBe(200);
      expect(await signOn(world, provider, 'thief', claimsOf('carol'))).toEqual(
        refusal('account_not_linked'),
      );
      // The owner's subject still opens the account after a change of the email.
      const again = await signOn(world, provider, 'owner', claimsOf('renamed'));
      expect(again.user).toEqual(owner.user);
    }));

  test('a stranger who registered an account with the email of its later owner is signed out', () =>
    withWorld(OPEN, async (world) => {
      await world.register('dave');
      const stranger = await world.login('dave@example.org');
      const owner = await signOn(world, provider, 'dave', claimsOf('dave'));
      expect(owner.user.id).toBe(stranger.user.id);
      expect(await me(world, stranger.access_token)).toEqual(refusal('unauthorized'));
      const body = { email: 'dave@example.org', password: ADMIN.password };
      const login = await world.call('POST', '/v1/auth/login', { body });
      expect(login.json()).toEqual(refusal('invalid_credentials'));
    }));

  test('an answer is accepted once', () =>
    withWorld(OPEN, async (world) => {
      const first = await attempt(world, provider, 'erin', claimsOf('erin'));
      expect((await finish(world, first)).status).toBe(200);
      expect(await finish(world, first)).toEqual(refusal('sign_in_expired'));
    }));

  test('of ten requests with the same answer one signs in', () =>
    withWorld(OPEN, async (world) => {
      const first = await attempt(world, provider, 'frank', claimsOf('frank'));
      const statuses = await Promise.all(
        Array.from({ length: 10 }, async () => (await finish(world, first)).status),
      );
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    }));

  test('a code that was used already is refused by the provider', () =>
    withWorld(OPEN, async (world) => {
      const first = await attempt(world, provider, 'gina', claimsOf('gina'));
      expect((await finish(world, first)).status).toBe(200);
      const second = await start(world);
      const stolen = new URLSearchParams(first.answer);
      stolen.set('state', new URL(second.url).searchParams.get('state') ?? '');
      const answer = await finish(world, { cookie: second.cookie, answer: String(stolen) });
      expect(answer).toEqual(refusal('sign_in_not_confirmed'));
    }));

  test('the answer of another browser is refused, and stays valid for that browser', () =>
    withWorld(OPEN, async (world) => {
      const attacker = await attempt(world, provider, 'mallory', claimsOf('mallory'));
      const victim = await start(world);
      for (const cookie of [victim.cookie, '', 'service_oidc=', `service_oidc=${'A'.repeat(43)}`])
        expect(await finish(world, { ...attacker, cookie })).toEqual(refusal('sign_in_expired'));
      expect((await finish(world, attacker)).status).toBe(200);
    }));

  test('a cookie of another service on the host does not lock people out', () =>
    withWorld(OPEN, async (world) => {
      const own = await attempt(world, provider, 'henry', claimsOf('henry'));
      const cookie = `service_oidc=${'A'.repeat(43)}; ${own.cookie}`;
      expect((await finish(world, { ...own, cookie })).status).toBe(200);
    }));

  test('sign-ins in several tabs of a browser all succeed, up to a limit', () =>
    withWorld(OPEN, async (world) => {
      const answers: string[] = [];
      let cookie = '';
      for (let tab = 0; tab <= MAX_OPEN_LOGINS; tab += 1) {
        const person = `ivy${tab}`;
        const opened = await attempt(world, provider, person, claimsOf(person), cookie);
        cookie = opened.cookie;
        answers.push(opened.answer);
      }
      const [oldest = '', ...others] = answers;
      for (const answer of others) expect((await finish(world, { cookie, answer })).status).toBe(200);
      expect(await finish(world, { cookie, answer: oldest })).toEqual(refusal('sign_in_expired'));
    }));

  test('a start expires', () =>
    withWorld(OPEN, async (world) => {
      const late = await attempt(world, provider, 'ivy', claimsOf('ivy'));
      world.clock.advance(LOGIN_LIFETIME_MS);
      expect(await finish(world, late)).toEqual(refusal('sign_in_expired'));
      await start(world);
      const rows = await world.db.selectFrom('oidc_logins').selectAll().execute();
      expect(rows).toHaveLength(1);
    }));

  test.each([
    ['', 'sign_in_expired'],
    ['state=', 'sign_in_expired'],
    ['code=x&state=%00', 'sign_in_expired'],
    ['error=access_denied&state=STATE', 'sign_in_not_confirmed'],
    ['state=STATE', 'sign_in_not_confirmed'],
    ['code=made-up&state=STATE', 'sign_in_not_confirmed'],
    ['code=a&code=b&state=STATE', 'sign_in_not_confirmed'],
    ['code=a&state=STATE&iss=https://evil.example', 'sign_in_not_confirmed'],
    ['code=a&state=STATE&state=other', 'sign_in_not_confirmed'],
    ['code=a&state=STATE#x', 'sign_in_expired'],
  ])('the answer "%s" is %s', (answer, code) =>
    withWorld(OPEN, async (world) => {
      const { url, cookie } = await start(world);
      const state = new URL(url).searchParams.get('state') ?? '';
      expect(await finish(world, { cookie, answer: answer.replace('STATE', state) })).toEqual(refusal(code));
      expect(world.log()).not.toContain('made-up');
    }),
  );

  test('a disabled account stays closed, linked or not', () =>
    withWorld(OPEN, async (world) => {
      await signOn(world, provider, 'judy', claimsOf('judy'));
      await world.register('kim');
      await world.db.updateTable('users').set({ disabled_at: 1 }).where('role', '=', 'user').execute();
      expect(await signOn(world, provider, 'judy')).toEqual(refusal('account_disabled'));
      expect(await signOn(world, provider, 'kim', claimsOf('kim'))).toEqual(refusal('account_disabled'));
    }));

  test('an account of the service itself is not linked', () =>
    withWorld({ SERVICE_OIDC_REGISTRATION: 'always' }, async (world) => {
      await world.db
        .insertInto('users')
        .values({
          ...{ id: crypto.randomUUID(), email: 'bench@example.org', username: 'bench', password_hash: 'x' },
          ...{ role: 'admin', internal: 1, max_concurrent_sessions: 0, created_at: 0, updated_at: 0 },
        })
        .execute();
      expect(await signOn(world, provider, 'bench', claimsOf('bench'))).toEqual(
        refusal('account_not_linked'),
      );
    }));

  test('nobody signs in before the instance is claimed', async () => {
    const world = await openAccountsWorld(await fresh(), { env: provider.env });
    expect(await start(world)).toMatchObject({ status: 409, code: 'conflict' });
    await world.close();
  });

  test('both requests use the limit of sign-ins', async () => {
    const limits = { signIn: { capacity: 3, refillEveryMs: 60_000 } };
    const world = await openAccountsWorld(await fresh(), { env: { ...provider.env, ...OPEN }, limits });
    await world.claim();
    const third = await attempt(world, provider, 'lou', claimsOf('lou'));
    await start(world);
    expect((await finish(world, third)).status).toBe(200);
    expect(await start(world)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(await finish(world, third)).toEqual(refusal('rate_limited'));
    await world.close();
  });

  test('neither the log nor the database contains secrets of a sign-in', () =>
    withWorld(OPEN, async (world) => {
      const { url, cookie } = await start(world);
      provider.people.set('mia', claimsOf('mia'));
      provider.signInAs('mia');
      const answer = await provider.follow(url);
      const stored = JSON.stringify(await world.db.selectFrom('oidc_logins').selectAll().execute());
      const done = await finish(world, { cookie, answer });
      const sent = new URL(url).searchParams;
      const code = new URLSearchParams(answer).get('code');
      const secrets = [cookie.split('=')[1], sent.get('state'), sent.get('nonce'), code, done.access_token];
      for (const secret of secrets) {
        expect(secret).toMatch(/^[\w-]{20,}$/);
        expect(stored).not.toContain(secret);
        expect(world.log()).not.toContain(secret);
      }
      expect(world.log()).not.toContain(provider.env.SERVICE_OIDC_CLIENT_SECRET);
    }));
});

describeSqlite('sign-in with a provider', ({ fresh }) => {
  const withWorld = worldsWithProvider(fresh);

  test('creates an account without a password, and finds it again', () =>
    withWorld(OPEN, async (world) => {
      const first = await signOn(
        world,
        provider,
        'nina',
        claimsOf('Nina', { preferred_username: ' nina  k ' }),
      );
      expect(first).toMatchObject({
        status: 200,
        token_type: 'Bearer',
        user: { email: 'nina@example.org', username: 'nina k', role: 'user' },
      });
      expect(first.headers['set-cookie']).toBeUndefined();
      expect(await me(world, first.access_token)).toMatchObject({ sign_in_methods: ['oidc'] });
      const second = await signOn(world, provider, 'nina');
      expect(second.user).toEqual(first.user);
      expect(second.access_token).not.toBe(first.access_token);
    }));

  test('a person without a password cannot sign in with one, or change it, until a link sets one', () =>
    withWorld(OPEN, async (world) => {
      const { access_token: bearer, user } = await signOn(world, provider, 'olga', claimsOf('olga'));
      const password = 'a long walk by the sea';
      const login = { body: { email: user.email, password } };
      expect((await world.call('POST', '/v1/auth/login', login)).json()).toEqual(
        refusal('invalid_credentials'),
      );
      const change = { bearer, body: { current_password: '', new_password: password } };
      expect((await world.call('POST', '/v1/me/password', change)).json()).toEqual(refusal('conflict'));
      const admin = await world.login(ADMIN.email);
      const link = await world.call('POST', `/v1/users/${user.id}/password-reset`, {
        bearer: admin.access_token,
      });
      const token = new URL(link.json().url).searchParams.get('token');
      await world.call('POST', '/v1/auth/password-reset', { body: { token, password } });
      const signedIn = await world.call('POST', '/v1/auth/login', login);
      expect(await me(world, signedIn.json().access_token)).toMatchObject({
        sign_in_methods: ['password', 'oidc'],
      });
    }));

  test('links the verified email of an administrator, who keeps the password and gets the page cookie', () =>
    withWorld({}, async (world) => {
      const linked = await signOn(world, provider, 'root', {
        email: 'ADMIN@example.org',
        email_verified: true,
      });
      expect(linked).toMatchObject({ status: 200, user: { username: 'admin', role: 'admin' } });
      expect(linked.headers['set-cookie']).toMatch(/^service_page=/);
      const { access_token: bearer } = await world.login(ADMIN.email);
      const { items } = (await world.call('GET', '/v1/users', { bearer })).json();
      expect(items[0]).toMatchObject({ username: 'admin', sign_in_methods: ['password', 'oidc'] });
    }));

  test.each([
    ['closed', 'setting', 'registration_closed'],
    ['invite_only', 'setting', 'registration_closed'],
    ['open', 'setting', null],
    ['open', 'never', 'registration_closed'],
    ['closed', 'always', null],
  ])('registration %s with SERVICE_OIDC_REGISTRATION=%s: a new person gets %s', (mode, variable, code) =>
    withWorld({ REGISTRATION_MODE: mode, SERVICE_OIDC_REGISTRATION: variable }, async (world) => {
      const answer = await signOn(world, provider, 'paul', claimsOf('paul'));
      expect(answer.error?.code ?? null).toBe(code);
    }),
  );

  test('a new person without an email is refused, and the log says why', () =>
    withWorld(OPEN, async (world) => {
      const answer = await signOn(world, provider, 'quinn', { preferred_username: 'quinn' });
      expect(answer).toEqual(refusal('sign_in_not_confirmed'));
      expect(world.logEvents('accounts.oidc_failed')).toMatchObject([{ reason: 'sign_in_not_confirmed' }]);
    }));

  test('persons with the same name get different usernames', () =>
    withWorld(OPEN, async (world) => {
      const names = [];
      for (const [index, preferred_username] of ['rita', 'RITA', 'rita@idp.example'].entries()) {
        const claims = { email: `rita${index}@example.org`, preferred_username };
        names.push((await signOn(world, provider, `rita-${index}`, claims)).user.username);
      }
      expect(names).toEqual(['rita', 'RITA-2', 'rita-3']);
    }));

  test('the device of the browser is known, and can be revoked', () =>
    withWorld(OPEN, async (world) => {
      const { cookie, answer } = await attempt(world, provider, 'sam', claimsOf('sam'));
      const body = { answer, device_key: 'a browser' };
      const reply = await world.call('POST', '/v1/auth/oidc/finish', { body, headers: { cookie } });
      const bearer = reply.json().access_token;
      const { devices } = (await world.call('GET', '/v1/me/devices', { bearer })).json();
      expect(devices).toMatchObject([{ device_key: 'a browser', current: true }]);
    }));

  test('the provider gets code flow, PKCE and a redirect to the public address', () =>
    withWorld({}, async (world) => {
      const { url, setCookie } = await start(world);
      expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
        response_type: 'code',
        redirect_uri: `${BASE_URL}/login/callback`,
        code_challenge_method: 'S256',
        scope: 'openid email profile groups',
      });
      expect(setCookie).toMatch(/^service_oidc=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=600$/);
      const behindProxy = await start(world, { 'x-forwarded-proto': 'https' });
      expect(behindProxy.setCookie).toMatch(/^__Host-service_oidc=.*; Secure$/);
    }));

  test('the answer may reach another replica than the start', async () => {
    const target = await fresh();
    const options = { env: { ...provider.env, ...OPEN }, limits: LIMITS };
    const first = await openAccountsWorld(target, options);
    await first.claim();
    const answer = await attempt(first, provider, 'tina', claimsOf('tina'));
    await first.close();
    const second = await openAccountsWorld(target, options);
    expect((await finish(second, answer)).status).toBe(200);
    await second.close();
  });

  test('signs in at a provider that takes the secret of the client only in the body', async () => {
    const strict = await startRealProvider('client_secret_post');
    const usual = provider;
    provider = strict;
    try {
      const env = { ...strict.env, ...OPEN };
      const world = await openAccountsWorld(await fresh(), { env, limits: LIMITS });
      await world.claim();
      expect((await signOn(world, provider, 'uma', claimsOf('uma'))).status).toBe(200);
      await world.close();
    } finally {
      provider = usual;
      await strict.close();
    }
  });
});

describeSqlite('roles from the groups of the provider', ({ fresh }) => {
  const withWorld = worldsWithProvider(fresh);
  const GROUPS = { ...OPEN, SERVICE_OIDC_ADMIN_GROUP: 'masters' };

  test('the role follows the group at each sign-in', () =>
    withWorld(GROUPS, async (world) => {
      const roles = [];
      for (const groups of [['masters', 'x'], [], 'masters', ['Masters'], undefined])
        roles.push((await signOn(world, provider, 'vera', claimsOf('vera', { groups }))).user.role);
      expect(roles).toEqual(['admin', 'user', 'admin', 'user', 'user']);
    }));

  test('a demotion ends the links for new passwords that the former administrator may have created', () =>
    withWorld(GROUPS, async (world) => {
      const boss = await signOn(world, provider, 'walt', claimsOf('walt', { groups: ['masters'] }));
      await world.register('xena');
      const { items } = (await world.call('GET', '/v1/users', { bearer: boss.access_token })).json();
      const xena = items.find(({ username }: { username: string }) => username === 'xena');
      const url = `/v1/users/${xena.id}/password-reset`;
      expect((await world.call('POST', url, { bearer: boss.access_token })).statusCode).toBe(201);
      expect((await signOn(world, provider, 'walt', claimsOf('walt'))).user.role).toBe('user');
      const links = await world.db
        .selectFrom('users')
        .select('id')
        .where('password_reset_hash', 'is not', null)
        .execute();
      expect(links).toEqual([]);
    }));

  test('the last administrator keeps the role', () =>
    withWorld(GROUPS, async (world) => {
      const claims = { email: ADMIN.email, email_verified: true, groups: [] };
      expect((await signOn(world, provider, 'root', claims)).user.role).toBe('admin');
      expect(world.logEvents('accounts.oidc_last_admin_kept')).toHaveLength(1);
      await signOn(world, provider, 'yuri', claimsOf('yuri', { groups: ['masters'] }));
      expect((await signOn(world, provider, 'root', claims)).user.role).toBe('user');
    }));

  test('without a group, Footlight manages the roles', () =>
    withWorld(OPEN, async (world) => {
      const claims = { email: ADMIN.email, email_verified: true, groups: ['users'] };
      expect((await signOn(world, provider, 'root', claims)).user.role).toBe('admin');
    }));
});

describe('without a provider', () => {
  describeSqlite('the operations', ({ fresh }) => {
    test('do not exist', async () => {
      const world = await openAccountsWorld(await fresh(), {});
      for (const url of ['/v1/auth/oidc/start', '/v1/auth/oidc/finish'])
        expect((await world.call('POST', url, { body: {} })).statusCode).toBe(404);
      await world.close();
    });
  });
});
