import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeDatabases, PASSWORD } from '../../testing/index.ts';
import { type AccountsWorld, ADMIN, openAccountsWorld } from '../testing/world.ts';
import { attempt, claimsOf, finish, signOn } from './testing/browser.ts';
import { type RealProvider, startRealProvider } from './testing/real-provider.ts';

let provider: RealProvider;
beforeAll(async () => {
  provider = await startRealProvider();
});
afterAll(() => provider.close());

describeDatabases('concurrent sign-ins with a provider', ({ fresh }) => {
  let world: AccountsWorld;
  beforeEach(async () => {
    world = await openAccountsWorld(await fresh(), {
      env: { ...provider.env, REGISTRATION_MODE: 'open', SERVICE_OIDC_ADMIN_GROUP: 'masters' },
      limits: { signIn: { capacity: 10_000, refillEveryMs: 1 } },
    });
    await world.claim();
  });
  afterEach(() => world.close());

  /** Finishes all attempts at the same moment. */
  const finishAll = (attempts: readonly { cookie: string; answer: string }[]) =>
    Promise.all(attempts.map((each) => finish(world, each)));

  test('ten first sign-ins of one person create one account', async () => {
    const attempts = [];
    for (let n = 0; n < 10; n += 1) attempts.push(await attempt(world, provider, 'ada', claimsOf('ada')));
    const answers = await finishAll(attempts);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ user }) => user.id)).size).toBe(1);
  });

  test('three persons with the same name get three usernames', async () => {
    const attempts = [];
    for (let n = 0; n < 3; n += 1) {
      const claims = { email: `bob${n}@example.org`, preferred_username: 'bob' };
      attempts.push(await attempt(world, provider, `bob-${n}`, claims));
    }
    const answers = await finishAll(attempts);
    expect(answers.map(({ user }) => user.username).sort()).toEqual(['bob', 'bob-2', 'bob-3']);
  });

  test('of two persons with the email of one account one is linked', async () => {
    await world.register('carol');
    const attempts = [];
    for (const subject of ['carol-1', 'carol-2'])
      attempts.push(await attempt(world, provider, subject, claimsOf('carol')));
    const answers = await finishAll(attempts);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test('a registration with the same email at the same moment leaves one account', async () => {
    const person = await attempt(world, provider, 'dan', claimsOf('dan'));
    const body = { email: 'dan@example.org', username: 'dan', password: PASSWORD };
    const [answer] = await Promise.all([
      finish(world, person),
      world.call('POST', '/v1/auth/register', { body }),
    ]);
    expect(answer.status).toBe(200);
    const rows = await world.db
      .selectFrom('users')
      .select('id')
      .where('email', '=', 'dan@example.org')
      .execute();
    expect(rows).toEqual([{ id: answer.user.id }]);
  });

  test('of two last administrators who lose their group at the same moment one keeps the role', async () => {
    const { user } = await signOn(world, provider, 'zoe', claimsOf('zoe', { groups: ['masters'] }));
    expect(user.role).toBe('admin');
    const root = { email: ADMIN.email, email_verified: true, groups: [] };
    const attempts = [
      await attempt(world, provider, 'zoe', claimsOf('zoe')),
      await attempt(world, provider, 'root', root),
    ];
    const roles = await Promise.all(attempts.map(async (each) => (await finish(world, each)).user.role));
    expect(roles.sort()).toEqual(['admin', 'user']);
  });

  test('a demotion, while an administrator creates links for new passwords, leaves none', async () => {
    const boss = await signOn(world, provider, 'eve', claimsOf('eve', { groups: ['masters'] }));
    const ids = [];
    for (const name of ['fay', 'gus', 'hal']) {
      await world.register(name);
      ids.push((await world.login(`${name}@example.org`)).user.id);
    }
    const demotion = await attempt(world, provider, 'eve', claimsOf('eve'));
    await Promise.all([
      finish(world, demotion),
      ...ids.map((id) => world.call('POST', `/v1/users/${id}/password-reset`, { bearer: boss.access_token })),
    ]);
    const links = await world.db
      .selectFrom('users')
      .select('id')
      .where('password_reset_hash', 'is not', null)
      .execute();
    expect(links).toEqual([]);
  });
});
