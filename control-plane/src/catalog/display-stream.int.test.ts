import type { AdminApp } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';

const OWN = { width: 1600, height: 900, fps: 50, bitrate_kbps: 9000 };
const OF_4K60 = { width: 3840, height: 2160, fps: 60, bitrate_kbps: 12_500 };
const OF_720P60 = { width: 1280, height: 720, fps: 60, bitrate_kbps: 4500 };

describeDatabases('launch profiles of apps', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
  });
  afterAll(() => app.close());

  const ask = (method: string, url: string, body?: object) =>
    app.call(app.people.admin, method, url, body && { body });
  const setGlobal = (global_default_profile_id: string | null) =>
    ask('PATCH', '/v1/admin/profile-policy', { global_default_profile_id });
  const create = (fields: object) =>
    ask('POST', '/v1/apps', {
      name: 'An app',
      default_width: OWN.width,
      default_height: OWN.height,
      default_fps: OWN.fps,
      default_bitrate_kbps: OWN.bitrate_kbps,
      ...fields,
    });
  const created = async (fields: object): Promise<AdminApp> => {
    const answer = await create(fields);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.app;
  };
  /** The stream of an app; expects that lists and single reads give the same one to a person and to administrators. */
  const shown = async (id: string) => {
    const inList = async (url: string, as = app.people.alice) =>
      (await app.call(as, 'GET', url)).body.items.find((item: AdminApp) => item.id === id);
    const views = [
      await inList('/v1/apps?limit=1000'),
      await inList('/v1/admin/apps?limit=1000', app.people.admin),
      (await app.call(app.people.alice, 'GET', `/v1/apps/${id}`)).body.app,
      (await ask('GET', `/v1/apps/${id}`)).body.app,
    ].map((view) => view.display_stream);
    for (const view of views) expect(view).toEqual(views[0]);
    return views[0];
  };
  beforeEach(() => setGlobal(null));

  describe('display_stream', () => {
    test.each([
      ['inherit', null, null, OWN],
      ['inherit', '4k60', null, OWN],
      ['inherit', '4k60', '720p60', OF_720P60],
      ['prefer', '4k60', '720p60', OF_4K60],
      ['prefer', null, '720p60', OF_720P60],
      ['prefer', null, null, OWN],
      ['force', '4k60', '720p60', OF_4K60],
      ['force', null, '720p60', OF_720P60],
      ['force', null, null, OWN],
    ] as const)(
      'policy %s, own default %j, global default %j',
      async (profile_policy, default_profile_id, globalDefault, expected) => {
        await setGlobal(globalDefault);
        const record = await created({ profile_policy, default_profile_id });
        expect(record.display_stream).toEqual(expected);
        expect(await shown(record.id)).toEqual(expected);
      },
    );

    test('follows rungs, chains and the policy in lists that were read before', async () => {
      const record = await created({});
      expect(await shown(record.id)).toEqual(OWN);
      await ask('POST', '/v1/admin/stream-profiles', {
        id: 'own-rung',
        display_name: 'Own',
        codec: 'h264',
        width: 640,
        height: 480,
        fps: 25,
        nominal_bitrate_kbps: 1000,
      });
      const chain = { id: 'own', display_name: 'Own', rungs: ['own-rung', '720p60-h264'] };
      await ask('POST', '/v1/admin/launch-profiles', chain);
      await setGlobal('own');
      expect(await shown(record.id)).toEqual({ width: 640, height: 480, fps: 25, bitrate_kbps: 1000 });
      await ask('PATCH', '/v1/admin/stream-profiles/own-rung', { fps: 30, nominal_bitrate_kbps: 1200 });
      expect(await shown(record.id)).toEqual({ width: 640, height: 480, fps: 30, bitrate_kbps: 1200 });
      await ask('PATCH', '/v1/admin/launch-profiles/own', { rungs: ['720p60-h264', 'own-rung'] });
      expect(await shown(record.id)).toEqual(OF_720P60);
      await setGlobal(null);
      expect(await shown(record.id)).toEqual(OWN);
    });

    test('is not what a person chose', async () => {
      const record = await created({});
      const body = { default_profile_id: '4k60' };
      await app.call(app.people.alice, 'PATCH', '/v1/me/profile-preferences', { body });
      expect(await shown(record.id)).toEqual(OWN);
    });
  });

  describe('a default that people may no longer choose', () => {
    test('stays stored, but cannot be set again', async () => {
      await ask('POST', '/v1/admin/launch-profiles', {
        id: 'hidden',
        display_name: 'Hidden',
        rungs: ['720p60-h264'],
      });
      const record = await created({ default_profile_id: 'hidden', launchable_profile_ids: ['hidden'] });
      await ask('PATCH', '/v1/admin/launch-profiles/hidden', { visibility: 'internal' });
      const patch = (fields: object) => ask('PATCH', `/v1/apps/${record.id}`, fields);
      const renamed = await patch({ name: 'Renamed' });
      expect(renamed.body.app).toMatchObject({
        default_profile_id: 'hidden',
        launchable_profile_ids: ['hidden'],
      });
      for (const fields of [{ default_profile_id: 'hidden' }, { launchable_profile_ids: ['hidden'] }]) {
        const answer = await patch(fields);
        expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
      }
      expect((await create({ default_profile_id: 'hidden' })).status).toBe(400);
    });
  });

  test('a tile that takes force from its parent has no list of its own', async () => {
    const parent = await created({ profile_policy: 'force', default_profile_id: '4k60' });
    const tile = { parent_app_id: parent.id, external_source: 'steam', external_id: '620' };
    const refused = await create({ ...tile, launchable_profile_ids: ['720p60'] });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'validation_failed']);
    const record = await created({ ...tile, profile_policy: 'prefer', launchable_profile_ids: ['720p60'] });
    expect(record).toMatchObject({
      default_profile_id: '4k60',
      profile_policy: 'prefer',
      launchable_profile_ids: ['720p60'],
      display_stream: OF_4K60,
    });
  });

  test('a list with more names than a statement can hold is refused like any other with an unknown name', async () => {
    const launchable_profile_ids = Array.from({ length: 70_000 }, (_, index) => `p${index}`);
    const answer = await create({ launchable_profile_ids });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
  });
});
