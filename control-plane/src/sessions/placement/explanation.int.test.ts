import { randomUUID } from 'node:crypto';
import { type FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { profileWorld } from '../../profiles/testing/world.ts';
import { addHost, describeDatabases, type Person } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('placement, explained', (databases) => {
  let world: SessionsWorld;
  let hostA: FakeAgent;
  let app: string;
  let alice: Person;
  let admin: Person;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    const capacity = softwareCapacity({ codecs: ['h264', 'av1'] }, { encode_slots_total: 64 });
    hostA = await world.host('hosta', { capacity });
    admin = world.people.admin;
    app = await world.app();
    const catalog = profileWorld(world);
    await catalog.rung('alpha-av1', { codec: 'av1' });
    await catalog.rung('alpha-h264');
    await catalog.profile('alpha', ['alpha-av1', 'alpha-h264']);
    await catalog.profile('secret', ['alpha-h264'], { visibility: 'internal' });
  });
  afterAll(() => world.close());

  let people = 0;
  beforeEach(async () => {
    people += 1;
    alice = await world.addPerson(`alice${people}`);
  });

  const db = () => world.plane.platform.database.db;
  const preview = async (body: object) => {
    const answer = await world.call(admin, 'POST', '/v1/admin/placement/preview', { body });
    return answer.body;
  };
  const rows = async () => {
    const count = async (table: 'sessions' | 'storage_homes' | 'signaling_tokens') =>
      (await db().selectFrom(table).selectAll().execute()).length;
    return [await count('sessions'), await count('storage_homes'), await count('signaling_tokens')];
  };

  test('a preview shows the result of a launch, and writes nothing', async () => {
    const bare = await addHost(world, 'bare');
    const before = [await rows(), await world.slotsUsed(hostA)];
    const homed = await world.app({ managed_home: true });
    const said = await preview({ app_id: homed, user_id: alice.id, profile_id: 'alpha' });
    expect(said).toMatchObject({
      outcome: 'placed',
      candidates: [{ host_id: hostA.hostId, node_name: 'hosta', gpu_index: 0, vram_mb_free: null }],
      refusals: [{ host_id: bare, gpu_id: null, rule: 'online', have: 'offline', need: 'online' }],
      codec_decision: { result_rung: 'alpha-h264' },
    });
    expect([await rows(), await world.slotsUsed(hostA)]).toEqual(before);
  });

  test.each([
    ['an unknown app', () => ({ app_id: randomUUID() }), 'not_found', 404],
    ['an unknown profile', () => ({ profile_id: 'nope' }), 'validation_failed', 400],
    ['a profile that is not for people', () => ({ profile_id: 'secret' }), 'profile_ineligible', 409],
    ['a codec that the host lacks', () => ({ stream: { codec: 'h265' } }), 'conflict', 409],
  ] as const)('a preview of %s', async (_what, request, outcome, status) => {
    const body = { app_id: app, user_id: alice.id, ...request() };
    const answer = await world.call(admin, 'POST', '/v1/admin/placement/preview', { body });
    expect([answer.status, answer.body.outcome, answer.body.status]).toEqual([200, outcome, status]);
  });

  test('judges as that person, role included', async () => {
    const secret = (user_id: string) => preview({ app_id: app, user_id, profile_id: 'secret' });
    expect((await secret(alice.id)).outcome).toBe('profile_ineligible');
    expect((await secret(admin.id)).outcome).toBe('placed');
    const closed = await world.app({ entitle: 'none' });
    expect((await preview({ app_id: closed, user_id: admin.id })).outcome).toBe('forbidden');
  });

  test('a fleet that cannot serve it: every GPU with its numbers', async () => {
    const huge = await world.app({ default_encode_slots: 65 });
    expect(await preview({ app_id: huge, user_id: alice.id })).toMatchObject({
      outcome: 'no_host_available',
      candidates: [],
      refusals: [{ rule: 'slots', need: 65 }, { node_name: 'bare' }],
    });
  });

  describe('each rule for a candidate, on a host that breaks it alone', () => {
    const never = 'no_host_available';
    const now = 'capacity_exhausted';
    const settings = (more: object) => ({
      effective_settings: JSON.stringify({ encoder: 'openh264', home_root: '/homes', ...more }),
    });
    test.each([
      ['1', 'online', never, { status: 'draining' as const }, {}],
      ['1', 'capacity_detection', never, { capacity_detection: 'failed' as const }, {}],
      ['1', 'capacity_detection', never, {}, { reported: 0 as const }],
      ['1', 'runtime', never, { features: '[]' }, {}],
      ['2', 'encoder_binding', never, settings({ encoder: 'nvenc' }), {}],
      ['2', 'encoder_binding', never, settings({ render_node: '/dev/dri/a' }), {}],
      ['5', 'slots', now, {}, { slots_used: 64 }],
      ['6', 'vram', now, {}, { vram_mb_total: 8_192, vram_mb_free: 1_023, vram_sampled_at: 'now' }],
    ] as const)('%s: %s', async (_rule, rule, code, ofHost, ofGpu) => {
      const hostId = hostA.hostId as string;
      const host = await db()
        .selectFrom('hosts')
        .selectAll()
        .where('id', '=', hostId)
        .executeTakeFirstOrThrow();
      const gpu = await db()
        .selectFrom('gpus')
        .selectAll()
        .where('host_id', '=', hostId)
        .executeTakeFirstOrThrow();
      const sampled = 'vram_sampled_at' in ofGpu && { vram_sampled_at: world.clock.nowMs() };
      const write = async (fields: object, others: object) => {
        if (Object.keys(fields).length > 0)
          await db().updateTable('hosts').set(fields).where('id', '=', hostId).execute();
        if (Object.keys(others).length > 0)
          await db().updateTable('gpus').set(others).where('id', '=', gpu.id).execute();
      };
      await write(ofHost, { ...ofGpu, ...sampled });
      const said = await preview({ app_id: app, user_id: alice.id });
      const answer = await world.launch(alice, app);
      await write(host, gpu);
      expect(said.outcome).toBe(code);
      expect(said.refusals.filter(({ gpu_id }: { gpu_id: string }) => gpu_id === gpu.id)).toMatchObject([
        { host_id: hostId, rule },
      ]);
      expect([answer.status, answer.body.error?.code]).toEqual([503, code]);
    });
  });

  test('an unknown account is 404', async () => {
    expect((await preview({ app_id: app, user_id: randomUUID() })).error.code).toBe('not_found');
  });

  test('a session keeps the explanation of its launch', async () => {
    const { body } = await world.launch(alice, app, { profile_id: 'alpha' });
    const url = `/v1/admin/sessions/${body.session.id}/placement`;
    const kept = await world.call(admin, 'GET', url);
    expect(kept.body).toMatchObject({
      outcome: 'placed',
      status: 201,
      candidates: [{ host_id: hostA.hostId }],
      codec_decision: body.session.codec_decision,
    });
    await world.launch(alice, app, { profile_id: 'alpha' });
    expect((await world.call(admin, 'GET', url)).body).toEqual(kept.body);
  });

  test('404 where there is no such session, or nothing was kept', async () => {
    const { body } = await world.launch(alice, app);
    await db().deleteFrom('session_placements').where('session_id', '=', body.session.id).execute();
    for (const id of [body.session.id, randomUUID()])
      expect((await world.call(admin, 'GET', `/v1/admin/sessions/${id}/placement`)).status).toBe(404);
  });
});
