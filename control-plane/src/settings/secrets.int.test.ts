import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, loggedActivity, type TestApp } from '../testing/index.ts';
import { createSecrets, type Secrets } from './index.ts';
import { sealValue } from './secret-cipher.ts';

const NAME = 'artwork.steamgriddb.api_key';
const URL = `/v1/admin/secrets/${NAME}`;
const VALUE = 'a-value-of-some-length-9f3a';
const keyText = (version: number, byte = version) =>
  `${version}:${Buffer.alloc(32, byte).toString('base64')}`;

describeDatabases('secrets', ({ fresh }) => {
  /** Services on the same database, started with other variables. */
  let app: TestApp;
  let keyless: TestApp;
  let withEnvironment: TestApp;
  let rotated: TestApp;
  let withOtherKey: TestApp;
  beforeAll(async () => {
    const target = await fresh();
    const boot = (env: Record<string, string>) => createTestApp(target, { seedPeople: false, env });
    app = await createTestApp(target, { env: { SERVICE_SECRET_KEY: keyText(1) } });
    keyless = await boot({});
    withEnvironment = await boot({
      SERVICE_SECRET_KEY: keyText(1),
      SERVICE_STEAMGRIDDB_API_KEY: 'value-of-the-environment',
    });
    rotated = await boot({ SERVICE_SECRET_KEY: keyText(5), SERVICE_SECRET_KEY_PREVIOUS: keyText(1) });
    withOtherKey = await boot({ SERVICE_SECRET_KEY: keyText(1, 77) });
  });
  afterAll(async () => {
    for (const each of [app, keyless, withEnvironment, rotated, withOtherKey]) await each.close();
  });

  const set = (value: unknown, on = app) => on.call(app.people.admin, 'PUT', URL, { body: { value } });
  const clear = (on = app) => on.call(app.people.admin, 'DELETE', URL);
  const list = async (on = app) => (await on.call(app.people.admin, 'GET', '/v1/admin/secrets')).body;
  const status = async (on = app) => (await list(on)).secrets[0];
  const resolve = (on: TestApp): ReturnType<Secrets['resolve']> =>
    createSecrets(on.plane.platform).resolve(NAME);
  const row = () =>
    app.plane.platform.database.db.selectFrom('secrets').selectAll().executeTakeFirstOrThrow();
  const actions = () => loggedActivity(app, { target_type: 'secret' });

  test('are listed by name with nothing stored: no value, no hint, no origin', async () => {
    expect(await list()).toEqual({
      secrets: [
        {
          name: NAME,
          label: 'SteamGridDB API key',
          description: expect.stringContaining('SteamGridDB'),
          env_var: 'SERVICE_STEAMGRIDDB_API_KEY',
          docs_url: 'https://www.steamgriddb.com/profile/preferences/api',
          configured: false,
          readable: false,
          hint: '',
          env_set: false,
          origin: 'none',
          key_version: 0,
          updated_by: null,
          updated_at: null,
        },
      ],
      master_key_configured: true,
      key_versions: [1],
    });
    expect(await list(keyless)).toMatchObject({ master_key_configured: false, key_versions: [] });
    expect(await resolve(app)).toEqual({ origin: 'none', value: null });
  });

  describe('a write', () => {
    test('stores the trimmed value encrypted, answers its status and is audited by name only', async () => {
      const answer = await set(`  ${VALUE}\n`);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        secret: expect.objectContaining({
          configured: true,
          readable: true,
          hint: '9f3a',
          origin: 'database',
          key_version: 1,
          updated_by: app.people.admin.id,
          updated_at: new Date(app.clock.nowMs()).toISOString(),
        }),
        master_key_configured: true,
      });
      expect(answer.body.secret).toEqual(await status());
      expect(await resolve(app)).toEqual({ origin: 'database', value: VALUE });
      expect((await actions()).at(-1)).toMatchObject({
        action: 'instance.secret.set',
        actor_user_id: app.people.admin.id,
        target_id: NAME,
        details: {},
      });
    });

    test('takes a new nonce each time, so that one value never looks the same twice', async () => {
      await set(VALUE);
      const first = await row();
      await set(VALUE);
      const second = await row();
      expect(Buffer.from(first.nonce, 'base64')).toHaveLength(12);
      expect(second.nonce).not.toBe(first.nonce);
      expect(second.ciphertext).not.toBe(first.ciphertext);
    });

    test('gives no hint of a value under 12 characters', async () => {
      expect((await set('elevenchars')).body.secret).toMatchObject({ configured: true, hint: '' });
    });

    test.each([[''], [' \n'], [null], [7], [['x']], [undefined], ['nul \0']])(
      'of %j is 400',
      async (value) => {
        const before = await row();
        expect((await set(value)).body.error.code).toBe('validation_failed');
        expect(await row()).toEqual(before);
      },
    );

    test('over 64 KiB is 400', async () => {
      expect((await set('x'.repeat(64 * 1024))).body.error.code).toBe('validation_failed');
    });

    test('of a name that is not declared is 404, after the body and before the master key', async () => {
      const elsewhere = (body: unknown) =>
        keyless.call(app.people.admin, 'PUT', '/v1/admin/secrets/artwork.other', { body });
      expect((await elsewhere({ value: '' })).status).toBe(400);
      expect((await elsewhere({ value: VALUE })).status).toBe(404);
    });

    test('without a master key is 409 and leaves what is stored', async () => {
      const before = await row();
      const audited = (await actions()).length;
      const answer = await set(VALUE, keyless);
      expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict']);
      expect(answer.body.error.message).toContain('SERVICE_SECRET_KEY');
      expect(await row()).toEqual(before);
      expect(await actions()).toHaveLength(audited);
    });
  });

  describe('the value in force', () => {
    test('is the stored one, then the one of the environment, then none', async () => {
      await set(VALUE);
      expect(await resolve(withEnvironment)).toEqual({ origin: 'database', value: VALUE });
      expect(await status(withEnvironment)).toMatchObject({ origin: 'database', env_set: true });
      await clear();
      expect(await resolve(withEnvironment)).toEqual({
        origin: 'environment',
        value: 'value-of-the-environment',
      });
      expect(await status(withEnvironment)).toMatchObject({
        configured: false,
        readable: false,
        origin: 'environment',
        env_set: true,
        hint: '',
        key_version: 0,
      });
      expect(await resolve(app)).toEqual({ origin: 'none', value: null });
    });

    test('is none when the stored one cannot be decrypted, and the environment is not used', async () => {
      await set(VALUE);
      const { platform } = withEnvironment.plane;
      const { environment } = platform.config.secrets;
      const config = { ...platform.config, secrets: { keys: null, environment } };
      const secrets = createSecrets({ ...platform, config });
      expect(await secrets.resolve(NAME)).toEqual({
        origin: 'none',
        value: null,
        problem: expect.stringContaining('does not match'),
      });
      for (const shut of [keyless, withOtherKey]) {
        expect(await status(shut)).toMatchObject({
          configured: true,
          readable: false,
          origin: 'none',
          key_version: 1,
          hint: '9f3a',
          problem: expect.stringContaining('does not match'),
        });
      }
      expect(await status()).not.toHaveProperty('problem');
    });

    test('can be set again under another key: that overwrites what cannot be decrypted', async () => {
      await set(VALUE);
      const renewed = await set('another value of some length', withOtherKey);
      expect(renewed.body.secret).toMatchObject({ readable: true, origin: 'database' });
      expect(await status()).toMatchObject({ readable: false });
      await set(VALUE);
    });
  });

  describe('a rotated master key', () => {
    test('still decrypts values of a former key, and the next write uses the new one', async () => {
      await set(VALUE);
      expect(await list(rotated)).toMatchObject({
        key_versions: [1, 5],
        secrets: [{ readable: true, key_version: 1, origin: 'database' }],
      });
      expect(await resolve(rotated)).toEqual({ origin: 'database', value: VALUE });
      expect((await set(VALUE, rotated)).body.secret).toMatchObject({ key_version: 5, readable: true });
      expect(await resolve(rotated)).toEqual({ origin: 'database', value: VALUE });
      // A service with only the former key can no longer read it.
      expect(await status()).toMatchObject({
        readable: false,
        key_version: 5,
        problem: expect.stringContaining('version 5'),
      });
      await set(VALUE);
    });
  });

  describe('a removal', () => {
    test('is 204 and audited, works without a master key, and does nothing the second time', async () => {
      await set(VALUE);
      const before = (await actions()).length;
      expect((await clear(keyless)).status).toBe(204);
      expect(await status()).toMatchObject({ configured: false, key_version: 0, updated_by: null });
      expect((await actions()).slice(before)).toEqual([
        expect.objectContaining({ action: 'instance.secret.cleared', target_id: NAME, details: {} }),
      ]);
      expect((await clear()).status).toBe(204);
      expect(await actions()).toHaveLength(before + 1);
    });

    test('of a name that is not declared is 404', async () => {
      const answer = await app.call(app.people.admin, 'DELETE', '/v1/admin/secrets/constructor');
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
    });
  });

  test('stay when the administrator who stored them is deleted', async () => {
    const leaver = await app.addPerson('leaver', 'admin');
    await app.call(leaver, 'PUT', URL, { body: { value: VALUE } });
    await app.plane.platform.database.db.deleteFrom('users').where('id', '=', leaver.id).execute();
    expect(await status()).toMatchObject({ readable: true, updated_by: null });
  });

  test('stay shut when a thief puts the ciphertext of another name in their place', async () => {
    await set(VALUE);
    const { keys } = app.plane.platform.config.secrets;
    if (keys === null) throw new Error('the test has a master key');
    const stolen = sealValue(keys.current, 'another.name', 'stolen value', Buffer.alloc(12, 1));
    await app.plane.platform.database.db.updateTable('secrets').set(stolen).execute();
    expect(await resolve(app)).toEqual({
      origin: 'none',
      value: null,
      problem: expect.stringContaining('does not match'),
    });
    expect(await status()).toMatchObject({ configured: true, readable: false, origin: 'none' });
  });
});
