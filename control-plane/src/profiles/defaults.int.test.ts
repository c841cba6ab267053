import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, refused, type TestApp } from '../testing/index.ts';
import { type ProfileWorld, profileWorld } from './testing/world.ts';

const POLICY = '/v1/admin/profile-policy';
const PREFERENCES = '/v1/me/profile-preferences';

describeDatabases('defaults', (databases) => {
  let app: TestApp;
  let world: ProfileWorld;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    world = profileWorld(app);
  });
  afterAll(() => app.close());

  describe('the profile policy', () => {
    test('starts with no default and overrides allowed', async () => {
      const { status, body } = await world.ask('GET', POLICY);
      expect([status, body]).toEqual([
        200,
        { global_default_profile_id: null, user_overrides_allowed: true },
      ]);
    });

    test('changes what it names; null clears the default', async () => {
      const changed = await world.ask('PATCH', POLICY, { global_default_profile_id: '1440p60' });
      expect(changed.body).toEqual({ global_default_profile_id: '1440p60', user_overrides_allowed: true });
      expect(await world.audited('profile_policy.update')).toEqual({
        actor_user_id: app.people.admin.id,
        target_type: 'instance',
        target_id: 'profile_policy',
        details: { keys: ['global_default_profile_id'] },
      });
      const closed = await world.ask('PATCH', POLICY, { user_overrides_allowed: false });
      expect(closed.body).toEqual({ global_default_profile_id: '1440p60', user_overrides_allowed: false });
      const cleared = await world.ask('PATCH', POLICY, {
        global_default_profile_id: null,
        user_overrides_allowed: true,
      });
      expect(cleared.body).toEqual({ global_default_profile_id: null, user_overrides_allowed: true });
      expect((await world.ask('GET', POLICY)).body).toEqual(cleared.body);
      expect(await world.audited('profile_policy.update')).toMatchObject({
        details: { keys: ['global_default_profile_id', 'user_overrides_allowed'] },
      });
    });

    test.each([
      [{ global_default_profile_id: 'nowhere' }],
      [{ global_default_profile_id: '' }],
      [{ global_default_profile_id: '720p30' }],
      [{ global_default_profile_id: '1080p60-h264' }],
      [{ global_default_profile_id: 7 }],
      [{ user_overrides_allowed: null }],
      [{ user_overrides_allowed: 'false' }],
      [{ user_overrides_allowed: false, global_default_profile_id: 'nowhere' }],
    ])('%j: 400, and nothing changes', async (body) => {
      const before = [(await world.ask('GET', POLICY)).body, await world.audited('profile_policy.update')];
      refused(await world.ask('PATCH', POLICY, body), 400, 'validation_failed');
      expect([(await world.ask('GET', POLICY)).body, await world.audited('profile_policy.update')]).toEqual(
        before,
      );
    });

    test('invalidates the lists of apps with every change, but not with an empty one', async () => {
      const before = await world.version();
      await world.ask('PATCH', POLICY, {});
      expect(await world.version()).toBe(before);
      await world.ask('PATCH', POLICY, { user_overrides_allowed: true });
      expect(await world.version()).toBeGreaterThan(before);
    });
  });

  describe("a person's own default", () => {
    const read = async (person = app.people.alice) => (await app.call(person, 'GET', PREFERENCES)).body;
    const write = (body: object, person = app.people.alice) =>
      app.call(person, 'PATCH', PREFERENCES, { body });
    beforeEach(() => write({ default_profile_id: null }));

    test('is none at first, and comes with what the instance says', async () => {
      await world.ask('PATCH', POLICY, { global_default_profile_id: '4k60', user_overrides_allowed: true });
      expect(await read()).toEqual({
        default_profile_id: null,
        global_default_profile_id: '4k60',
        user_overrides_allowed: true,
      });
    });

    test('is set, kept where a change does not name it, and cleared by null or ""', async () => {
      const { status, body } = await write({ default_profile_id: '720p60' });
      expect([status, body.default_profile_id]).toEqual([200, '720p60']);
      expect((await write({})).body.default_profile_id).toBe('720p60');
      expect((await write({ default_profile_id: '1080p60' })).body).toEqual(await read());
      expect((await read()).default_profile_id).toBe('1080p60');
      expect((await write({ default_profile_id: '' })).body.default_profile_id).toBeNull();
      await write({ default_profile_id: '720p60' });
      expect((await write({ default_profile_id: null })).body.default_profile_id).toBeNull();
    });

    test('is each person’s own', async () => {
      await write({ default_profile_id: '720p60' });
      expect((await read(app.people.bob)).default_profile_id).toBeNull();
      expect((await read(app.people.admin)).default_profile_id).toBeNull();
    });

    test('accepts an answer as it was read, whatever the ignored fields contain', async () => {
      const answer = await read();
      const echo = { ...answer, default_profile_id: '720p60', global_default_profile_id: 5 };
      expect((await write({ ...echo, user_overrides_allowed: 'no' })).body).toEqual({
        ...answer,
        default_profile_id: '720p60',
      });
    });

    test('may be chosen while overrides are off', async () => {
      await world.ask('PATCH', POLICY, { user_overrides_allowed: false });
      expect((await write({ default_profile_id: '720p60' })).body).toMatchObject({
        default_profile_id: '720p60',
        user_overrides_allowed: false,
      });
      await world.ask('PATCH', POLICY, { user_overrides_allowed: true });
    });

    test.each([['nowhere'], ['720p30'], ['1080p60-h264'], [' '], [5], [['720p60']], ['7\u0000']])(
      '%j: 400, and the choice stays',
      async (default_profile_id) => {
        await write({ default_profile_id: '720p60' });
        refused(await write({ default_profile_id }), 400, 'validation_failed');
        expect((await read()).default_profile_id).toBe('720p60');
      },
    );

    test('shows in no list of apps, and is not audited', async () => {
      const before = await world.version();
      const record = await world.app({ name: 'Mine' });
      const created = await world.version();
      expect(created).toBeGreaterThan(before);
      await write({ default_profile_id: '720p60' });
      expect(await world.version()).toBe(created);
      const { body } = await app.call(app.people.alice, 'GET', `/v1/apps/${record.id}`);
      expect(body.app.display_stream.height).not.toBe(720);
    });
  });
});
