import { DAY_MS, SECOND_MS } from '@footlight/platform';
import type { Session } from '@footlight/protocol/rest';
import type { AgentMetrics } from '@footlight/protocol/telemetry';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { profileWorld } from '../../profiles/testing/world.ts';
import { sessionSubjects } from '../../signaling/index.ts';
import { describeDatabases, OPEN_REGISTRATION, type Person, signIn, signUp } from '../../testing/index.ts';
import { ROOMY_MPIXEL_S } from '../testing/launch-world.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const POST_MS = 5 * SECOND_MS;
const FLOOR = 2_000;
const PROFILE = 'alpha';
const [BEST, PLAIN] = ['alpha-av1', 'alpha-h264'];

describeDatabases('health that follows from what viewers report', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let app: string;
  /** A person who is signed in on the device `laptop`, which decodes AV1. */
  let alice: Person;
  let people = 0;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh(), undefined, OPEN_REGISTRATION);
    const catalog = profileWorld(world);
    const throughput = { max_pixel_rate_mpix_s: ROOMY_MPIXEL_S };
    const capacity = softwareCapacity(
      { codecs: ['h264', 'av1'], codec_throughput: { h264: throughput, av1: throughput } },
      { encode_slots_total: 64 },
    );
    agent = await world.host('hosta', {
      capacity: {
        ...capacity,
        effective_settings: { ...capacity.effective_settings, abr_floor_kbps: String(FLOOR) },
      },
    });
    app = await world.app();
    await catalog.rung(BEST, { codec: 'av1', nominal_bitrate_kbps: 6_000 });
    await catalog.rung(PLAIN, { nominal_bitrate_kbps: 6_000 });
    await catalog.profile(PROFILE, [BEST, PLAIN]);
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    people += 1;
    alice = await signUp(world, `alice${people}`, 'laptop');
    await probed('laptop');
  });

  const db = () => world.plane.platform.database.db;
  async function probed(device_key: string, as = alice): Promise<void> {
    const body = { device_key, capabilities: { codecs: { av1: true } } };
    expect((await world.call(as, 'POST', '/v1/me/devices', { body })).status).toBe(200);
  }
  const launched = (as = alice, more: object = {}): Promise<Session> =>
    world.running(as, app, { profile_id: PROFILE, ...more });
  const stopped = async ({ id }: Session, as = alice): Promise<void> => {
    await world.call(as, 'DELETE', `/v1/sessions/${id}`);
    await world.until(id, 'stopped');
  };
  const shown = async ({ id }: Session) => {
    const { health_state, health_reason } = await world.session(id);
    return [health_state, health_reason];
  };

  type More = { device_key?: string; client_health_reason?: string };
  /** Posts like a player: every five seconds, the reports of these five seconds. */
  async function watched(
    session: Session,
    seconds: number,
    client_health: string,
    { as = alice, ...more }: More & { as?: Person } = {},
  ): Promise<void> {
    for (let left = seconds; left > 0; left -= 5) {
      await world.pass(POST_MS, agent);
      const length = Math.min(5, left);
      const samples = Array.from({ length }, (_, n) => ({
        ts_unix_ms: world.clock.nowMs() - (length - 1 - n) * SECOND_MS,
        metrics: { fps: 30 },
        client_health,
        client_health_reason: 'why',
        ...more,
      }));
      const body = { samples };
      expect((await world.call(as, 'POST', `/v1/sessions/${session.id}/stats`, { body })).status).toBe(202);
    }
  }
  async function measured(session: Session, metrics: AgentMetrics): Promise<void> {
    const ts = world.clock.nowMs();
    agent.send({ type: 'session_metrics', session_id: session.id, ts, window_ms: POST_MS, metrics });
    await agent.heard();
  }
  async function viewer(session: Session, to: string): Promise<void> {
    const payload = { kind: 'connection', from: 'new', to, pc: 'pc-1' };
    agent.send({
      type: 'session_trace_event',
      session_id: session.id,
      ts: world.clock.nowMs(),
      event: 'webrtc.state_changed',
      payload,
    });
    await agent.heard();
  }
  const failures = async (of = alice) =>
    db()
      .selectFrom('client_failures')
      .innerJoin('devices', 'devices.id', 'client_failures.device_id')
      .select(['device_key', 'launch_profile_id', 'stream_profile_id', 'codec', 'recorded_at'])
      .where('devices.user_id', '=', of.id)
      .execute();

  describe('the verdict on the device', () => {
    test('20 s of a slow decoder, in its own words; 30 s of smooth clear it', async () => {
      const session = await launched();
      await watched(session, 19, 'decode_degrading');
      expect(await shown(session)).toEqual([undefined, undefined]);
      await watched(session, 1, 'decode_degrading', {
        client_health_reason: ' decoding takes\n 22.0 ms a frame \u202e',
      });
      expect(await shown(session)).toEqual(['client_decode_degrading', 'decoding takes 22.0 ms a frame']);
      expect((await world.list()).find(({ id }) => id === session.id)).toMatchObject({
        health_state: 'client_decode_degrading',
      });
      await watched(session, 29, 'smooth');
      expect(await shown(session)).toMatchObject(['client_decode_degrading', expect.any(String)]);
      await watched(session, 1, 'smooth');
      expect(await shown(session)).toEqual([undefined, undefined]);
    });

    test('20 s of an uneven picture; a network verdict is shown instead, and a healthy network is not', async () => {
      const session = await launched();
      await watched(session, 20, 'presentation_degrading');
      await measured(session, { abr_setpoint_kbps: FLOOR + 1 });
      expect(await shown(session)).toMatchObject(['client_presentation_degrading', 'why']);
      await measured(session, { abr_setpoint_kbps: FLOOR });
      for (let n = 0; n < 6; n += 1) {
        await watched(session, 5, 'presentation_degrading');
        await measured(session, { abr_setpoint_kbps: FLOOR });
      }
      expect(await shown(session)).toMatchObject(['network_degrading', expect.any(String)]);
      await measured(session, { abr_setpoint_kbps: FLOOR + 1 });
      expect(await shown(session)).toMatchObject(['client_presentation_degrading', 'why']);
    });

    test('hidden seconds and unknown values do not count', async () => {
      const session = await launched();
      await watched(session, 40, 'backgrounded_or_hidden');
      await watched(session, 40, 'made_up');
      expect(await shown(session)).toEqual([undefined, undefined]);
      await watched(session, 20, 'decode_degrading');
      await watched(session, 60, 'backgrounded_or_hidden');
      expect(await shown(session)).toMatchObject(['client_decode_degrading', 'why']);
    });

    test('followers are told of each change once, and nothing is written', async () => {
      const session = await launched();
      const changes: unknown[] = [];
      world.plane.platform.bus.subscribe(sessionSubjects.changed, session.id, (change) => {
        changes.push(change.observed?.health_state);
      });
      const row = () => db().selectFrom('sessions').selectAll().where('id', '=', session.id).execute();
      const before = await row();
      await watched(session, 25, 'decode_degrading');
      await watched(session, 35, 'smooth');
      expect(changes).toEqual(['client_decode_degrading', undefined]);
      expect(await row()).toEqual(before);
    });

    test('ends with its viewer: one who leaves, and one who falls silent', async () => {
      const session = await launched();
      await viewer(session, 'connected');
      await watched(session, 20, 'decode_degrading');
      await viewer(session, 'closed');
      expect(await shown(session)).toEqual([undefined, undefined]);
      await watched(session, 20, 'decode_degrading');
      await world.pass(3 * POST_MS, agent);
      await measured(session, { fps: 60 });
      expect(await shown(session)).toMatchObject(['client_decode_degrading', 'why']);
      await world.pass(SECOND_MS, agent);
      await measured(session, { fps: 60 });
      expect(await shown(session)).toEqual([undefined, undefined]);
    });

    test('comes from the viewer alone: samples from administrators are ignored, strangers are refused', async () => {
      const session = await launched();
      await watched(session, 90, 'client_unsupported', { as: world.people.admin });
      expect(await shown(session)).toEqual([undefined, undefined]);
      const body = { samples: [{ ts_unix_ms: world.clock.nowMs(), metrics: {}, client_health: 'smooth' }] };
      const answer = await world.call(world.people.bob, 'POST', `/v1/sessions/${session.id}/stats`, { body });
      expect(answer.status).toBe(403);
      expect(await failures()).toEqual([]);
    });
  });

  describe('the decode history', () => {
    const failure = {
      device_key: 'laptop',
      launch_profile_id: PROFILE,
      stream_profile_id: BEST,
      codec: 'av1',
    };

    test('60 s of a decoder that is too slow: the next launch of that device skips the rung', async () => {
      const first = await launched();
      expect(first).toMatchObject({ stream_profile_id: BEST, stream: { codec: 'av1' } });
      await watched(first, 79, 'decode_degrading');
      expect(await failures()).toEqual([]);
      await watched(first, 1, 'decode_degrading');
      expect(await failures()).toEqual([{ ...failure, recorded_at: world.clock.nowMs() }]);
      await stopped(first);
      const second = await launched();
      expect(second).toMatchObject({
        profile_id: PROFILE,
        stream_profile_id: PLAIN,
        stream: { codec: 'h264' },
        codec_decision: {
          floor: false,
          considered: [
            { rung_id: BEST, codec: 'av1', rejected_by: 'decode_history', selected: false },
            { rung_id: PLAIN, codec: 'h264', rejected_by: null, selected: true },
          ],
        },
      });
      const offer = await world.call(alice, 'GET', '/v1/me/profiles');
      const offered = offer.body.profiles.find(({ id }: { id: string }) => id === PROFILE);
      expect(offered).toMatchObject({
        eligibility: 'risky',
        rungs: [
          { eligibility: 'ineligible', reasons: [{ code: 'historical_client_performance_failed' }] },
          { eligibility: 'eligible' },
        ],
      });
      // Another device of the same person still gets AV1, and so does another person's device.
      const phone = await signIn(world, alice.username, 'phone');
      await probed('phone', phone);
      expect(await launched(phone)).toMatchObject({ stream_profile_id: BEST });
      await db()
        .updateTable('client_failures')
        .set({ recorded_at: world.clock.nowMs() - 30 * DAY_MS - 1 })
        .execute();
      await probed('laptop');
      expect(await launched()).toMatchObject({ stream_profile_id: BEST });
    });

    test('a codec that it cannot decode at all is stored at once, without a figure', async () => {
      const session = await launched();
      const samples = [{ ts_unix_ms: world.clock.nowMs(), metrics: {}, client_health: 'client_unsupported' }];
      await world.call(alice, 'POST', `/v1/sessions/${session.id}/stats`, { body: { samples } });
      expect(await failures()).toMatchObject([failure]);
      expect(await shown(session)).toEqual([undefined, undefined]);
    });

    test('a later session with five smooth minutes deletes it; the one that failed does not', async () => {
      const first = await launched();
      await watched(first, 80, 'decode_degrading');
      await watched(first, 301, 'smooth');
      expect(await failures()).toHaveLength(1);
      await stopped(first);
      // A launch that names a codec gets this codec.
      const second = await launched(alice, { stream: { codec: 'av1' } });
      expect(second.stream_profile_id).toBe(BEST);
      await watched(second, 299, 'smooth');
      expect(await failures()).toHaveLength(1);
      await watched(second, 1, 'smooth');
      expect(await failures()).toEqual([]);
      await watched(second, 80, 'decode_degrading');
      expect(await failures()).toHaveLength(1);
    });

    test('a session that was launched before the failure does not delete it', async () => {
      const older = await launched();
      const newer = await launched();
      await watched(newer, 80, 'decode_degrading');
      await watched(older, 305, 'smooth');
      expect(await failures()).toHaveLength(1);
    });

    test('while the network is the limit, nothing counts', async () => {
      const session = await launched();
      await measured(session, { abr_setpoint_kbps: FLOOR });
      for (let n = 0; n < 30; n += 1) {
        await watched(session, 5, 'decode_degrading');
        await measured(session, { abr_setpoint_kbps: FLOOR });
      }
      expect(await shown(session)).toMatchObject(['abr_at_floor', expect.any(String)]);
      expect(await failures()).toEqual([]);
    });

    test.each([
      ['the device of the launch, named by its token', 'laptop', undefined, 1],
      ['and by its key', 'laptop', 'laptop', 1],
      ['another key than that of the device', 'laptop', 'phone', 0],
      ['another device of the owner', 'phone', undefined, 0],
      ['another device with the key of the launch', 'phone', 'laptop', 0],
      ['a token without a device', null, undefined, 0],
      ['a token without a device, with the key of the launch', null, 'laptop', 1],
    ] as const)('%s', async (_what, token, device_key, count) => {
      const session = await launched();
      const as = token === 'laptop' ? alice : await signIn(world, alice.username, token ?? undefined);
      await watched(session, 80, 'decode_degrading', { as, ...(device_key && { device_key }) });
      expect(await shown(session)).toMatchObject(['client_decode_degrading', 'why']);
      expect(await failures()).toHaveLength(count);
    });

    test("nobody writes about another person's device by its key", async () => {
      const mallory = await signUp(world, `mallory${people}`);
      const session = await launched(mallory);
      for (const device_key of ['laptop', alice.id, ''])
        await watched(session, 80, 'client_unsupported', { as: mallory, device_key });
      expect(await failures()).toEqual([]);
      expect(await failures(mallory)).toEqual([]);
    });

    test('a session without a rung, or without a device, has no history', async () => {
      const bare = await launched(alice, { profile_id: undefined, stream: { width: 640, height: 360 } });
      await watched(bare, 80, 'client_unsupported');
      const deviceless = await signIn(world, alice.username);
      const unnamed = await launched(deviceless);
      await watched(unnamed, 80, 'client_unsupported', { as: deviceless });
      expect(await failures()).toEqual([]);
    });

    test('a session that ended stores nothing and fails nothing', async () => {
      const session = await launched();
      await watched(session, 75, 'decode_degrading');
      await stopped(session);
      await watched(session, 60, 'decode_degrading');
      expect(await failures()).toEqual([]);
      expect(world.log.filter((line) => line.includes('decode_history_failed'))).toEqual([]);
    });

    test('an older failure of the device is deleted with the next one', async () => {
      const { id } = await db()
        .selectFrom('devices')
        .select('id')
        .where('user_id', '=', alice.id)
        .executeTakeFirstOrThrow();
      const outdated = {
        device_id: id,
        launch_profile_id: PROFILE,
        stream_profile_id: 'gone',
        codec: 'hevc' as const,
        outcome: 'fail' as const,
        recorded_at: world.clock.nowMs() - 31 * DAY_MS,
      };
      await db().insertInto('client_failures').values(outdated).execute();
      const session = await launched();
      await watched(session, 1, 'client_unsupported');
      expect(await failures()).toMatchObject([failure]);
    });
  });
});
