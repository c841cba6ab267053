import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { describeDatabases, PASSWORD } from '../../testing/index.ts';
import { type AccountsWorld, ADMIN, addInvite, worldsOn } from '../testing/world.ts';
import { HASH_COST } from './password-hasher.ts';

const OPEN = { REGISTRATION_MODE: 'open' };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describeDatabases('signing in', ({ fresh: database }) => {
  const withWorld = worldsOn(database);

  const register = (world: AccountsWorld, body: unknown) => world.call('POST', '/v1/auth/register', { body });
  const login = (world: AccountsWorld, body: unknown) => world.call('POST', '/v1/auth/login', { body });
  const me = (world: AccountsWorld, bearer: string, headers: Record<string, string> = {}) =>
    world.call('GET', '/v1/me', { bearer, headers });
  const alice = { email: 'alice@example.org', username: 'alice', password: PASSWORD };

  // Login.

  test('answers with the login-shaped response for any case of the email', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const answer = await login(world, {
        email: ' ALICE@example.org ',
        password: PASSWORD,
        contract_version: 'x',
      });
      expect(answer.statusCode).toBe(200);
      expect(answer.json()).toEqual({
        access_token: expect.stringMatching(/^[\w-]{43}$/),
        token_type: 'Bearer',
        expires_at: new Date(world.clock.nowMs() + 24 * 3_600_000).toISOString(),
        user: { id: expect.any(String), email: 'alice@example.org', username: 'alice', role: 'user' },
      });
      expect(answer.headers).not.toHaveProperty('set-cookie');
      expect(answer.headers['cache-control']).toBe('no-store');
    }));

  test('gives one answer for every way to fail', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      await world.register('bob');
      await world.register('bench');
      await world.db.updateTable('users').set({ disabled_at: 1 }).where('username', '=', 'bob').execute();
      await world.db.updateTable('users').set({ internal: 1 }).where('username', '=', 'bench').execute();
      const bodies = [
        { email: 'nobody@example.org', password: PASSWORD },
        { email: 'alice@example.org', password: `${PASSWORD}!` },
        { email: 'bob@example.org', password: PASSWORD },
        { email: 'bench@example.org', password: PASSWORD },
        { email: 'alice@example.org' },
        { email: 'alice@example.org', password: '' },
        { password: PASSWORD },
      ];
      const answers = [];
      for (const body of bodies) answers.push(await login(world, body));
      expect(new Set(answers.map((answer) => `${answer.statusCode} ${answer.body}`)).size).toBe(1);
      expect([answers[0]?.statusCode, answers[0]?.json().error.code]).toEqual([401, 'invalid_credentials']);
    }));

  test('refuses an over-long device_key and unknown keys before it looks at credentials', () =>
    withWorld({}, async (world) => {
      for (const body of [{ device_key: 'k'.repeat(257) }, { password: 5 }, { remember: true }]) {
        expect((await login(world, body)).json().error.code).toBe('validation_failed');
      }
    }));

  test('binds the token to the device row of the key, and touches that row at each login', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      await world.login('alice@example.org', { device_key: 'phone' });
      await world.db
        .updateTable('devices')
        .set({ name: 'my phone', trusted: 1, capabilities: '{"a":1}' })
        .execute();
      await world.clock.pass(1_000);
      await world.login('alice@example.org', { device_key: 'phone' });
      await world.login('alice@example.org', { device_key: '' });
      const devices = await world.db.selectFrom('devices').selectAll().execute();
      expect(devices).toHaveLength(1);
      expect(devices[0]).toMatchObject({
        device_key: 'phone',
        name: 'my phone',
        trusted: 1,
        capabilities: '{"a":1}',
      });
      expect(devices[0]!.last_seen_at - devices[0]!.first_seen_at).toBe(1_000);
      const tokens = await world.db.selectFrom('auth_tokens').select('device_id').execute();
      expect(tokens.map((token) => token.device_id).sort()).toEqual(
        [devices[0]!.id, devices[0]!.id, null].sort(),
      );
    }));

  test('shares one bucket of ten between register and login, per address, before the body is read', () =>
    withWorld({}, async (world) => {
      for (let i = 0; i < 5; i += 1) {
        expect((await world.call('POST', '/v1/auth/login', { raw: '{' })).statusCode).toBe(400);
        expect((await world.call('POST', '/v1/auth/register', { raw: '{' })).statusCode).toBe(400);
      }
      const eleventh = await world.call('POST', '/v1/auth/login', { raw: '{' });
      expect([eleventh.statusCode, eleventh.json().error.code]).toEqual([429, 'rate_limited']);
      expect(eleventh.headers['retry-after']).toBe('5');
      expect((await world.call('POST', '/v1/auth/login', { raw: '{', from: '203.0.113.9' })).statusCode).toBe(
        400,
      );
      // A header that the client invents has no effect.
      const forged = {
        raw: '{',
        headers: { 'x-forwarded-for': '198.51.100.1', 'x-real-ip': '198.51.100.1' },
      };
      expect((await world.call('POST', '/v1/auth/login', forged)).statusCode).toBe(429);
      await world.clock.pass(5_000);
      expect((await world.call('POST', '/v1/auth/login', { raw: '{' })).statusCode).toBe(400);
    }));

  test('answers 429 when the hash queue is full, for known and unknown emails alike', () =>
    withWorld(
      {
        env: OPEN,
        limits: { hashQueue: { parallel: 1, waiting: 1, knownOnly: 0, perAddress: 1 }, hashCost: HASH_COST },
      },
      async (world) => {
        await world.register('alice');
        const emails = ['alice@example.org', 'nobody@example.org', 'alice@example.org', 'nobody@example.org'];
        const answers = await Promise.all(emails.map((email) => login(world, { email, password: 'x' })));
        const refused = answers.filter((answer) => answer.statusCode === 429);
        expect(refused.length).toBeGreaterThanOrEqual(1);
        for (const answer of refused) expect(answer.headers['retry-after']).toBe('1');
        for (const answer of answers) expect([401, 429]).toContain(answer.statusCode);
      },
    ));

  test('gates old clients at login after the body and before the credentials, and by header on bearer routes', () =>
    withWorld({ env: { ...OPEN, SERVICE_MIN_CLIENT_VERSION: '1.2.0' } }, async (world) => {
      await world.register('alice');
      const old = await login(world, { email: 'nobody@example.org', client_version: '1.1.9' });
      expect([old.statusCode, old.json()]).toEqual([
        426,
        { error: { code: 'client_too_old', message: expect.any(String) }, min_client_version: '1.2.0' },
      ]);
      expect((await login(world, { client_version: 'odd' })).statusCode).toBe(426);
      expect((await login(world, { client_version: 7 })).statusCode).toBe(400);
      const { access_token: bearer } = await world.login('alice@example.org', { client_version: '1.2.0' });
      const header = { 'x-service-client-version': '1.1.9' };
      expect((await me(world, bearer, header)).statusCode).toBe(426);
      expect((await me(world, 'unknown', header)).statusCode).toBe(401);
      // The version is checked before the role: this person is no administrator.
      expect(
        (await world.call('GET', '/v1/admin/access-check', { bearer, headers: header })).statusCode,
      ).toBe(426);
      expect((await me(world, bearer, { 'x-service-client-version': 'odd' })).statusCode).toBe(200);
      expect((await world.call('POST', '/v1/auth/logout', { bearer, headers: header })).statusCode).toBe(204);
    }));

  // Tokens.

  test('stores a token by its hashes only, and touches it at most once a minute', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const { access_token: bearer } = await world.login('alice@example.org');
      const row = () => world.db.selectFrom('auth_tokens').selectAll().executeTakeFirstOrThrow();
      const page = createHash('sha256').update(`page:${bearer}`).digest('base64url');
      expect(await row()).toMatchObject({
        token_hash: sha256(bearer),
        page_hash: sha256(page),
        last_used_at: null,
      });
      await me(world, bearer);
      const first = world.clock.nowMs();
      await expect.poll(async () => (await row()).last_used_at).toBe(first);
      await world.clock.pass(59_999);
      await me(world, bearer);
      await world.clock.pass(1);
      await me(world, bearer);
      await expect.poll(async () => (await row()).last_used_at).toBe(first + 60_000);
    }));

  test('accepts the scheme in any case, and nothing that is no token', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const { access_token: bearer } = await world.login('alice@example.org');
      const ask = (authorization: string) => world.call('GET', '/v1/me', { headers: { authorization } });
      for (const header of [`bearer ${bearer}`, `BEARER ${bearer} `])
        expect((await ask(header)).statusCode).toBe(200);
      for (const header of ['', 'Bearer', 'Bearer ', `Basic ${bearer}`, bearer, `Bearer x${bearer}`]) {
        const answer = await ask(header);
        expect([answer.statusCode, answer.json().error.code], header).toEqual([401, 'unauthorized']);
      }
    }));

  test.each([
    ['it expires', async (world: AccountsWorld) => world.clock.jump(24 * 3_600_000)],
    [
      'its owner is disabled',
      async (world: AccountsWorld) => {
        await world.db.updateTable('users').set({ disabled_at: 1 }).execute();
      },
    ],
    [
      'it is revoked',
      async (world: AccountsWorld) => {
        await world.db.updateTable('auth_tokens').set({ revoked_at: 1 }).execute();
      },
    ],
    [
      'its owner is deleted',
      async (world: AccountsWorld) => {
        await world.db.deleteFrom('users').execute();
      },
    ],
  ])('ends a token with the next request when %s', (_, end) =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const { access_token: bearer } = await world.login('alice@example.org');
      expect((await me(world, bearer)).statusCode).toBe(200);
      await end(world);
      expect((await me(world, bearer)).statusCode).toBe(401);
    }),
  );

  test('makes unexpired tokens work again when the owner is enabled again, and keeps earlier ones at a new login', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const first = await world.login('alice@example.org');
      const second = await world.login('alice@example.org');
      await world.db.updateTable('users').set({ disabled_at: 1 }).execute();
      expect((await me(world, first.access_token)).statusCode).toBe(401);
      await world.db.updateTable('users').set({ disabled_at: null }).execute();
      expect((await me(world, first.access_token)).statusCode).toBe(200);
      expect((await me(world, second.access_token)).statusCode).toBe(200);
    }));

  test('revokes only the presented token at logout, and a repeat is 401', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const [kept, left] = [await world.login('alice@example.org'), await world.login('alice@example.org')];
      const logout = () =>
        world.call('POST', '/v1/auth/logout', { bearer: left.access_token, raw: 'ignored' });
      const answer = await logout();
      expect([answer.statusCode, answer.body]).toEqual([204, '']);
      expect(answer.headers).not.toHaveProperty('content-type');
      expect(answer.headers['set-cookie']).toBe(
        'service_page=; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=0',
      );
      expect((await logout()).statusCode).toBe(401);
      expect((await me(world, kept.access_token)).statusCode).toBe(200);
    }));

  test('sweeps tokens that were revoked, or expired more than seven days ago', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const gone = await world.login('alice@example.org');
      await world.call('POST', '/v1/auth/logout', { bearer: gone.access_token });
      await world.login('alice@example.org');
      const count = async () => (await world.db.selectFrom('auth_tokens').select('id').execute()).length;
      // Poll, because last_used_at is written after the request, and the janitor skips the row while it is locked.
      const left = () => world.runJob('auth.token_janitor').then(count);
      await expect.poll(left).toBe(1);
      world.clock.jump(8 * 24 * 3_600_000);
      expect(await left()).toBe(1);
      world.clock.jump(1);
      await expect.poll(left).toBe(0);
    }));

  test('sweeps all of them in one run, however many there are', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      await world.login('alice@example.org');
      const kept = await world.db.selectFrom('auth_tokens').selectAll().executeTakeFirstOrThrow();
      for (let chunk = 0; chunk < 23; chunk += 1) {
        const dead = Array.from({ length: 100 }, (_, i) => {
          const id = `dead-${chunk}-${i}`;
          return { ...kept, id, token_hash: id, page_hash: id, revoked_at: 1 };
        });
        await world.db.insertInto('auth_tokens').values(dead).execute();
      }
      await world.runJob('auth.token_janitor');
      expect(await world.db.selectFrom('auth_tokens').selectAll().execute()).toEqual([kept]);
    }));

  // The caller, and the page cookie.

  test('reads the caller, and renews the page cookie of administrators only', () =>
    withWorld({ env: OPEN }, async (world) => {
      const admin = await world.claim();
      await world.register('alice');
      const user = await world.login('alice@example.org');
      world.clock.jump(3_600_000);
      const mine = await me(world, admin.access_token);
      expect(mine.json().user).toEqual({ ...admin.user, created_at: expect.stringMatching(/Z$/) });
      expect(mine.headers['set-cookie']).toMatch(/Max-Age=82800$/);
      expect((await me(world, user.access_token)).headers).not.toHaveProperty('set-cookie');
      const forwarded = await me(world, admin.access_token, { 'x-forwarded-proto': 'https' });
      expect(forwarded.headers['set-cookie']).toMatch(/; Secure$/);
      const odd = await me(world, admin.access_token, { 'x-forwarded-proto': 'https, http' });
      expect(odd.headers['set-cookie']).not.toMatch(/Secure/);
    }));

  test('opens the administrators’ pages with the cookie until the token ends, and no API route ever', () =>
    withWorld({}, async (world) => {
      const answer = await world.call('POST', '/v1/setup/claim', {
        body: ADMIN,
        headers: { 'x-service-setup-token': world.setupToken() },
      });
      const cookie = String(answer.headers['set-cookie']).split(';')[0]!;
      const page = async () => (await world.call('GET', '/admin', { headers: { cookie } })).statusCode;
      // 503 shows that access is granted; the web app is not built in this test.
      expect(await page()).toBe(503);
      expect((await world.call('GET', '/v1/me', { headers: { cookie } })).statusCode).toBe(401);
      const value = cookie.slice('service_page='.length);
      expect((await me(world, value)).statusCode).toBe(401);
      await world.db.updateTable('users').set({ role: 'user' }).execute();
      expect(await page()).toBe(302);
      await world.db.updateTable('users').set({ role: 'admin', disabled_at: 1 }).execute();
      expect(await page()).toBe(302);
      await world.db.updateTable('users').set({ disabled_at: null }).execute();
      expect(await page()).toBe(503);
      await world.call('POST', '/v1/auth/logout', { bearer: answer.json().access_token });
      expect(await page()).toBe(302);
    }));

  test('the certificate is 503 while TLS is off, and PEM of the leaf while it is on', () =>
    withWorld({}, async (world) => {
      const answer = await world.call('GET', '/v1/tls/certificate.pem');
      expect([answer.statusCode, answer.json().error.code]).toEqual([503, 'internal']);
    }));

  test('describes access to administrators only', () =>
    withWorld({ env: { ...OPEN, SERVICE_ALLOWED_ORIGINS: 'https://play.example' } }, async (world) => {
      const admin = await world.claim();
      await world.register('alice');
      const user = await world.login('alice@example.org');
      const ask = (bearer: string) =>
        world.call('GET', '/v1/admin/access-check', { bearer, headers: { origin: 'https://evil.example' } });
      expect((await ask(user.access_token)).json().error.code).toBe('forbidden');
      expect((await ask(admin.access_token)).json().origins).toMatchObject({
        configured: true,
        source: 'environment',
        allowed: ['https://play.example'],
        request_origin_allowed: false,
      });
    }));

  // Secrets.

  test('opens the administrators’ pages also with cookies of the same name that another service of the host has set', () =>
    withWorld({}, async (world) => {
      const answer = await world.call('POST', '/v1/setup/claim', {
        body: ADMIN,
        headers: { 'x-service-setup-token': world.setupToken() },
      });
      const cookie = String(answer.headers['set-cookie']).split(';')[0]!;
      const page = async (header: string) =>
        (await world.call('GET', '/admin', { headers: { cookie: header } })).statusCode;
      const opened = await page(cookie);
      const planted = `service_page=${'A'.repeat(43)}`;
      expect([await page(`${planted}; ${cookie}`), await page(`service_page=x; ${cookie}`)]).toEqual([
        opened,
        opened,
      ]);
      expect(await page(planted)).toBe(302);
    }));

  test('lets no password, token or cookie reach the log or a column', () =>
    withWorld({ env: { REGISTRATION_MODE: 'invite_only' } }, async (world) => {
      const setupToken = world.setupToken();
      const canary = 'canary-Passw0rd-one';
      const headers = { 'x-service-setup-token': setupToken };
      const claimed = await world.call('POST', '/v1/setup/claim', {
        body: { ...ADMIN, password: canary, device_key: 'd' },
        headers,
      });
      await addInvite(world, 'canary-invite');
      await register(world, { ...alice, password: `${canary}2`, invite_code: 'canary-invite' });
      await login(world, { email: alice.email, password: `${canary}-wrong` });
      const answer = await login(world, { email: alice.email, password: `${canary}2`, device_key: 'd' });
      for (const { access_token: bearer } of [claimed.json(), answer.json()]) {
        await me(world, bearer);
        await world.call('GET', `/v1/me?token=${bearer}`, { bearer });
      }
      const cookie = String(claimed.headers['set-cookie']).split(/[=;]/)[1]!;
      const secrets = [
        setupToken,
        canary,
        'canary-invite',
        cookie,
        claimed.json().access_token,
        answer.json().access_token,
      ];
      const tables = ['users', 'devices', 'auth_tokens', 'invites', 'instance_settings'] as const;
      const stored = [];
      for (const table of tables) stored.push(await world.db.selectFrom(table).selectAll().execute());
      const everything = world.log() + JSON.stringify(stored);
      for (const secret of secrets) expect(everything.includes(secret)).toBe(false);
    }));
});
