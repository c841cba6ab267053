import { listedStreamProfile, streamProfile } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addSession, createTestApp, describeDatabases, refused, type TestApp } from '../../testing/index.ts';
import { type ProfileWorld, profileWorld, RUNG_BODY } from '../testing/world.ts';

const PATH = '/v1/admin/stream-profiles';

describeDatabases('rungs', (databases) => {
  let app: TestApp;
  let world: ProfileWorld;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    world = profileWorld(app);
  });
  afterAll(() => app.close());

  const list = async () => {
    const { status, body } = await world.ask('GET', PATH);
    expect(status).toBe(200);
    return body.items as ReturnType<typeof listedStreamProfile.parse>[];
  };
  const find = async (id: string) => (await list()).find((rung) => rung.id === id);

  describe('GET', () => {
    test('lists every rung by id, with what uses it and nothing where nothing does', async () => {
      const record = await world.app({});
      const { id: userId } = app.people.alice;
      await addSession(app, { appId: record.id, userId, state: 'stopped', streamProfileId: '720p30-h264' });
      await addSession(app, { appId: record.id, userId, state: 'pending', streamProfileId: '720p30-h264' });
      await world.rung('Zero');
      const items = await list();
      expect(items.map(({ id }) => id)).toEqual(items.map(({ id }) => id).sort());
      for (const item of items) expect(listedStreamProfile.strict().parse(item)).toEqual(item);
      expect(await find('720p30-h264')).toMatchObject({
        used_by: [{ id: '720p30', display_name: '720p · 30 FPS' }],
        session_count: 2,
      });
      expect((await find('1080p60-av1'))?.used_by?.map(({ id }) => id)).toEqual(['1080p60', '1440p60']);
      expect(await find('1080p60-av1')).not.toHaveProperty('session_count');
      expect(await find('Zero')).not.toHaveProperty('used_by');
    });
  });

  describe('POST', () => {
    test('fills in what is left out', async () => {
      const record = await world.rung('defaults');
      expect(record).toEqual({
        id: 'defaults',
        ...RUNG_BODY,
        h264_profile: 'high',
        min_offer_bandwidth_kbps: 0,
        recommended_offer_bandwidth_kbps: 0,
        headroom_factor: 1.5,
        abr_floor_kbps: 0,
        max_startup_rtt_ms: 0,
        min_decode_height: 0,
        high_refresh_display: 'none',
        hardware_encoder_required: false,
        browser_client: 'supported',
        playout0_ms: 50,
        visibility: 'internal',
      });
      expect(await find('defaults')).toEqual(record);
      expect(await world.audited('stream_profile.create')).toEqual({
        actor_user_id: app.people.admin.id,
        target_type: 'stream_profile',
        target_id: 'defaults',
        details: { name: 'A rung' },
      });
    });

    test('keeps every field as sent, any text as an id among them', async () => {
      const sent = {
        id: 'Größe/100% “x”',
        display_name: ' Kino ',
        codec: 'av1',
        width: 7680,
        height: 16,
        fps: 240,
        h264_profile: 'main',
        nominal_bitrate_kbps: 500_000,
        min_offer_bandwidth_kbps: 2_147_483_647,
        recommended_offer_bandwidth_kbps: 1,
        headroom_factor: 0.001,
        abr_floor_kbps: 2,
        max_startup_rtt_ms: 3,
        min_decode_height: 4,
        high_refresh_display: 'recommended',
        hardware_encoder_required: true,
        browser_client: 'risky',
        playout0_ms: 0,
        visibility: 'user',
      } as const;
      expect(await world.rung(sent.id, sent)).toEqual(sent);
      expect(await find(sent.id)).toEqual(sent);
      const url = `${PATH}/${encodeURIComponent(sent.id)}`;
      expect((await world.ask('PATCH', url, { fps: 30 })).body).toEqual({ ...sent, fps: 30 });
      expect((await world.ask('DELETE', url)).status).toBe(204);
    });

    test.each([
      ['an id missing', { id: undefined }],
      ['a blank id', { id: ' ' }],
      ['an id that no address can name', { id: '..' }],
      ['the other such id', { id: '.' }],
      ['an id over 128 characters', { id: 'x'.repeat(129) }],
      ['a blank name', { display_name: '\t' }],
      ['a name missing', { display_name: undefined }],
      ['the session spelling of hevc', { codec: 'h265' }],
      ['no codec', { codec: undefined }],
      ['an odd width', { width: 1281 }],
      ['a width below 16', { width: 14 }],
      ['a height above 7680', { height: 7682 }],
      ['no height', { height: undefined }],
      ['fps 0', { fps: 0 }],
      ['fps 241', { fps: 241 }],
      ['fps 29.97', { fps: 29.97 }],
      ['another h264 profile', { h264_profile: 'baseline' }],
      ['bitrate 0', { nominal_bitrate_kbps: 0 }],
      ['bitrate 500001', { nominal_bitrate_kbps: 500_001 }],
      ['a negative bandwidth', { min_offer_bandwidth_kbps: -1 }],
      ['a bandwidth beyond 32 bits', { recommended_offer_bandwidth_kbps: 2_147_483_648 }],
      ['headroom 0', { headroom_factor: 0 }],
      ['headroom as text', { headroom_factor: '1.5' }],
      ['a negative floor', { abr_floor_kbps: -1 }],
      ['a negative round trip', { max_startup_rtt_ms: -1 }],
      ['a negative height', { min_decode_height: -1 }],
      ['another display', { high_refresh_display: 'maybe' }],
      ['hardware as a number', { hardware_encoder_required: 1 }],
      ['another browser', { browser_client: 'fine' }],
      ['a negative delay', { playout0_ms: -1 }],
      ['another visibility', { visibility: 'admin' }],
      ['null for what cannot be cleared', { visibility: null }],
      ['what only reads have', { used_by: [] }],
    ])('%s: 400', async (_what, fields) => {
      const body = { ...RUNG_BODY, id: 'bad', ...fields };
      refused(await world.ask('POST', PATH, body), 400, 'validation_failed');
    });

    test('409 for an id that is taken, and nothing changes; 400 comes first', async () => {
      await world.rung('taken');
      const body = { ...RUNG_BODY, id: 'taken', display_name: 'Second' };
      expect(refused(await world.ask('POST', PATH, body), 409, 'conflict')).toContain('taken');
      refused(await world.ask('POST', PATH, { ...body, fps: 0 }), 400, 'validation_failed');
      expect((await find('taken'))?.display_name).toBe('A rung');
      expect(await world.audited('stream_profile.create')).not.toMatchObject({ details: { name: 'Second' } });
    });
  });

  describe('PATCH', () => {
    test('changes what it names, ignores an id, and says which keys', async () => {
      const record = await world.rung('changed');
      const { status, body } = await world.ask('PATCH', `${PATH}/changed`, {
        id: 'other',
        headroom_factor: 2,
        hardware_encoder_required: true,
      });
      expect(status).toBe(200);
      expect(body).toEqual({ ...record, headroom_factor: 2, hardware_encoder_required: true });
      expect(streamProfile.strict().parse(await find('changed'))).toEqual(body);
      expect(await world.audited('stream_profile.update')).toMatchObject({
        target_id: 'changed',
        details: { keys: ['hardware_encoder_required', 'headroom_factor'] },
      });
    });

    test('takes an empty change, and an id alone, as none', async () => {
      const record = await world.rung('unchanged');
      const before = [await world.version(), await world.audited('stream_profile.update')];
      for (const body of [{}, { id: 7 }])
        expect((await world.ask('PATCH', `${PATH}/unchanged`, body)).body).toEqual(record);
      expect([await world.version(), await world.audited('stream_profile.update')]).toEqual(before);
    });

    test.each([[{ codec: null }], [{ width: 17 }], [{ display_name: '' }], [{ session_count: 1 }]])(
      '%j: 400',
      async (body) => {
        await world.ask('POST', PATH, { ...RUNG_BODY, id: 'strict' });
        refused(await world.ask('PATCH', `${PATH}/strict`, body), 400, 'validation_failed');
      },
    );

    test('400 before 404', async () => {
      refused(await world.ask('PATCH', `${PATH}/nowhere`, { fps: 0 }), 400, 'validation_failed');
      refused(await world.ask('PATCH', `${PATH}/nowhere`, { fps: 30 }), 404, 'not_found');
    });

    test('409 for a codec that leaves a chain without h264, naming every such chain', async () => {
      await world.rung('only-h264');
      await world.rung('any-av1', { codec: 'av1' });
      await world.profile('broken-1', ['any-av1', 'only-h264']);
      await world.profile('broken-2', ['only-h264']);
      await world.profile('whole', ['only-h264', '720p60-h264']);
      const message = refused(
        await world.ask('PATCH', `${PATH}/only-h264`, { codec: 'hevc', fps: 30 }),
        409,
        'conflict',
      );
      expect(message).toContain('broken-1');
      expect(message).toContain('broken-2');
      expect(message).not.toContain('whole');
      expect(await find('only-h264')).toMatchObject({ codec: 'h264', fps: 60 });
    });

    test('warns where a new codec makes a chain doubtful, and only where the codec is new', async () => {
      await world.rung('top', { codec: 'av1' });
      await world.rung('bottom');
      await world.profile('doubtful', ['bottom', 'top']);
      await world.profile('second', ['bottom', 'top', '720p30-h264']);
      const { body } = await world.ask('PATCH', `${PATH}/top`, { codec: 'hevc' });
      expect(body.warnings).toEqual([
        { code: 'h264_floor_not_last', message: expect.stringContaining('doubtful') },
        { code: 'floor_not_least_demanding', message: expect.stringContaining('second') },
      ]);
      const same = await world.ask('PATCH', `${PATH}/top`, { codec: 'hevc', fps: 30 });
      expect(same.body).not.toHaveProperty('warnings');
      const clean = await world.ask('PATCH', `${PATH}/any-av1`, { codec: 'hevc' });
      expect([clean.status, 'warnings' in clean.body]).toEqual([200, false]);
    });

    test('two changes at once cannot take the last h264 rung of a chain together', async () => {
      await world.rung('left');
      await world.rung('right');
      await world.profile('pair', ['left', 'right']);
      const answers = await Promise.all(
        ['left', 'right'].map((id) => world.ask('PATCH', `${PATH}/${id}`, { codec: 'av1' })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    });
  });

  describe('DELETE', () => {
    test('takes a rung that nothing uses, once', async () => {
      await world.rung('gone');
      const answer = await world.ask('DELETE', `${PATH}/gone`);
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(await find('gone')).toBeUndefined();
      expect(await world.audited('stream_profile.delete')).toMatchObject({
        target_id: 'gone',
        details: { name: 'A rung' },
      });
      refused(await world.ask('DELETE', `${PATH}/gone`), 404, 'not_found');
    });

    test('409 while a chain lists it, naming the launch profiles', async () => {
      expect(refused(await world.ask('DELETE', `${PATH}/1080p60-h264`), 409, 'conflict')).toContain('4k60');
      expect(await find('1080p60-h264')).toBeDefined();
    });

    test.each(['pending', 'stopped'] as const)('409 while a %s session recorded it', async (state) => {
      const id = `recorded-${state}`;
      await world.rung(id);
      const record = await world.app({});
      await addSession(app, {
        appId: record.id,
        userId: app.people.alice.id,
        state,
        streamProfileId: id,
        ageDays: 400,
      });
      refused(await world.ask('DELETE', `${PATH}/${id}`), 409, 'conflict');
    });
  });

  test('every write invalidates the lists of apps', async () => {
    const writes = [
      () => world.rung('bump'),
      () => world.ask('PATCH', `${PATH}/bump`, { fps: 30 }),
      () => world.ask('DELETE', `${PATH}/bump`),
    ];
    for (const write of writes) {
      const before = await world.version();
      await write();
      expect(await world.version()).toBeGreaterThan(before);
    }
  });
});
