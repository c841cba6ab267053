import { DAY_MS } from '@footlight/platform';
import { operations, type ProfileOffer, type RatedLaunchProfile } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { instant } from '../../platform/database/index.ts';
import type { ClientFailuresTable } from '../../platform/database/tables/profiles.ts';
import {
  addHost,
  createTestApp,
  describeDatabases,
  type Person,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';
import { type ProfileWorld, profileWorld } from '../testing/world.ts';

const GOOD = {
  bandwidth_kbps: 50_000,
  rtt_ms: 5,
  max_decode_height: 2160,
  codecs: { hevc: true, av1: true },
  display: { refresh_hz: 144 },
};

describeDatabases('what a person is offered', (databases) => {
  let app: TestApp;
  let world: ProfileWorld;
  /** A person that only this test uses. */
  let carol: Person;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    world = profileWorld(app);
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.clock.pass(1_000);
    carol = await app.addPerson(`carol-${app.plane.platform.random.uuid()}`);
  });

  /** Stores a device that was seen now, with capabilities that were measured `ageDays` ago. */
  async function device(capabilities: object | null, { ageDays = 0, person = carol } = {}): Promise<string> {
    const { database, random } = app.plane.platform;
    const now = app.clock.nowMs();
    const id = random.uuid();
    const stored =
      capabilities === null ? {} : { ...capabilities, measured_at: instant(now - ageDays * DAY_MS) };
    await database.db
      .insertInto('devices')
      .values({
        id,
        user_id: person.id,
        device_key: id,
        trusted: 0,
        capabilities: JSON.stringify(stored),
        first_seen_at: now,
        last_seen_at: now,
      })
      .execute();
    return id;
  }

  const recordFailure = (row: Partial<ClientFailuresTable> & { device_id: string }) =>
    app.plane.platform.database.db
      .insertInto('client_failures')
      .values({
        launch_profile_id: '',
        stream_profile_id: '',
        codec: '',
        outcome: 'fail',
        recorded_at: app.clock.nowMs(),
        ...row,
      })
      .execute();

  const offer = async (query = '', person = carol): Promise<ProfileOffer> => {
    const { status, body } = await app.call(person, 'GET', `/v1/me/profiles${query}`);
    expect([status, body.error]).toEqual([200, undefined]);
    return operations['me.profiles'].responses[200].strict().parse(body);
  };
  const find = ({ profiles }: ProfileOffer, id: string): RatedLaunchProfile => {
    const found = profiles.find((profile) => profile.id === id);
    if (!found) throw new Error(`no ${id}`);
    return found;
  };
  const codes = (judged: { eligibility: string; reasons: { code: string }[] }) => [
    judged.eligibility,
    ...judged.reasons.map(({ code }) => code),
  ];

  describe('without a measurement', () => {
    test('is every launch profile for people in sort_order, 1080p60 recommended with low confidence', async () => {
      const all = await offer();
      expect(all.profiles.map(({ id }) => id)).toEqual([
        ...['4k120', '4k90', '4k60', '1440p120', '1440p90', '1440p60'],
        ...['1080p120', '1080p90', '1080p60', '720p120', '720p90', '720p60'],
      ]);
      expect([all.recommended_id, all.confidence]).toEqual(['1080p60', 'low']);
      expect(all.notes.map(({ code }) => code)).toEqual(['probe_missing']);
    });

    test('shows the numbers of the first rung, and each rung with its verdict and nothing that only lists have', async () => {
      const best = find(await offer(), '4k120');
      expect(best).toMatchObject({
        display_name: '4K · 120 FPS',
        nominal: { width: 3840, height: 2160, fps: 120, bitrate_kbps: 18_000 },
      });
      expect(codes(best)).toEqual(['risky', 'browser_playout_unsupported', 'display_refresh_unknown']);
      expect(best.rungs.map(({ id, position }) => [id, position])).toEqual([
        ['4k120-av1', 1],
        ['4k120-hevc', 2],
        ['1440p120-av1', 3],
        ['1080p120-h264', 4],
      ]);
      for (const key of ['used_by', 'session_count', 'warnings'])
        expect(best.rungs[0]).not.toHaveProperty(key);
    });

    test.each([
      ['no device', async () => undefined, 'probe_missing'],
      ['a device that never measured', () => device(null), 'probe_missing'],
      ['a measurement of 31 days ago', () => device(GOOD, { ageDays: 31 }), 'probe_stale'],
    ])('is judged as such with %s', async (_what, prepare, note) => {
      await prepare();
      const all = await offer();
      expect(all.notes.map(({ code }) => code)).toEqual([note]);
      expect([all.recommended_id, all.confidence]).toEqual(['1080p60', 'low']);
      expect(codes(find(all, '720p60'))).toEqual(['eligible']);
    });
  });

  describe('with a measurement', () => {
    test('recommends the first profile that is fully eligible, with high confidence', async () => {
      await device(GOOD);
      const all = await offer();
      expect([all.recommended_id, all.confidence, all.notes]).toEqual(['1440p120', 'high', []]);
      expect(codes(find(all, '4k60'))).toEqual(['risky', 'browser_playout_unsupported']);
    });

    test('recommends the last, with low confidence, where none is', async () => {
      await device({ ...GOOD, bandwidth_kbps: 1_000 });
      const all = await offer();
      expect([all.recommended_id, all.confidence]).toEqual(['720p60', 'low']);
      expect(all.profiles.map(({ eligibility }) => eligibility)).not.toContain('eligible');
    });

    test('falls back along the chain: a first rung that cannot be played leaves the profile risky', async () => {
      await device({ ...GOOD, codecs: { h264: true }, bandwidth_kbps: 12_000 });
      const all = await offer();
      const mixed = find(all, '1080p60');
      expect(codes(mixed)).toEqual(['risky', 'codec_not_supported']);
      expect(mixed.rungs.map(({ eligibility }) => eligibility)).toEqual([
        'ineligible',
        'ineligible',
        'eligible',
      ]);
      expect(all.recommended_id).toBe('720p120');
    });

    test('counts the device seen last', async () => {
      await device(GOOD);
      await app.clock.pass(1_000);
      await device({ ...GOOD, max_decode_height: 480 });
      expect(codes(find(await offer(), '720p60'))).toEqual(['ineligible', 'decode_height_too_low']);
      await app.clock.pass(1_000);
      await device(null);
      expect((await offer()).notes.map(({ code }) => code)).toEqual(['probe_missing']);
    });

    test("counts nobody else's device", async () => {
      await device(GOOD, { person: app.people.bob });
      expect((await offer()).notes.map(({ code }) => code)).toEqual(['probe_missing']);
    });
  });

  describe('with recorded failures', () => {
    const FAILED = ['ineligible', 'historical_client_performance_failed'];

    test('excludes a rung everywhere it is listed, and the profiles that end on it', async () => {
      const device_id = await device(GOOD);
      await recordFailure({
        device_id,
        launch_profile_id: '1080p60',
        stream_profile_id: '1080p60-av1',
        codec: 'av1',
      });
      const all = await offer();
      expect(codes(find(all, '1080p60'))).toEqual(['risky', 'historical_client_performance_failed']);
      expect(find(all, '1440p60').rungs.map(codes)[2]).toEqual(FAILED);
      await recordFailure({ device_id, stream_profile_id: '1080p60-h264', codec: 'h264' });
      const floor = await offer();
      for (const id of ['4k60', '1440p60', '1080p60']) expect(codes(find(floor, id))).toEqual(FAILED);
      expect(codes(find(floor, '720p60'))).toEqual(['eligible']);
    });

    test('excludes a launch profile for 30 days, also without a measurement', async () => {
      const device_id = await device(null);
      const at = app.clock.nowMs();
      await recordFailure({
        device_id,
        launch_profile_id: '720p60',
        codec: 'h264',
        recorded_at: at - 30 * DAY_MS,
      });
      await recordFailure({ device_id, launch_profile_id: '720p90', recorded_at: at - 30 * DAY_MS - 1 });
      const all = await offer();
      expect(codes(find(all, '720p60'))).toEqual(FAILED);
      expect(codes(find(all, '720p90'))).toEqual(['risky', 'display_refresh_unknown']);
    });

    test('counts those of the device seen last and of no other', async () => {
      const device_id = await device(GOOD);
      await recordFailure({ device_id, launch_profile_id: '720p60' });
      await app.clock.pass(1_000);
      await device(GOOD);
      expect(codes(find(await offer(), '720p60'))).toEqual(['eligible']);
    });
  });

  describe('within what the hosts encode for one session', () => {
    /** Adds a host with this encoder rate and two slots while `work` runs. */
    async function withHost(
      fields: { codec_throughput: string | null; encoder: string },
      work: () => Promise<void>,
    ) {
      const { db } = app.plane.platform.database;
      const id = await addHost(app, `host-${app.plane.platform.random.uuid()}`);
      const effective_settings = JSON.stringify({ encoder: fields.encoder });
      await db
        .updateTable('hosts')
        .set({
          status: 'online',
          capacity_detection: 'ok',
          codec_throughput: fields.codec_throughput,
          effective_settings,
        })
        .where('id', '=', id)
        .execute();
      await db
        .insertInto('gpus')
        .values({
          id: app.plane.platform.random.uuid(),
          host_id: id,
          gpu_index: 0,
          vendor: 'software',
          model: 'CPU',
          vram_mb_total: 0,
          slots_total: 2,
          slots_used: 0,
          slots_guard: 2,
          reported: 1,
          created_at: app.clock.nowMs(),
        })
        .execute();
      await app.clock.pass(5_000);
      try {
        await work();
      } finally {
        await db.deleteFrom('gpus').where('host_id', '=', id).execute();
        await db.deleteFrom('hosts').where('id', '=', id).execute();
        await app.clock.pass(5_000);
      }
    }
    const mpixelS = (figure: number) => JSON.stringify({ h264: { max_pixel_rate_mpix_s: figure } });

    test.each([
      ['software: half of a slot', { encoder: 'openh264', codec_throughput: mpixelS(240) }, '720p60', true],
      ['hardware: all of it', { encoder: 'nvenc', codec_throughput: mpixelS(480) }, '1440p60', true],
      ['hardware with room for all', { encoder: 'nvenc', codec_throughput: mpixelS(900) }, '1440p120', false],
      ['not measured: no limit', { encoder: 'openh264', codec_throughput: null }, '1440p120', false],
    ] as const)('%s', async (_what, fields, id, limited) => {
      await device(GOOD);
      await withHost(fields, async () => {
        const all = await offer();
        expect([all.recommended_id, all.confidence]).toEqual([id, 'high']);
        expect(all.notes.map(({ code }) => code)).toEqual(limited ? ['host_encoder_limited'] : []);
      });
    });

    test('is 720p60 without a probe, where a host encodes and draws with its CPU', async () => {
      await withHost({ encoder: 'openh264', codec_throughput: mpixelS(240) }, async () => {
        const all = await offer();
        expect([all.recommended_id, all.confidence]).toEqual(['720p60', 'low']);
        expect(all.notes.map(({ code }) => code)).toEqual(['probe_missing', 'host_encoder_limited']);
      });
    });
  });

  describe('for an app', () => {
    const limited = async (fields: object) => {
      const record = await world.app(fields);
      const all = await offer(`?app_id=${record.id}`);
      return { ids: all.profiles.map(({ id }) => id), all };
    };

    test.each<[string, object, string[] | 'all']>([
      ['without a list: all', {}, 'all'],
      ['with a list: those', { launchable_profile_ids: ['720p60', '4k60'] }, ['4k60', '720p60']],
      [
        'that prefers one: its list and that one',
        {
          launchable_profile_ids: ['720p60'],
          profile_policy: 'prefer',
          default_profile_id: '1440p60',
        },
        ['1440p60', '720p60'],
      ],
      [
        'that inherits: its list without its default',
        { launchable_profile_ids: ['720p60'], default_profile_id: '1440p60' },
        ['720p60'],
      ],
      ['that forces one: all', { profile_policy: 'force', default_profile_id: '720p60' }, 'all'],
    ])('%s', async (_what, fields, expected) => {
      const everything = (await offer()).profiles.map(({ id }) => id);
      expect((await limited(fields)).ids).toEqual(expected === 'all' ? everything : expected);
    });

    test('recommends one of the remaining profiles', async () => {
      const { all } = await limited({ launchable_profile_ids: ['4k60', '720p60'] });
      expect([all.recommended_id, all.confidence]).toEqual(['720p60', 'low']);
      await device(GOOD);
      const measured = await limited({ launchable_profile_ids: ['4k60', '720p60'] });
      expect([measured.all.recommended_id, measured.all.confidence]).toEqual(['720p60', 'high']);
    });

    test("recommends no more than the app's own numbers, where they are not the defaults", async () => {
      const small = { default_width: 1280, default_height: 720, default_fps: 30 };
      const { all } = await limited(small);
      expect([all.recommended_id, all.confidence]).toEqual(['720p60', 'low']);
      expect(all.notes.map(({ code }) => code)).toEqual(['probe_missing', 'app_size_limited']);
      const unset = await limited({ default_width: 1920, default_height: 1080, default_fps: 60 });
      expect(unset.all.recommended_id).toBe('1080p60');
    });

    test('leaves out what people may no longer choose, down to nothing', async () => {
      await world.profile('fading', ['720p30-h264']);
      const record = await world.app({ launchable_profile_ids: ['fading'] });
      await world.ask('PATCH', '/v1/admin/launch-profiles/fading', { visibility: 'internal' });
      expect(await offer(`?app_id=${record.id}`)).toMatchObject({
        recommended_id: '',
        confidence: 'low',
        profiles: [],
      });
    });

    test('blank counts as absent', async () => {
      for (const query of ['?app_id=', '?app_id=%20'])
        expect((await offer(query)).profiles).toHaveLength((await offer()).profiles.length);
    });

    test('400 when malformed; 404 when absent, disabled, or not for the caller, administrators too', async () => {
      const hidden = await world.app({ entitle: 'none' });
      const disabled = await world.app({ enabled: false });
      const ask = (person: Person, id: string) => app.call(person, 'GET', `/v1/me/profiles?app_id=${id}`);
      for (const person of [carol, app.people.admin]) {
        refused(await ask(person, 'x'), 400, 'validation_failed');
        for (const id of [hidden.id, disabled.id, UNKNOWN_ID])
          refused(await ask(person, id), 404, 'not_found');
      }
    });
  });
});
