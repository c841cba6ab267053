import { describe, expect, test } from 'vitest';
import { describeDatabases, PASSWORD, ROOMY_QUEUE } from '../testing/index.ts';
import { HASH_COST } from './sign-in/password-hasher.ts';
import { type AccountsWorld, addInvite, openAccountsWorld, worldsOn } from './testing/world.ts';

const OPEN = { REGISTRATION_MODE: 'open' };

describeDatabases('registration', ({ fresh: database }) => {
  const withWorld = worldsOn(database);

  const register = (world: AccountsWorld, body: unknown) => world.call('POST', '/v1/auth/register', { body });
  const alice = { email: 'alice@example.org', username: 'alice', password: PASSWORD };

  test('creates an account and issues no token', () =>
    withWorld({ env: OPEN, limits: { hashCost: HASH_COST } }, async (world) => {
      const answer = await register(world, { ...alice, email: ' Alice@Example.org', username: ' alice ' });
      expect(answer.statusCode).toBe(201);
      expect(answer.json()).toEqual({
        user: {
          id: expect.any(String),
          email: 'alice@example.org',
          username: 'alice',
          role: 'user',
          created_at: new Date(world.clock.nowMs()).toISOString(),
        },
      });
      expect(answer.headers).not.toHaveProperty('set-cookie');
      expect(await world.db.selectFrom('auth_tokens').selectAll().execute()).toEqual([]);
      const row = await world.db
        .selectFrom('users')
        .selectAll()
        .where('username', '=', 'alice')
        .executeTakeFirstOrThrow();
      expect(row).toMatchObject({ max_concurrent_sessions: 3, disabled_at: null, internal: 0 });
      expect(row.password_hash).toMatch(
        /^\$argon2id\$v=19\$m=65536,t=3,p=2\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
      );
    }));

  test('is closed by default, after the fields were checked', () =>
    withWorld({}, async (world) => {
      expect((await register(world, { ...alice, password: 'short' })).json().error.code).toBe(
        'validation_failed',
      );
      const answer = await register(world, alice);
      expect([answer.statusCode, answer.json().error.code]).toEqual([403, 'registration_closed']);
    }));

  test('keeps the stored mode over the environment after the first boot', async () => {
    const target = await database();
    const first = await openAccountsWorld(target, { env: OPEN });
    await first.close();
    const world = await openAccountsWorld(target, { env: { REGISTRATION_MODE: 'closed' } });
    try {
      expect((await register(world, alice)).statusCode).toBe(201);
    } finally {
      await world.close();
    }
  });

  test('answers a duplicate email, ignoring case, and a duplicate username alike', () =>
    withWorld({ env: OPEN }, async (world) => {
      await world.register('alice');
      const email = await register(world, { ...alice, email: 'ALICE@example.org', username: 'other' });
      const username = await register(world, { ...alice, email: 'other@example.org' });
      expect([email.statusCode, email.json().error.code]).toEqual([409, 'conflict']);
      expect(username.body).toBe(email.body);
      expect(
        (await register(world, { ...alice, email: 'x@example.org', username: 'Alice1' })).statusCode,
      ).toBe(201);
    }));

  test.each([
    ['a control character', 'ali\u0007ce@example.org'],
    ['a line break', 'alice@example.org\nbcc:bob@example.org'],
    ['a zero-width space', 'ali\u200bce@example.org'],
    ['a right-to-left override', '\u202egro.elpmaxe@ecila'],
    ['a line separator', 'ali\u2028ce@example.org'],
    ['half of a surrogate pair', 'ali\ud800ce@example.org'],
  ])('an email may not hold %s', (_, email) =>
    withWorld({ env: OPEN }, async (world) => {
      const answer = await register(world, { ...alice, email });
      expect([answer.statusCode, answer.json().error?.code]).toEqual([400, 'validation_failed']);
      expect(answer.json().error.message).toContain('email');
    }),
  );

  describe('usernames', () => {
    const named = (world: AccountsWorld, username: string, email = `${crypto.randomUUID()}@example.org`) =>
      register(world, { ...alice, email, username });

    test.each([
      ['a control character', 'ali\u0007ce'],
      ['a line break', 'ali\nce'],
      ['a tab', 'ali\tce'],
      ['a zero-width space', 'ali\u200bce'],
      ['a right-to-left override', 'ali\u202ece'],
      ['a soft hyphen', 'ali\u00adce'],
      ['a byte order mark', 'ali\ufeffce'],
      ['a line separator', 'ali\u2028ce'],
      ['a paragraph separator', 'ali\u2029ce'],
      ['half of a surrogate pair', 'ali\udfffce'],
      ['nothing but spaces', ' \u00a0 '],
      ['only invisible characters', '\u3164\u034f \u2800'],
    ])('may not hold %s', (_, username) =>
      withWorld({ env: OPEN }, async (world) => {
        const answer = await named(world, username);
        expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'validation_failed']);
        expect(answer.json().error.message).toContain('username');
      }),
    );

    test('have one space for each run of white space', () =>
      withWorld({ env: OPEN }, async (world) => {
        const answer = await named(world, '  Alice  \u00a0\u3000 Smith ');
        expect(answer.json().user?.username).toBe('Alice Smith');
      }));

    test.each([
      ['alice', 'Alice'],
      ['alice', '\uff41lice'],
      ['\u2167', 'viii'],
      ['Stra\u00dfe', 'STRASSE'],
      ['\u039f\u03b4\u03cc\u03c2', '\u039f\u0394\u038c\u03a3'],
      ['caf\u00e9', 'cafe\u0301'],
      ['Al  ice', 'al ice'],
    ])('look equal, and the second is refused: %j and %j', (first, second) =>
      withWorld({ env: OPEN }, async (world) => {
        expect((await named(world, first)).statusCode).toBe(201);
        const answer = await named(world, second);
        expect([answer.statusCode, answer.json().error.code]).toEqual([409, 'conflict']);
      }),
    );

    test('of twenty concurrent look-alikes one gets the name', () =>
      withWorld(
        { env: OPEN, limits: { signIn: { capacity: 200, refillEveryMs: 1 }, hashQueue: ROOMY_QUEUE } },
        async (world) => {
          const forms = Array.from({ length: 20 }, (_, bits) =>
            [...'alice'].map((sign, n) => ((bits >> n) & 1 ? sign.toUpperCase() : sign)).join(''),
          );
          const answers = await Promise.all(forms.map((form) => named(world, form)));
          expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, ...Array(19).fill(409)]);
        },
      ));
  });

  test('takes no role, and nothing else that is not declared', () =>
    withWorld({ env: OPEN }, async (world) => {
      for (const body of [
        { ...alice, role: 'admin' },
        { ...alice, email: 1 },
        { ...alice, password: undefined },
        [],
      ]) {
        expect((await register(world, body)).json().error.code).toBe('validation_failed');
      }
    }));

  test('wants an invite in invite_only mode, and gives the role the invite has', () =>
    withWorld({ env: { REGISTRATION_MODE: 'invite_only' } }, async (world) => {
      const past = world.clock.nowMs() - 1;
      await addInvite(world, 'good', { role: 'admin' });
      await addInvite(world, 'expired', { expires_at: past });
      await addInvite(world, 'revoked', { revoked_at: past });
      await addInvite(world, 'used', { used_count: 1 });
      const refusals = [];
      for (const code of [undefined, null, '', 'unknown', 'expired', 'revoked', 'used']) {
        refusals.push(await register(world, { ...alice, invite_code: code }));
      }
      expect(new Set(refusals.map((answer) => answer.body)).size).toBe(1);
      expect(refusals[0]?.json().error.code).toBe('invalid_invite');
      const answer = await register(world, { ...alice, invite_code: 'good' });
      expect([answer.statusCode, answer.json().user.role]).toEqual([201, 'admin']);
    }));

  test('uses an invite once for any number of concurrent requests, and restores it on a conflict', () =>
    withWorld(
      {
        env: { REGISTRATION_MODE: 'invite_only' },
        limits: { signIn: { capacity: 200, refillEveryMs: 1 }, hashQueue: ROOMY_QUEUE },
      },
      async (world) => {
        await addInvite(world, 'first');
        await register(world, { ...alice, invite_code: 'first' });
        await addInvite(world, 'once');
        expect((await register(world, { ...alice, invite_code: 'once' })).statusCode).toBe(409);
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            register(world, {
              email: `u${i}@example.org`,
              username: `user${i}`,
              password: PASSWORD,
              invite_code: 'once',
            }),
          ),
        );
        const statuses = answers.map((answer) => answer.statusCode).sort();
        expect(statuses).toEqual([201, ...Array(19).fill(400)]);
      },
    ));

  test('checks the mode and the invite before it waits for a hash, and makes no account without a hash', () =>
    withWorld(
      {
        limits: {
          hashQueue: { parallel: 1, waiting: 0, knownOnly: 0, perAddress: 1 },
          hashCost: HASH_COST,
          signIn: { capacity: 200, refillEveryMs: 1 },
        },
      },
      async (world) => {
        const attempts = (more: object = {}) =>
          Promise.all(
            Array.from({ length: 4 }, (_, i) =>
              register(world, {
                email: `u${i}@example.org`,
                username: `user${i}`,
                password: PASSWORD,
                ...more,
              }),
            ),
          );
        const setMode = (registration_mode: 'open' | 'invite_only') =>
          world.db.updateTable('instance_settings').set({ registration_mode }).execute();

        expect((await attempts()).map((answer) => answer.statusCode)).toEqual([403, 403, 403, 403]);
        await setMode('invite_only');
        const uninvited = await attempts({ invite_code: 'none' });
        expect(new Set(uninvited.map((answer) => answer.json().error.code))).toEqual(
          new Set(['invalid_invite']),
        );
        await setMode('open');
        const answers = await attempts();
        const refused = answers.filter((answer) => answer.statusCode === 429);
        expect(refused.length).toBeGreaterThanOrEqual(1);
        for (const answer of refused) expect(answer.headers['retry-after']).toBe('1');
        const made = answers.filter((answer) => answer.statusCode === 201);
        const users = await world.db.selectFrom('users').select('id').where('internal', '=', 0).execute();
        expect(made).toHaveLength(users.length);
        expect(made.length + refused.length).toBe(4);
      },
    ));
});
