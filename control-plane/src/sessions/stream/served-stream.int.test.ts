import { randomUUID } from 'node:crypto';
import { DAY_MS } from '@footlight/platform';
import type { Session, StreamProfile } from '@footlight/protocol/rest';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ProfileWorld, profileWorld } from '../../profiles/testing/world.ts';
import { describeDatabases, type Person } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

/** Shapes nothing, yet is an override: no launch profile is chosen then. */
const WITHOUT_PROFILE = { stream: { h264_profile: 'constrained-baseline' } };

describeDatabases('what a launch streams', (databases) => {
  let world: SessionsWorld;
  let catalog: ProfileWorld;
  let host: FakeAgent;
  let app: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    catalog = profileWorld(world);
    const [gpu] = softwareCapacity({}, { encode_slots_total: 64 }).gpus;
    host = await world.host('hosta', {
      capacity: softwareCapacity({ gpus: [0, 1, 2, 3].map((index) => ({ ...gpu!, index })) }),
    });
    const roomy = {
      default_width: 3840,
      default_height: 2160,
      default_fps: 120,
      default_bitrate_kbps: 50_000,
    };
    app = await world.app(roomy);
  });
  afterAll(() => world.close());

  const db = () => world.plane.platform.database.db;
  let made = 0;
  const named = (what: string): string => `${what}-${++made}`;

  /** Somebody with a device that measured this; null: nothing. */
  async function somebody(capabilities: object | null): Promise<Person> {
    const person = await world.addPerson(named('person'));
    if (capabilities !== null)
      await world.call(person, 'POST', '/v1/me/devices', { body: { device_key: 'k', capabilities } });
    return person;
  }
  /** What this device cannot decode, at the end of a chain that needs an H.264 rung. */
  const TOO_TALL = { min_decode_height: 2_160 } as const;
  const oneRung = (fields: Partial<StreamProfile> = {}): Promise<string> => oneProfile([fields]);
  /** A launch profile of its own, best rung first. @returns its id; its rungs are that with -0, -1 … */
  async function oneProfile(rungs: readonly Partial<StreamProfile>[]): Promise<string> {
    const id = named('profile');
    for (const [at, fields] of rungs.entries()) await catalog.rung(`${id}-${at}`, fields);
    await catalog.profile(
      id,
      rungs.map((_, at) => `${id}-${at}`),
    );
    return id;
  }
  async function launched(person: Person, request: object, of = app): Promise<Session> {
    const answer = await world.launch(person, of, request as Record<string, unknown>);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.session;
  }
  /** What the launch answers, and what its dry run says about it. */
  async function answered(person: Person, request: object): Promise<[status: number, code: string]> {
    const body = { app_id: app, user_id: person.id, ...request };
    const preview = await catalog.ask('POST', '/v1/admin/placement/preview', body);
    const { status, body: said } = await world.launch(person, app, request as Record<string, unknown>);
    expect([preview.body.status, preview.body.outcome]).toEqual([status, said.error?.code ?? 'placed']);
    return [status, preview.body.outcome];
  }
  async function withHost<T>(fields: Record<string, string | null>, work: () => Promise<T>): Promise<T> {
    const { id, ...before } = await db()
      .selectFrom('hosts')
      .select(['id', 'codecs', 'codec_throughput', 'encoders', 'effective_settings'])
      .where('id', '=', host.hostId as string)
      .executeTakeFirstOrThrow();
    const write = (values: object) => db().updateTable('hosts').set(values).where('id', '=', id).execute();
    if (Object.keys(fields).length > 0) await write(fields);
    try {
      return await work();
    } finally {
      await write(before);
    }
  }

  describe('the tiers, where no launch profile is in force: the first that passes', () => {
    test.each([
      ['nothing was measured', null, '1080p60'],
      ['nothing of it counts', {}, '1080p60'],
      ['25,000 kbit/s and 10 ms', { bandwidth_kbps: 25_000, rtt_ms: 10 }, '1080p60-lan'],
      ['24,999 kbit/s and 10 ms', { bandwidth_kbps: 24_999, rtt_ms: 10 }, '1080p60'],
      ['25,000 kbit/s and 11 ms', { bandwidth_kbps: 25_000, rtt_ms: 11 }, '1080p60'],
      ['25,000 kbit/s, the round trip not measured', { bandwidth_kbps: 25_000 }, '1080p60'],
      ['10 ms, the bandwidth not measured', { rtt_ms: 10 }, '1080p60'],
      ['12,000 kbit/s', { bandwidth_kbps: 12_000 }, '1080p60'],
      ['11,999 kbit/s', { bandwidth_kbps: 11_999 }, '720p60'],
      ['1,080 lines', { max_decode_height: 1_080 }, '1080p60'],
      ['1,079 lines', { max_decode_height: 1_079 }, '720p60'],
      ['8,000 kbit/s', { bandwidth_kbps: 8_000 }, '720p60'],
      ['7,999 kbit/s', { bandwidth_kbps: 7_999 }, '720p30'],
      ['100 kbit/s', { bandwidth_kbps: 100 }, '720p30'],
      ['99 kbit/s, which is no measurement', { bandwidth_kbps: 99 }, '1080p60'],
    ] as const)('%s', async (_measured, capabilities, tier) => {
      const { width, height, fps, kbps, floor, playout } = {
        '1080p60-lan': { width: 1920, height: 1080, fps: 60, kbps: 12_000, floor: 4_000, playout: 50 },
        '1080p60': { width: 1920, height: 1080, fps: 60, kbps: 8_000, floor: 2_500, playout: 50 },
        '720p60': { width: 1280, height: 720, fps: 60, kbps: 5_000, floor: 1_500, playout: 75 },
        '720p30': { width: 1280, height: 720, fps: 30, kbps: 3_000, floor: 1_000, playout: 100 },
      }[tier];
      const session = await launched(await somebody(capabilities), WITHOUT_PROFILE);
      expect(session).toMatchObject({
        profile_id: null,
        codec_decision: null,
        stream: { width, height, fps, bitrate_kbps: kbps, playout0_ms: playout, codec: 'h264' },
      });
      const row = await db()
        .selectFrom('sessions')
        .select('stream_abr_floor_kbps')
        .where('id', '=', session.id)
        .executeTakeFirstOrThrow();
      expect(row.stream_abr_floor_kbps).toBe(floor);
    });

    test("capped by the app's own numbers, which also bound a person's override and no administrator's", async () => {
      const small = { width: 1024, height: 576, fps: 25, bitrate_kbps: 2_000 };
      const modest = await world.app(
        Object.fromEntries(Object.entries(small).map(([name, value]) => [`default_${name}`, value])),
      );
      const wide = { stream: { width: 1920, height: 1080, fps: 60, bitrate_kbps: 9_000 } };
      expect((await launched(await somebody(null), WITHOUT_PROFILE, modest)).stream).toMatchObject(small);
      expect((await launched(await somebody(null), wide, modest)).stream).toMatchObject(small);
      const chief = await world.addPerson(named('chief'), 'admin');
      expect((await launched(chief, wide, modest)).stream).toMatchObject(wide.stream);
    });
  });

  describe('eligibility, by the newest measurement', () => {
    const REFUSED = [409, 'profile_ineligible'] as const;
    const PLACED = [201, 'placed'] as const;

    test.each([
      [
        'bandwidth_too_low',
        { min_offer_bandwidth_kbps: 10_000 },
        { bandwidth_kbps: 9_999 },
        { bandwidth_kbps: 10_000 },
      ],
      ['rtt_too_high', { max_startup_rtt_ms: 40 }, { rtt_ms: 41 }, { rtt_ms: 40 }],
      [
        'decode_height_too_low',
        { min_decode_height: 720 },
        { max_decode_height: 719 },
        { max_decode_height: 720 },
      ],
      [
        'codec_not_supported',
        { codec: 'hevc' },
        { codecs: { hevc: 'yes' }, max_decode_height: 1_080 },
        { codecs: { hevc: true }, max_decode_height: 1_080 },
      ],
    ] as const)('hard: %s refuses, and its limit passes', async (_reason, rung, below, enough) => {
      const profile_id = await ('codec' in rung ? oneProfile([rung, TOO_TALL]) : oneRung(rung));
      expect(await answered(await somebody(below), { profile_id })).toEqual(REFUSED);
      expect(await answered(await somebody(enough), { profile_id })).toEqual(PLACED);
      expect(await answered(await somebody(null), { profile_id })).toEqual(PLACED);
    });

    test('hard: historical_client_performance_failed, of this device, for 30 days', async () => {
      const profile_id = await oneRung();
      const person = await somebody({ rtt_ms: 5 });
      const device = await db()
        .selectFrom('devices')
        .select('id')
        .where('user_id', '=', person.id)
        .executeTakeFirstOrThrow();
      const failed = (recorded_at: number) => ({
        device_id: device.id,
        launch_profile_id: profile_id,
        stream_profile_id: `${profile_id}-0`,
        codec: 'h264' as const,
        outcome: 'fail' as const,
        recorded_at,
      });
      const since = world.clock.nowMs() - 30 * DAY_MS;
      await db().insertInto('client_failures').values(failed(since)).execute();
      expect(await answered(person, { profile_id })).toEqual(REFUSED);
      expect(await answered(await somebody({ rtt_ms: 5 }), { profile_id })).toEqual(PLACED);
      await db()
        .updateTable('client_failures')
        .set({ recorded_at: since - 1 })
        .where('device_id', '=', device.id)
        .execute();
      expect(await answered(person, { profile_id })).toEqual(PLACED);
    });

    test.each([
      [
        'bandwidth below what is recommended',
        { recommended_offer_bandwidth_kbps: 10_000 },
        { bandwidth_kbps: 9_999 },
      ],
      ['browser_playout_unsupported', { browser_client: 'risky' }, { rtt_ms: 5 }],
      ['display_refresh_unknown', { high_refresh_display: 'required' }, { rtt_ms: 5 }],
      [
        'display_refresh_too_low',
        { high_refresh_display: 'required', fps: 120 },
        { display: { refresh_hz: 60 } },
      ],
    ] as const)('soft: %s is risky, and a risky launch is allowed', async (_reason, rung, measured) => {
      const person = await somebody(measured);
      const profile_id = await oneRung(rung);
      const offer = await world.call(person, 'GET', '/v1/me/profiles');
      const judged = offer.body.profiles.find(({ id }: { id: string }) => id === profile_id);
      expect(judged).toMatchObject({ eligibility: 'risky' });
      expect(await answered(person, { profile_id })).toEqual(PLACED);
    });

    test.each([
      ['top rung eligible', [{}, { codec: 'av1' }], PLACED],
      ['top ineligible but another passes', [{ codec: 'av1' }, {}], PLACED],
      ['none passes', [{ codec: 'av1' }, TOO_TALL], REFUSED],
    ] as const)('the profile: %s', async (_row, rungs, answer) => {
      const profile_id = await oneProfile(rungs);
      expect(await answered(await somebody({ max_decode_height: 1_080 }), { profile_id })).toEqual(answer);
    });

    test('an override does not pass it by, and an administrator is not asked', async () => {
      const profile_id = await oneRung({ min_offer_bandwidth_kbps: 10_000 });
      const person = await somebody({ bandwidth_kbps: 5_000 });
      expect(await answered(person, { profile_id, stream: { bitrate_kbps: 500 } })).toEqual(REFUSED);
      await db().updateTable('users').set({ role: 'admin' }).where('id', '=', person.id).execute();
      expect(await answered(person, { profile_id })).toEqual(PLACED);
    });
  });

  describe('the rung walk after placement: the first rung that passes all, and why the better ones do not', () => {
    const MANY_CODECS = { codecs: JSON.stringify(['h264', 'h265', 'av1']) };
    const DECODES = { codecs: { hevc: true, av1: true } };
    const plain = { codec: 'h264' } as const;

    test.each([
      ['1 host_encoder', { codec: 'av1' }, DECODES, {}, 'host_encoder'],
      [
        '1 host_encoder: nothing reported is H.264 alone',
        { codec: 'hevc' },
        DECODES,
        { codecs: null },
        'host_encoder',
      ],
      ['2 client_decode', { codec: 'hevc' }, { rtt_ms: 5 }, MANY_CODECS, 'client_decode'],
      ['2 client_decode: without a measurement too', { codec: 'av1' }, null, MANY_CODECS, 'client_decode'],
      ['3 decode_height', { min_decode_height: 2_160 }, { max_decode_height: 1_080 }, {}, 'decode_height'],
      ['5 hardware_encoder', { hardware_encoder_required: true }, null, {}, 'hardware_encoder'],
      ['6 encoder_throughput', { width: 3840, height: 2160, fps: 60 }, null, {}, 'encoder_throughput'],
    ] as const)('%s', async (_clamp, better, capabilities, ofHost, rejected_by) => {
      const profile_id = await oneProfile([better, plain]);
      const person = await somebody(capabilities);
      const session = await withHost(ofHost, () => launched(person, { profile_id }));
      expect(session).toMatchObject({
        profile_id,
        stream_profile_id: `${profile_id}-1`,
        stream: { codec: 'h264' },
        codec_decision: {
          result_rung: `${profile_id}-1`,
          result_codec: 'h264',
          override: null,
          floor: false,
          considered: [
            { rung_id: `${profile_id}-0`, rejected_by, selected: false, clamps_bypassed: [] },
            { rung_id: `${profile_id}-1`, rejected_by: null, selected: true, clamps_bypassed: [] },
          ],
        },
      });
    });

    test('decode_history applies to every launch profile, and only for that codec', async () => {
      const first = await oneProfile([{ codec: 'av1' }, plain]);
      const person = await somebody(DECODES);
      const device = await db()
        .selectFrom('devices')
        .select('id')
        .where('user_id', '=', person.id)
        .executeTakeFirstOrThrow();
      const failure = {
        device_id: device.id,
        launch_profile_id: 'another',
        stream_profile_id: `${first}-0`,
        codec: 'h264' as 'h264' | 'av1',
        outcome: 'fail' as const,
        recorded_at: world.clock.nowMs(),
      };
      const second = named('profile');
      await catalog.rung(`${second}-1`);
      await catalog.profile(second, [`${first}-0`, `${second}-1`]);
      const rungOf = async () =>
        (await withHost(MANY_CODECS, () => launched(person, { profile_id: second }))).codec_decision
          ?.considered[0];
      await db().insertInto('client_failures').values(failure).execute();
      expect(await rungOf()).toMatchObject({ rejected_by: null, selected: true });
      await db()
        .insertInto('client_failures')
        .values({ ...failure, codec: 'av1' })
        .execute();
      expect(await rungOf()).toMatchObject({ rejected_by: 'decode_history', selected: false });
    });

    test.each([
      ['3: a height that was not measured', { min_decode_height: 2_160 }, { rtt_ms: 5 }, {}],
      ['3: as many lines as it needs', { min_decode_height: 1_080 }, { max_decode_height: 1_080 }, {}],
      [
        '5: a host whose encoder is not known',
        { hardware_encoder_required: true },
        null,
        { effective_settings: null },
      ],
      [
        '6: a throughput that was not reported',
        { width: 3840, height: 2160 },
        null,
        { codec_throughput: null },
      ],
      [
        '6: a throughput of 0',
        { width: 3840, height: 2160 },
        null,
        { codec_throughput: JSON.stringify({ h264: { max_pixel_rate_mpix_s: 0 } }) },
      ],
    ] as const)('passes %s', async (_clamp, best, capabilities, ofHost) => {
      const profile_id = await oneProfile([best, plain]);
      const person = await somebody(capabilities);
      const session = await withHost(ofHost, () => launched(person, { profile_id }));
      expect(session.stream_profile_id).toBe(`${profile_id}-0`);
      expect(session.codec_decision?.considered).toHaveLength(1);
    });

    test.each([
      ['the last H.264 rung', [plain, plain, { codec: 'av1' }], 3],
      ['else the last rung', [{ codec: 'av1' }, { codec: 'hevc' }, plain], 2],
    ] as const)('none passes: %s, with every clamp bypassed', async (_floor, rungs, left) => {
      const floor = 1;
      const profile_id = await oneProfile(
        rungs.map((fields) => ({ ...fields, hardware_encoder_required: true })),
      );
      // A chain without an H.264 rung is none that can be made, only one that an older release left.
      await db()
        .deleteFrom('launch_profile_rungs')
        .where('launch_profile_id', '=', profile_id)
        .where('stream_profile_id', '=', `${profile_id}-${left}`)
        .execute();
      const session = await launched(await somebody(null), { profile_id });
      expect(session).toMatchObject({
        stream_profile_id: `${profile_id}-${floor}`,
        codec_decision: { floor: true, result_rung: `${profile_id}-${floor}` },
      });
      const considered = session.codec_decision?.considered ?? [];
      expect(considered.filter(({ rejected_by }) => rejected_by === null)).toEqual([]);
      expect(considered.map(({ clamps_bypassed }) => clamps_bypassed.length)).toEqual(
        rungs.slice(0, left).map((_, at) => (at === floor ? 6 : 0)),
      );
    });

    test('a codec override: the first rung with it, and only the host may refuse it', async () => {
      const profile_id = await oneProfile([plain, { codec: 'av1', hardware_encoder_required: true }]);
      const person = await somebody({ codecs: { av1: false } });
      const request = { profile_id, stream: { codec: 'av1' } };
      expect(await answered(person, request)).toEqual([409, 'conflict']);
      const session = await withHost(MANY_CODECS, () => launched(person, request));
      expect(session).toMatchObject({
        stream_profile_id: `${profile_id}-1`,
        stream: { codec: 'av1' },
        codec_decision: { override: 'av1', floor: false, result_codec: 'av1' },
      });
    });
  });

  describe('what the measured line carries', () => {
    test.each([
      ['70 % of 5,000 kbit/s', { bandwidth_kbps: 5_000 }, 3_500, 50],
      ['99 kbit/s is no measurement', { bandwidth_kbps: 99 }, 8_000, 50],
      ['more than the rung asks for', { bandwidth_kbps: 50_000 }, 8_000, 50],
      ['15 ms adds no delay', { rtt_ms: 15 }, 8_000, 50],
      ['16 ms adds 25 ms', { rtt_ms: 16 }, 8_000, 75],
      ['50 ms adds 25 ms', { rtt_ms: 50 }, 8_000, 75],
      ['51 ms adds 50 ms', { rtt_ms: 51 }, 8_000, 100],
    ] as const)('%s', async (_row, capabilities, bitrate_kbps, playout0_ms) => {
      const profile_id = await oneRung({ nominal_bitrate_kbps: 8_000, playout0_ms: 50 });
      const person = await somebody(capabilities);
      expect((await launched(person, { profile_id })).stream).toMatchObject({ bitrate_kbps, playout0_ms });
    });

    test('does not touch an override, nor an administrator', async () => {
      const profile_id = await oneRung({ nominal_bitrate_kbps: 8_000, playout0_ms: 50 });
      const person = await somebody({ bandwidth_kbps: 5_000, rtt_ms: 60 });
      const whole = { bitrate_kbps: 8_000, playout0_ms: 50 };
      expect((await launched(person, { profile_id, stream: { fps: 30 } })).stream).toMatchObject(whole);
      await db().updateTable('users').set({ role: 'admin' }).where('id', '=', person.id).execute();
      expect((await launched(person, { profile_id })).stream).toMatchObject(whole);
    });

    test('a codec alone is no override', async () => {
      const profile_id = await oneRung({ nominal_bitrate_kbps: 8_000 });
      const person = await somebody({ bandwidth_kbps: 5_000 });
      const session = await launched(person, { profile_id, stream: { codec: 'h264' } });
      expect(session.stream.bitrate_kbps).toBe(3_500);
    });
  });

  describe('the H.264 profile', () => {
    const native = (profiles?: string[]) => ({
      client_type: 'native',
      ...(profiles && { decode: { h264: { profiles } } }),
    });
    const makes = (h264_profiles?: string[]) => ({
      encoders: JSON.stringify([
        {
          family: 'openh264',
          gpu_index: 0,
          codec: 'h264',
          available: true,
          live_bitrate: true,
          live_resize: false,
          ...(h264_profiles && { h264_profiles }),
        },
      ]),
    });
    const ALL = makes(['constrained-baseline', 'main', 'high']);
    const client_type = 'native';

    test.each([
      ['a browser', 'high', native(['high']), {}, ALL, 'constrained-baseline'],
      [
        'a native client that was measured in a browser',
        'high',
        { rtt_ms: 5 },
        { client_type },
        ALL,
        'constrained-baseline',
      ],
      ['a native client that lists it', 'high', native(['high']), { client_type }, ALL, 'high'],
      [
        'a native client that lists another',
        'high',
        native(['main']),
        { client_type },
        ALL,
        'constrained-baseline',
      ],
      ['a native client without a list: main', 'main', native(), { client_type }, ALL, 'main'],
      [
        'a native client without a list: not high',
        'high',
        native(),
        { client_type },
        ALL,
        'constrained-baseline',
      ],
      [
        'an override beside it',
        'high',
        native(['high']),
        { client_type, stream: { fps: 30 } },
        ALL,
        'constrained-baseline',
      ],
      ['an override that names it', 'high', null, { stream: { h264_profile: 'high' } }, ALL, 'high'],
      [
        'an encoder that makes main at most',
        'high',
        native(['high']),
        { client_type },
        makes(['constrained-baseline', 'main']),
        'main',
      ],
      [
        'an encoder without a list',
        'high',
        native(['high']),
        { client_type },
        makes(),
        'constrained-baseline',
      ],
    ] as const)('%s', async (_row, h264_profile, capabilities, request, ofHost, expected) => {
      const profile_id = await oneRung({ h264_profile });
      const person = await somebody(capabilities);
      // Only the first GPU has a row in that report.
      await db().updateTable('gpus').set({ reported: 0 }).where('gpu_index', '>', 0).execute();
      const session = await withHost(ofHost, () => launched(person, { profile_id, ...request }));
      await db().updateTable('gpus').set({ reported: 1 }).execute();
      expect(session.stream.h264_profile).toBe(expected);
    });
  });

  describe('the certification cap', () => {
    const RUNG = '1080p60-h264';
    const certified = (fields: object = {}) => ({
      id: randomUUID(),
      host_id: host.hostId as string,
      gpu_index: 0,
      encoder: 'openh264' as const,
      profile_id: '1080p60',
      stream_profile_id: RUNG,
      width: 1920,
      height: 1080,
      fps: 60,
      bitrate_kbps: 8_000,
      verdict: 'unsafe' as 'ok' | 'capped' | 'unsafe',
      encode_ms_p50: 20,
      encode_ms_p95: 30,
      encode_ms_max: 40,
      output_fps: 30,
      drop_rate: 1,
      live_write_stable: 1 as 0 | 1,
      sample_window_ms: 19_000,
      sample_count: 19,
      agent_version: '1',
      measured_at: world.clock.nowMs(),
      ...fields,
    });
    const NEAR = { verdict: 'ok', bitrate_kbps: 8_500 };
    const FAR = { verdict: 'unsafe', bitrate_kbps: 4_000 };
    const later = (ms: number) => () => ({ measured_at: world.clock.nowMs() + ms });
    beforeAll(async () => {
      await db().updateTable('gpus').set({ reported: 0 }).where('gpu_index', '>', 0).execute();
    });
    afterAll(async () => {
      await db().updateTable('gpus').set({ reported: 1 }).execute();
    });
    afterEach(async () => {
      await db().deleteFrom('encoder_certifications').execute();
    });
    /** The profile that is served of 1080p60. */
    const served = async (rows: object[], request: object = {}, as?: Person) => {
      for (const row of rows)
        await db().insertInto('encoder_certifications').values(certified(row)).execute();
      const session = await launched(as ?? (await somebody(null)), { profile_id: '1080p60', ...request });
      return session.profile_id;
    };

    test.each([
      ['unsafe', [{}], '720p60'],
      [
        'capped, and its rate cannot be changed while it runs',
        [{ verdict: 'capped', live_write_stable: 0 }],
        '720p60',
      ],
      ['capped, and its rate can', [{ verdict: 'capped' }], '1080p60'],
      ['ok', [{ verdict: 'ok' }], '1080p60'],
      ['the closest bitrate counts: ok nearby', [NEAR, FAR], '1080p60'],
      [
        'the closest bitrate counts: unsafe nearby',
        [
          { ...NEAR, verdict: 'unsafe' },
          { ...FAR, verdict: 'ok' },
        ],
        '720p60',
      ],
      ['another GPU', [{ gpu_index: 1 }], '1080p60'],
      ['another encoder', [{ encoder: 'va' }], '1080p60'],
      ['another rung', [{ stream_profile_id: '720p60-h264' }], '1080p60'],
    ] as const)('%s', async (_row, rows, profile) => {
      expect(await served([...rows])).toBe(profile);
    });

    test.each([
      [
        'of two that are as close, the newest',
        [
          [{ bitrate_kbps: 7_000, verdict: 'ok' }, 0],
          [{ bitrate_kbps: 9_000 }, 1],
        ],
        '720p60',
      ],
      [
        'of two that are as close, not the older',
        [
          [{ bitrate_kbps: 7_000, verdict: 'ok' }, 1],
          [{ bitrate_kbps: 9_000 }, 0],
        ],
        '1080p60',
      ],
      ['measured 7 days ago', [[{}, -7 * DAY_MS]], '720p60'],
      ['measured longer ago', [[{}, -7 * DAY_MS - 1]], '1080p60'],
    ] as [string, [object, number][], string][])('%s', async (_row, rows, profile) => {
      expect(await served(rows.map(([row, ms]) => ({ ...row, ...later(ms)() })))).toBe(profile);
    });

    test('one hop only, though the next is unsafe too', async () => {
      expect(await served([{}, { stream_profile_id: '720p60-h264', bitrate_kbps: 4_500 }])).toBe('720p60');
    });

    test('a profile outside the order stays as it is', async () => {
      const profile_id = named('profile');
      await catalog.profile(profile_id, [RUNG]);
      expect(await served([{}], { profile_id })).toBe(profile_id);
    });

    test('an override does not pass it by, and is cut again to the new rung', async () => {
      const person = await somebody(null);
      await db().insertInto('encoder_certifications').values(certified()).execute();
      const session = await launched(person, {
        profile_id: '1080p60',
        stream: { width: 1920, height: 1080 },
      });
      expect(session).toMatchObject({
        profile_id: '720p60',
        stream_profile_id: '720p60-h264',
        stream: { width: 1280, height: 720 },
      });
    });

    test('an administrator is served what they ask for', async () => {
      expect(await served([{}], {}, await world.addPerson(named('chief'), 'admin'))).toBe('1080p60');
    });
  });
});
