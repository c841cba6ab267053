import { launchProfile } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, refused, type TestApp } from '../testing/index.ts';
import { type ProfileWorld, profileWorld } from './testing/world.ts';

const PATH = '/v1/admin/launch-profiles';

describeDatabases('launch profiles', (databases) => {
  let app: TestApp;
  let world: ProfileWorld;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    world = profileWorld(app);
    await world.rung('low');
    await world.rung('mid', { codec: 'hevc' });
    await world.rung('high', { codec: 'av1' });
  });
  afterAll(() => app.close());

  const read = async (id: string) => (await world.ask('GET', `${PATH}/${id}`)).body;
  const chainOf = (record: { rungs: { position: number; stream_profile: { id: string } }[] }) =>
    record.rungs.map(({ position, stream_profile }) => [position, stream_profile.id]);

  describe('GET', () => {
    test('lists all visibilities by sort_order, then id', async () => {
      await world.profile('order-b', ['low'], { sort_order: -5, visibility: 'internal' });
      await world.profile('order-B', ['low'], { sort_order: -5 });
      await world.profile('order-a', ['low'], { sort_order: -5, visibility: 'debug' });
      await world.profile('order-first', ['low'], { sort_order: -6 });
      const { status, body } = await world.ask('GET', PATH);
      expect(status).toBe(200);
      const ids = body.items.map(({ id }: { id: string }) => id);
      expect(ids.slice(0, 5)).toEqual(['order-first', 'order-B', 'order-a', 'order-b', '4k120']);
      expect(ids).toContain('720p30');
      for (const item of body.items) expect(launchProfile.strict().parse(item)).toEqual(item);
    });

    test('reads one with its chain, and says 404 for none', async () => {
      expect(chainOf(await read('4k60'))).toEqual([
        [1, '4k60-av1'],
        [2, '4k60-hevc'],
        [3, '1440p60-av1'],
        [4, '1080p60-h264'],
      ]);
      refused(await world.ask('GET', `${PATH}/nowhere`), 404, 'not_found');
    });

    test('says what refers to it', async () => {
      await world.profile('used', ['low']);
      const second = await world.app({ name: 'Zoo', default_profile_id: 'used', profile_policy: 'prefer' });
      const first = await world.app({ name: 'Arena', default_profile_id: 'used' });
      await world.app({ name: 'Listing only', launchable_profile_ids: ['used'] });
      await world.ask('PATCH', '/v1/admin/profile-policy', { global_default_profile_id: 'used' });
      for (const person of [app.people.alice, app.people.bob])
        await app.call(person, 'PATCH', '/v1/me/profile-preferences', {
          body: { default_profile_id: 'used' },
        });
      expect((await read('used')).used_by).toEqual({
        apps: [
          { id: first.id, name: 'Arena' },
          { id: second.id, name: 'Zoo' },
        ],
        global_default: true,
        user_preferences: 2,
      });
      expect((await read('4k60')).used_by).toEqual({ apps: [], global_default: false, user_preferences: 0 });
      await world.ask('PATCH', '/v1/admin/profile-policy', { global_default_profile_id: null });
    });
  });

  describe('POST', () => {
    test('fills in what is left out and numbers the chain from 1', async () => {
      const record = await world.profile('plain', ['high', 'mid', 'low']);
      expect(launchProfile.strict().parse(record)).toEqual(record);
      expect(record).toMatchObject({
        id: 'plain',
        display_name: 'Profile plain',
        description: '',
        visibility: 'user',
        sort_order: 0,
        used_by: { apps: [], global_default: false, user_preferences: 0 },
        allowed_by: { apps: 0, alone: 0 },
        warnings: [],
      });
      expect(chainOf(record)).toEqual([
        [1, 'high'],
        [2, 'mid'],
        [3, 'low'],
      ]);
      expect(await read('plain')).toEqual(record);
      expect(await world.audited('launch_profile.create')).toEqual({
        actor_user_id: app.people.admin.id,
        target_type: 'launch_profile',
        target_id: 'plain',
        details: { name: 'Profile plain' },
      });
    });

    test('warns without refusing', async () => {
      const record = await world.profile('warned', ['low', 'high']);
      expect(record.warnings.map(({ code }) => code)).toEqual(['h264_floor_not_last']);
      // The H.264 rung of 4k60 needs more bandwidth than the 1440p AV1 rung before it.
      const shipped = (await read('4k60')).warnings as typeof record.warnings;
      expect(shipped.map(({ code }) => code)).toEqual(['floor_not_least_demanding']);
    });

    test.each([
      ['no id', { id: undefined }],
      ['a blank id', { id: '  ' }],
      ['an id that no address can name', { id: '..' }],
      ['the other such id', { id: '.' }],
      ['no name', { display_name: undefined }],
      ['a blank name', { display_name: ' ' }],
      ['no rungs', { rungs: undefined }],
      ['an empty chain', { rungs: [] }],
      ['a rung twice', { rungs: ['low', 'high', 'low'] }],
      ['an unknown rung', { rungs: ['low', 'nowhere'] }],
      ['no h264 rung', { rungs: ['high', 'mid'] }],
      ['a number as a rung', { rungs: [1] }],
      ['more rungs than there are', { rungs: Array.from({ length: 40_000 }, (_, index) => `r${index}`) }],
      ['another visibility', { visibility: 'admin' }],
      ['a sort_order beyond 32 bits', { sort_order: 2_147_483_648 }],
      ['null for the description', { description: null }],
      ['what only reads have', { warnings: [] }],
    ])('%s: 400', async (_what, fields) => {
      const body = { id: 'bad', display_name: 'Bad', rungs: ['low'], ...fields };
      refused(await world.ask('POST', PATH, body), 400, 'validation_failed');
      refused(await world.ask('GET', `${PATH}/bad`), 404, 'not_found');
    });

    test('409 for an id that is taken; 400 comes first', async () => {
      const body = { id: '4k60', display_name: 'Again', rungs: ['low'] };
      expect(refused(await world.ask('POST', PATH, body), 409, 'conflict')).toContain('4k60');
      refused(await world.ask('POST', PATH, { ...body, rungs: ['high'] }), 400, 'validation_failed');
    });
  });

  describe('PATCH', () => {
    test('changes what it names and leaves the chain alone', async () => {
      const record = await world.profile('patched', ['high', 'low']);
      const { status, body } = await world.ask('PATCH', `${PATH}/patched`, {
        description: 'New words',
        sort_order: 7,
        visibility: 'debug',
      });
      expect(status).toBe(200);
      expect(body).toEqual({ ...record, description: 'New words', sort_order: 7, visibility: 'debug' });
      expect(await world.audited('launch_profile.update')).toMatchObject({
        target_id: 'patched',
        details: { keys: ['description', 'sort_order', 'visibility'] },
      });
    });

    test('replaces the whole chain by rungs', async () => {
      await world.profile('rechained', ['high', 'mid', 'low']);
      const { body } = await world.ask('PATCH', `${PATH}/rechained`, { rungs: ['low', 'high'] });
      expect(chainOf(body)).toEqual([
        [1, 'low'],
        [2, 'high'],
      ]);
    });

    test('takes an empty change as none', async () => {
      const record = await world.profile('still', ['low']);
      const before = [await world.version(), await world.audited('launch_profile.update')];
      expect((await world.ask('PATCH', `${PATH}/still`, {})).body).toEqual(record);
      expect([await world.version(), await world.audited('launch_profile.update')]).toEqual(before);
    });

    test.each([
      [{ rungs: [] }],
      [{ rungs: null }],
      [{ rungs: ['high'] }],
      [{ rungs: ['low', 'low'] }],
      [{ rungs: ['nowhere', 'low'] }],
      [{ display_name: '' }],
      [{ id: 'other' }],
    ])('%j: 400, and nothing changes', async (body) => {
      await world.ask('POST', PATH, { id: 'firm', display_name: 'Firm', rungs: ['low'] });
      const before = await read('firm');
      refused(
        await world.ask('PATCH', `${PATH}/firm`, { sort_order: 99, ...body }),
        400,
        'validation_failed',
      );
      expect(await read('firm')).toEqual(before);
    });

    test('a body that is wrong by itself comes before 404, and 404 before the rungs are looked up', async () => {
      refused(await world.ask('PATCH', `${PATH}/nowhere`, { rungs: [] }), 400, 'validation_failed');
      refused(await world.ask('PATCH', `${PATH}/nowhere`, { rungs: ['nowhere'] }), 404, 'not_found');
    });
  });

  describe('DELETE', () => {
    test('deletes its chain, but no rung', async () => {
      await world.profile('gone', ['high', 'low']);
      const answer = await world.ask('DELETE', `${PATH}/gone`);
      expect([answer.status, answer.text]).toEqual([204, '']);
      refused(await world.ask('DELETE', `${PATH}/gone`), 404, 'not_found');
      expect(await world.audited('launch_profile.delete')).toMatchObject({
        target_id: 'gone',
        details: { name: 'Profile gone' },
      });
      expect((await world.ask('GET', '/v1/admin/stream-profiles')).text).toContain('"high"');
    });

    const setPolicy = (id: string | null) =>
      world.ask('PATCH', '/v1/admin/profile-policy', { global_default_profile_id: id });
    const setPreference = (id: string | null) =>
      app.call(app.people.alice, 'PATCH', '/v1/me/profile-preferences', {
        body: { default_profile_id: id },
      });
    const setDefaultOfApp = async (id: string | null) => {
      const { items } = (await world.ask('GET', '/v1/admin/apps?q=Arcade')).body;
      const record = items[0] ?? (await world.app({ name: 'Arcade' }));
      return world.ask('PATCH', `/v1/apps/${record.id}`, { default_profile_id: id });
    };
    test.each([
      ['an app', setDefaultOfApp, 'Arcade'],
      ['the instance', setPolicy, 'instance'],
      ['a person', setPreference, 'one person'],
    ])('409 while it is the default of %s', async (_what, setDefault, named) => {
      await world.profile('wanted', ['low']);
      expect((await setDefault('wanted')).status).toBe(200);
      expect(refused(await world.ask('DELETE', `${PATH}/wanted`), 409, 'conflict')).toContain(named);
      expect((await setDefault(null)).status).toBe(200);
      expect((await world.ask('DELETE', `${PATH}/wanted`)).status).toBe(204);
    });

    test('leaves the lists of apps, and names those that are without limit now', async () => {
      await world.profile('listed', ['low']);
      await world.profile('other', ['low']);
      const widened = await world.app({ name: 'Wide', launchable_profile_ids: ['listed'] });
      const limited = await world.app({ name: 'Narrow', launchable_profile_ids: ['listed', 'other'] });
      await world.app({ name: 'Free' });
      expect((await read('listed')).allowed_by).toEqual({ apps: 2, alone: 1 });
      expect((await read('other')).allowed_by).toEqual({ apps: 1, alone: 0 });
      expect((await world.ask('DELETE', `${PATH}/listed`)).status).toBe(204);
      const lists = async (id: string) =>
        (await world.ask('GET', `/v1/apps/${id}`)).body.app.launchable_profile_ids;
      expect(await lists(widened.id)).toEqual([]);
      expect(await lists(limited.id)).toEqual(['other']);
      expect(await world.audited('launch_profile.delete')).toMatchObject({
        details: { name: 'Profile listed', allow_list_widened_apps: ['Wide'] },
      });
      await world.profile('unlisted', ['low']);
      await world.ask('DELETE', `${PATH}/unlisted`);
      expect(await world.audited('launch_profile.delete')).toMatchObject({
        details: { name: 'Profile unlisted' },
      });
    });

    test('while somebody makes it a default: one of the two is refused, and never with 5xx', async () => {
      for (let round = 0; round < 5; round += 1) {
        await world.profile('raced', ['low']);
        const [deleted, preferred, made] = await Promise.all([
          world.ask('DELETE', `${PATH}/raced`),
          app.call(app.people.bob, 'PATCH', '/v1/me/profile-preferences', {
            body: { default_profile_id: 'raced' },
          }),
          world.ask('POST', '/v1/apps', { name: 'Raced', launchable_profile_ids: ['raced'] }),
        ]);
        expect([204, 409]).toContain(deleted.status);
        expect(preferred.status).toBe(deleted.status === 204 ? 400 : 200);
        expect([201, 400]).toContain(made.status);
        await app.call(app.people.bob, 'PATCH', '/v1/me/profile-preferences', {
          body: { default_profile_id: null },
        });
        await world.ask('DELETE', `${PATH}/raced`);
      }
    });
  });

  test('every write invalidates the lists of apps', async () => {
    const writes = [
      () => world.profile('bump', ['low']),
      () => world.ask('PATCH', `${PATH}/bump`, { rungs: ['low', 'high'] }),
      () => world.ask('DELETE', `${PATH}/bump`),
    ];
    for (const write of writes) {
      const before = await world.version();
      await write();
      expect(await world.version()).toBeGreaterThan(before);
    }
  });
});
