import { DAY_MS } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createTestApp,
  describeDatabases,
  dumpDatabase,
  FREE_SIGN_IN,
  loggedActivity,
  OPEN_REGISTRATION,
  ofOneProcess,
  PASSWORD,
  type Person,
  refused,
  signIn,
  signUp,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

const NEW_PASSWORD = 'violet lantern parade';

describeDatabases('a link that resets a password', ({ fresh }) => {
  let app: TestApp;
  let admin: Person;
  let alice: Person;
  let number = 0;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: { ...OPEN_REGISTRATION, PUBLIC_BASE_URL: 'https://play.example.org/base/' },
      overrides: { accountLimits: FREE_SIGN_IN },
    });
    admin = app.people.admin;
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    number += 1;
    alice = await signUp(app, `alice${number}`);
  });

  const db = () => app.plane.platform.database.db;
  const make = (id: string, as: Person | null = admin) =>
    app.call(as, 'POST', `/v1/users/${id}/password-reset`);
  const tokenFor = async (id: string): Promise<string> =>
    new URL((await make(id)).body.url).searchParams.get('token') ?? '';
  const redeem = (token: string, more: object = {}, as = app) =>
    as.call(null, 'POST', '/v1/auth/password-reset', { body: { token, password: NEW_PASSWORD, ...more } });
  const isSignedIn = async (as: Person) => (await app.call(as, 'GET', '/v1/me')).status === 200;
  const dead = (answer: Awaited<ReturnType<typeof redeem>>) => {
    refused(answer, 401, 'unauthorized');
    return answer.body.error.message;
  };

  test('is made for an account, ends in a day, and is written down without its token', async () => {
    const answer = await make(alice.id);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      url: expect.stringMatching(/^https:\/\/play\.example\.org\/base\/reset\?token=[A-Za-z0-9_-]{43}$/),
      address_source: 'configured',
      expires_at: new Date(app.clock.nowMs() + DAY_MS).toISOString(),
    });
    const token = new URL(answer.body.url).searchParams.get('token') ?? '';
    const [row] = await loggedActivity(app, { target_type: 'user', target_id: alice.id });
    expect(row).toMatchObject({ actor_user_id: admin.id, action: 'user.password_reset_link', details: {} });
    expect(await dumpDatabase(app.plane.platform.database)).not.toContain(token);
    expect(app.log.join('')).not.toContain(token);
  });

  test('sets the password, signs the person in, and signs every device out', async () => {
    const tv = await signIn(app, alice.username, 'tv');
    const answer = await redeem(await tokenFor(alice.id), { device_key: 'laptop' });
    expect([answer.status, answer.body.token_type]).toEqual([200, 'Bearer']);
    expect(answer.body.user).toMatchObject({ id: alice.id, username: alice.username });
    expect(answer.headers['set-cookie']).toBeUndefined();
    for (const former of [alice, tv]) refused(await app.call(former, 'GET', '/v1/me'), 401, 'unauthorized');
    const now = { ...alice, token: answer.body.access_token as string };
    const { devices } = (await app.call(now, 'GET', '/v1/me/devices')).body;
    const current = devices.map((each: { device_key: string; current: boolean }) => [
      each.device_key,
      each.current,
    ]);
    expect(Object.fromEntries(current)).toEqual({ laptop: true, tv: false });
    await expect(signIn(app, alice.username)).rejects.toThrow('invalid_credentials');
    expect(await isSignedIn(await signIn(app, alice.username, undefined, NEW_PASSWORD))).toBe(true);
    expect(await isSignedIn(app.people.bob)).toBe(true);
  });

  test('gives an administrator the cookie of the pages', async () => {
    await db().updateTable('users').set({ role: 'admin' }).where('id', '=', alice.id).execute();
    const answer = await redeem(await tokenFor(alice.id));
    expect(String(answer.headers['set-cookie'])).toContain('service_page=');
  });

  describe('is invalid, with one answer for all reasons,', () => {
    test('after its use, replacement, end, disabling, and a new password', async () => {
      const messages: unknown[] = [dead(await redeem('x'.repeat(43))), dead(await redeem(''))];

      const used = await tokenFor(alice.id);
      expect((await redeem(used)).status).toBe(200);
      messages.push(dead(await redeem(used)));

      const replaced = await tokenFor(alice.id);
      const second = await tokenFor(alice.id);
      messages.push(dead(await redeem(replaced)));

      const atItsEnd = { password_reset_expires_at: app.clock.nowMs() };
      await db().updateTable('users').set(atItsEnd).where('id', '=', alice.id).execute();
      messages.push(dead(await redeem(second)));

      const disabled = await tokenFor(alice.id);
      for (const state of [true, false]) {
        const change = await app.call(admin, 'PATCH', `/v1/users/${alice.id}`, { body: { disabled: state } });
        expect(change.status).toBe(200);
        messages.push(dead(await redeem(disabled)));
      }

      const outdated = await tokenFor(alice.id);
      const own = await signIn(app, alice.username, undefined, NEW_PASSWORD);
      const body = { current_password: NEW_PASSWORD, new_password: PASSWORD };
      expect((await app.call(own, 'POST', '/v1/me/password', { body })).status).toBe(204);
      messages.push(dead(await redeem(outdated)));

      expect(new Set(messages).size).toBe(1);
    });

    test('while its account is disabled', async () => {
      await app.call(admin, 'PATCH', `/v1/users/${alice.id}`, { body: { disabled: true } });
      dead(await redeem(await tokenFor(alice.id)));
    });

    test('with its account', async () => {
      const token = await tokenFor(alice.id);
      expect((await app.call(admin, 'DELETE', `/v1/users/${alice.id}`)).status).toBe(204);
      dead(await redeem(token));
    });
  });

  test('a password that breaks a rule leaves the link valid', async () => {
    const token = await tokenFor(alice.id);
    for (const password of ['short', 'password1234', `about ${alice.username} alone`]) {
      refused(await redeem(token, { password }), 400, 'validation_failed');
    }
    expect((await redeem(token)).status).toBe(200);
  });

  test('of ten concurrent uses one wins', async () => {
    const token = await tokenFor(alice.id);
    const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)]);
  });

  test('is for administrators to make, and for accounts that they see', async () => {
    refused(await make(alice.id, alice), 403, 'forbidden');
    refused(await make(alice.id, null), 401, 'unauthorized');
    refused(await make(UNKNOWN_ID), 404, 'not_found');
    refused(await make('x'), 400, 'validation_failed');
    await db().updateTable('users').set({ internal: 1 }).where('id', '=', alice.id).execute();
    refused(await make(alice.id), 404, 'not_found');
  });

  test.each([
    ['is demoted', { method: 'PATCH', body: { role: 'user' } }],
    ['is disabled', { method: 'PATCH', body: { disabled: true } }],
    ['is deleted', { method: 'DELETE' }],
  ])('of an administrator who %s opens no account any more', async (what, { method, ...change }) => {
    const former = await app.addPerson(`${what.replaceAll(' ', '')}${number}`, 'admin');
    const other = await app.addPerson(`other${what.replaceAll(' ', '')}${number}`, 'admin');
    const tokens = [
      new URL((await make(other.id, former)).body.url).searchParams.get('token'),
      new URL((await make(alice.id, former)).body.url).searchParams.get('token'),
    ];
    const answer = await app.call(admin, method, `/v1/users/${former.id}`, change);
    expect(answer.status).toBeLessThan(300);
    for (const token of tokens) dead(await redeem(token ?? ''));
    expect(await isSignedIn(other)).toBe(true);
  });

  test('stays valid when an administrator is made, or a person disabled', async () => {
    const token = await tokenFor(alice.id);
    const bob = await signUp(app, `bob${number}`);
    for (const body of [{ role: 'admin' }, { max_concurrent_sessions: 2 }])
      expect((await app.call(admin, 'PATCH', `/v1/users/${bob.id}`, { body })).status).toBe(200);
    const carol = await signUp(app, `carol${number}`);
    expect(
      (await app.call(admin, 'PATCH', `/v1/users/${carol.id}`, { body: { disabled: true } })).status,
    ).toBe(200);
    expect((await redeem(token)).status).toBe(200);
  });

  test('an administrator who was demoted meanwhile cannot make one', async () => {
    const demoted = await app.addPerson(`demoted${number}`, 'admin');
    const [change, link] = await Promise.all([
      app.call(admin, 'PATCH', `/v1/users/${demoted.id}`, { body: { role: 'user' } }),
      make(alice.id, demoted),
    ]);
    expect(change.status).toBe(200);
    expect([201, 403]).toContain(link.status);
    refused(await make(alice.id, demoted), 403, 'forbidden');
  });
});

describeDatabases('guesses of links that reset passwords', ({ fresh }) => {
  ofOneProcess('share the bucket of sign-ins', async () => {
    const app = await createTestApp(await fresh(), {
      overrides: { accountLimits: { ...FREE_SIGN_IN, signIn: { capacity: 3, refillEveryMs: 60_000 } } },
    });
    try {
      const guess = () =>
        app.call(null, 'POST', '/v1/auth/password-reset', { body: { token: 'x', password: NEW_PASSWORD } });
      const login = () => app.call(null, 'POST', '/v1/auth/login', { body: { email: 'a', password: 'b' } });
      expect((await login()).status).toBe(401);
      expect([(await guess()).status, (await guess()).status]).toEqual([401, 401]);
      const limited = await guess();
      refused(limited, 429, 'rate_limited');
      expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
      expect((await login()).status).toBe(429);
    } finally {
      await app.close();
    }
  });
});
