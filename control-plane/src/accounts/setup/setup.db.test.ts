import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeDatabases, PASSWORD, ROOMY_QUEUE } from '../../testing/index.ts';
import { HASH_COST } from '../sign-in/password-hasher.ts';
import { type AccountsWorld, ADMIN, openAccountsWorld, worldsOn } from '../testing/world.ts';

describeDatabases('the way to the first administrator', ({ fresh: database, dialect }) => {
  const withWorld = worldsOn(database);

  const claim = (world: AccountsWorld, body: unknown, token: string | null = world.setupToken()) =>
    world.call('POST', '/v1/setup/claim', {
      body,
      headers: token === null ? {} : { 'x-service-setup-token': token },
    });

  test('writes a token of 64 hex characters to a file that only its owner reads, and names the path only', () =>
    withWorld({}, async (world) => {
      expect(readFileSync(world.setupTokenFile, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
      expect(statSync(world.setupTokenFile).mode & 0o777).toBe(0o600);
      const log = world.log();
      expect(log).toContain(world.setupTokenFile);
      expect(log).not.toContain(world.setupToken());
    }));

  test('reports the state of the set-up, and completes it once', () =>
    withWorld({}, async (world) => {
      const status = async () => (await world.call('GET', '/v1/setup/status')).json();
      expect(await status()).toEqual({ admin_exists: false, setup_completed: false });
      const { access_token: bearer } = (await claim(world, ADMIN)).json();
      expect(await status()).toEqual({ admin_exists: true, setup_completed: false });
      const first = await world.call('POST', '/v1/setup/complete', { bearer, raw: 'not json' });
      expect([first.statusCode, first.json()]).toEqual([200, { admin_exists: true, setup_completed: true }]);
      const stored = () =>
        world.db.selectFrom('instance_settings').select('setup_completed_at').executeTakeFirstOrThrow();
      const before = await stored();
      await world.clock.pass(5_000);
      expect((await world.call('POST', '/v1/setup/complete', { bearer })).json()).toEqual(first.json());
      expect(await stored()).toEqual(before);
    }));

  test('signs the claimer in as administrator, binds the device and removes the file', () =>
    withWorld(
      { env: { SERVICE_MIN_CLIENT_VERSION: '1.0.0', SERVICE_LATEST_CLIENT_VERSION: '1.3.0' } },
      async (world) => {
        const answer = await claim(world, { ...ADMIN, email: ' Admin@Example.ORG ', device_key: 'laptop' });
        expect(answer.statusCode).toBe(201);
        const body = answer.json();
        expect(body).toEqual({
          access_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
          token_type: 'Bearer',
          expires_at: new Date(world.clock.nowMs() + 24 * 3_600_000).toISOString(),
          user: { id: expect.any(String), email: 'admin@example.org', username: 'admin', role: 'admin' },
          min_client_version: '1.0.0',
          latest_client_version: '1.3.0',
        });
        expect(answer.headers['set-cookie']).toMatch(
          /^service_page=[\w-]{43}; Path=\/admin; HttpOnly; SameSite=Strict; Max-Age=86400$/,
        );
        expect(existsSync(world.setupTokenFile)).toBe(false);
        const device = await world.db.selectFrom('devices').selectAll().executeTakeFirstOrThrow();
        const token = await world.db.selectFrom('auth_tokens').selectAll().executeTakeFirstOrThrow();
        expect(device).toMatchObject({ device_key: 'laptop', user_id: body.user.id });
        expect(token.device_id).toBe(device.id);
      },
    ));

  test('checks the token before the body, then the body, then whether the instance is claimed already', () =>
    withWorld({}, async (world) => {
      const token = world.setupToken();
      const raw = (text: string, header?: string) =>
        world.call('POST', '/v1/setup/claim', {
          raw: text,
          headers: header ? { 'x-service-setup-token': header } : {},
        });
      const wrong = await raw('{', 'wrong');
      const missing = await raw('{');
      expect([wrong.statusCode, missing.statusCode]).toEqual([401, 401]);
      expect(wrong.body).toBe(missing.body);
      for (const text of [
        '',
        '{',
        '[]',
        '{} {}',
        JSON.stringify({ ...ADMIN, role: 'admin' }),
        `{"email":"${'x'.repeat(4096)}"}`,
      ]) {
        expect((await raw(text, token)).json().error.code, text.slice(0, 40)).toBe('validation_failed');
      }
      expect((await claim(world, { ...ADMIN, device_key: 'k'.repeat(257) }, token)).statusCode).toBe(400);
      expect((await claim(world, { ...ADMIN, password: 'short' }, token)).statusCode).toBe(400);
      expect((await claim(world, ADMIN, token)).statusCode).toBe(201);
      // The token is valid until the next start, and the body is checked before the answer "already complete".
      expect((await claim(world, { ...ADMIN, password: 'short' }, token)).statusCode).toBe(400);
      const late = await claim(world, ADMIN, token);
      expect([late.statusCode, late.json().error.code]).toEqual([409, 'setup_already_complete']);
      expect((await claim(world, ADMIN, 'wrong')).statusCode).toBe(401);
    }));

  test('answers a name that is taken with conflict, and leaves nothing behind', () =>
    withWorld({ env: { REGISTRATION_MODE: 'open' } }, async (world) => {
      await world.register('alice');
      const taken = await claim(world, { ...ADMIN, username: 'alice' });
      expect([taken.statusCode, taken.json().error.code]).toEqual([409, 'conflict']);
      expect((await claim(world, { ...ADMIN, email: 'ALICE@example.org' })).statusCode).toBe(409);
      expect((await world.call('GET', '/v1/setup/status')).json().admin_exists).toBe(false);
      expect((await claim(world, ADMIN)).statusCode).toBe(201);
    }));

  test('lets one of fifty claims at once win', () =>
    withWorld(
      {
        limits: {
          claim: { maxRejected: 100, pauseMs: 60_000, inFlightPerAddress: 100, inFlightTotal: 256 },
          hashQueue: ROOMY_QUEUE,
        },
      },
      async (world) => {
        const token = world.setupToken();
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            claim(world, { email: `a${i}@example.org`, username: `admin${i}`, password: PASSWORD }, token),
          ),
        );
        const statuses = answers.map((answer) => answer.statusCode).sort();
        expect(statuses).toEqual([201, ...Array(49).fill(409)]);
        const admins = await world.db.selectFrom('users').select('id').where('role', '=', 'admin').execute();
        expect(admins).toHaveLength(1);
      },
    ));

  test('blocks an address after ten rejected tokens, even with a valid next token', () =>
    withWorld({}, async (world) => {
      for (let i = 0; i < 10; i += 1) expect((await claim(world, ADMIN, `guess ${i}`)).statusCode).toBe(401);
      const blocked = await claim(world, ADMIN);
      expect([blocked.statusCode, blocked.json().error.code]).toEqual([429, 'rate_limited']);
      expect(blocked.headers['retry-after']).toBe('60');
      const elsewhere = await world.call('GET', '/v1/setup/status');
      expect(elsewhere.statusCode).toBe(200);
      await world.clock.pass(60_000);
      expect((await claim(world, ADMIN)).statusCode).toBe(201);
    }));

  test('logs one attempt a minute and address, the claim itself always, and none once the set-up is over', () =>
    withWorld({}, async (world) => {
      const guess = (from: string) =>
        world.call('POST', '/v1/setup/claim', {
          body: ADMIN,
          headers: { 'x-service-setup-token': 'guess' },
          from,
        });
      const attempts = () => world.logEvents('accounts.claim_attempt');
      // The log line is written after the answer, because the service first reads whether an administrator exists.
      const logged = (count: number) => expect.poll(() => attempts().length).toBe(count);
      const token = world.setupToken();
      for (let i = 0; i < 200; i += 1) await guess('192.0.2.1');
      await logged(1);
      await guess('192.0.2.2');
      await logged(2);
      await world.clock.pass(59_000);
      await guess('192.0.2.1');
      await world.clock.pass(1_000);
      await guess('192.0.2.1');
      await logged(3);
      expect((await claim(world, ADMIN, token)).statusCode).toBe(201);
      await logged(4);
      for (let i = 0; i < 5; i += 1) await claim(world, ADMIN, token);
      await world.clock.pass(60_000);
      for (let i = 0; i < 5; i += 1) await guess('192.0.2.1');
      await guess('192.0.2.3');
      expect(attempts().map(({ level, address, status }) => [level, address, status])).toEqual([
        ['warn', '192.0.2.1', 401],
        ['warn', '192.0.2.2', 401],
        ['warn', '192.0.2.1', 401],
        ['warn', '127.0.0.1', 201],
      ]);
    }));

  test('answers 429 where it would hash while the queue is full, after the token was right', () =>
    withWorld(
      {
        limits: {
          hashQueue: { parallel: 1, waiting: 0, knownOnly: 0, perAddress: 1 },
          // Slow enough that other claims arrive meanwhile, also on a busy machine.
          hashCost: { ...HASH_COST, timeCost: 4 * HASH_COST.timeCost },
        },
      },
      async (world) => {
        const token = world.setupToken();
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) => claim(world, { ...ADMIN, username: `other${n}` }, token)),
        );
        const statuses = answers.map((answer) => answer.statusCode);
        expect(statuses.filter((status) => status === 201)).toHaveLength(1);
        expect(statuses).toContain(429);
        const refused = answers.find((answer) => answer.statusCode === 429);
        expect(refused?.headers['retry-after']).toBe('1');
      },
    ));

  test('makes a new token at each boot, and none once an administrator exists', async () => {
    const target = await database();
    const folder = mkdtempSync(path.join(tmpdir(), 'setup-token-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'setup-token');
    const first = await openAccountsWorld(target, { setupTokenFile: file });
    const old = first.setupToken();
    await first.close();
    const second = await openAccountsWorld(target, { setupTokenFile: file });
    try {
      expect(second.setupToken()).not.toBe(old);
      expect((await claim(second, ADMIN, old)).statusCode).toBe(401);
      expect((await claim(second, ADMIN)).statusCode).toBe(201);
    } finally {
      await second.close();
    }
    const third = await openAccountsWorld(target, { setupTokenFile: file });
    try {
      expect(existsSync(file)).toBe(false);
      const row = await third.db
        .selectFrom('instance_settings')
        .select('setup_token_digest')
        .executeTakeFirst();
      expect(row?.setup_token_digest).toBeNull();
      expect((await claim(third, ADMIN, old)).statusCode).toBe(401);
    } finally {
      await third.close();
    }
  });

  const bootstrap = {
    BOOTSTRAP_ADMIN_EMAIL: 'Root@Example.org',
    BOOTSTRAP_ADMIN_USERNAME: 'root',
    BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
  };

  test('creates the administrator that the environment names, and offers no token then', () =>
    withWorld({ env: bootstrap }, async (world) => {
      expect(existsSync(world.setupTokenFile)).toBe(false);
      const login = await world.login('root@example.org');
      expect(login.user).toMatchObject({ username: 'root', role: 'admin' });
      expect(world.granted).toEqual([login.user.id]);
    }));

  test('promotes an account that has the email, and keeps its password', async () => {
    const target = await database();
    const first = await openAccountsWorld(target, { env: { REGISTRATION_MODE: 'open' } });
    await first.register('alice');
    await first.close();
    const world = await openAccountsWorld(target, {
      env: {
        ...bootstrap,
        BOOTSTRAP_ADMIN_EMAIL: 'alice@example.org',
        BOOTSTRAP_ADMIN_PASSWORD: 'another long password',
      },
    });
    try {
      expect((await world.login('alice@example.org')).user).toMatchObject({
        username: 'alice',
        role: 'admin',
      });
    } finally {
      await world.close();
    }
  });

  test('does nothing when an administrator exists', async () => {
    const target = await database();
    const first = await openAccountsWorld(target, {});
    await claim(first, ADMIN);
    await first.close();
    const world = await openAccountsWorld(target, { env: bootstrap });
    try {
      const people = world.db.selectFrom('users').select('username').where('internal', '=', 0);
      expect(await people.execute()).toEqual([{ username: 'admin' }]);
    } finally {
      await world.close();
    }
  });

  test.each([
    ['an email without @', { BOOTSTRAP_ADMIN_EMAIL: 'nobody' }],
    ['a common password', { BOOTSTRAP_ADMIN_PASSWORD: 'password1234' }],
    ['a password with the username', { BOOTSTRAP_ADMIN_PASSWORD: 'the root of all' }],
  ])('refuses to start with %s', async (_, env) => {
    await expect(openAccountsWorld(await database(), { env: { ...bootstrap, ...env } })).rejects.toThrow(
      /BOOTSTRAP_ADMIN_/,
    );
  });

  test('refuses to start when the username belongs to another account', async () => {
    const target = await database();
    const first = await openAccountsWorld(target, { env: { REGISTRATION_MODE: 'open' } });
    await first.register('root');
    await first.close();
    const env = { ...bootstrap, BOOTSTRAP_ADMIN_EMAIL: 'someone@example.org' };
    await expect(openAccountsWorld(target, { env })).rejects.toThrow(/BOOTSTRAP_ADMIN_USERNAME/);
  });

  test('refuses to start when the token cannot be written', async () => {
    await expect(
      openAccountsWorld(await database(), { setupTokenFile: '/dev/null/token' }),
    ).rejects.toThrow();
  });

  // SQLite allows only one control plane.
  if (dialect === 'postgres') {
    test('mints on one replica only, takes the claim on any, and removes the file within 5 s of it', async () => {
      const target = await database();
      const minter = await openAccountsWorld(target, {});
      const other = await openAccountsWorld(target, {});
      try {
        expect(existsSync(other.setupTokenFile)).toBe(false);
        await other.runTask('accounts.setup_token');
        expect(existsSync(other.setupTokenFile)).toBe(false);
        expect((await claim(other, ADMIN, minter.setupToken())).statusCode).toBe(201);
        expect(existsSync(minter.setupTokenFile)).toBe(true);
        await minter.clock.pass(5_000);
        await expect.poll(() => existsSync(minter.setupTokenFile)).toBe(false);
      } finally {
        await other.close();
        await minter.close();
      }
    });

    test('mints on another replica when the lease ends before the claim, and the former token is invalid', async () => {
      const target = await database();
      const minter = await openAccountsWorld(target, {});
      const other = await openAccountsWorld(target, {});
      try {
        const old = minter.setupToken();
        await minter.close();
        await other.runTask('accounts.setup_token');
        expect((await claim(other, ADMIN, old)).statusCode).toBe(401);
        expect((await claim(other, ADMIN)).statusCode).toBe(201);
      } finally {
        await other.close();
      }
    });
  }
});
