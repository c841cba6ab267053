import { randomUUID } from 'node:crypto';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addSession, describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('DELETE of a host', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let app: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta');
    app = await world.app({ managed_home: true });
  });
  afterAll(() => world.close());

  const db = () => world.plane.platform.database.db;
  const remove = () => world.call(world.people.admin, 'DELETE', `/v1/hosts/${agent.hostId}`);

  test('409 while any session on it has not ended, in any state', async () => {
    await agent.drop();
    await world.offline(agent);
    for (const state of ['assigned', 'starting', 'running', 'stopping'] as const) {
      const id = await addSession(world, {
        appId: app,
        userId: world.people.alice.id,
        state,
        hostId: agent.hostId as string,
      });
      const answer = await remove();
      expect([state, answer.status, answer.body.error?.code]).toEqual([state, 409, 'conflict']);
      await db().deleteFrom('sessions').where('id', '=', id).execute();
    }
  });

  test('deletes GPUs, ended sessions and certifications; homes stay, without a host and marked for deletion', async () => {
    await world.reconnect(agent);
    const session = await world.running(world.people.alice, app);
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await world.until(session.id, 'stopped');
    const hostId = agent.hostId as string;
    await db()
      .insertInto('encoder_certifications')
      .values({
        id: randomUUID(),
        host_id: hostId,
        gpu_index: 0,
        encoder: 'openh264',
        profile_id: '1080p60',
        stream_profile_id: '1080p60-h264',
        width: 1920,
        height: 1080,
        fps: 60,
        bitrate_kbps: 6_000,
        verdict: 'ok',
        encode_ms_p50: 1,
        encode_ms_p95: 2,
        encode_ms_max: 3,
        output_fps: 60,
        drop_rate: 0,
        live_write_stable: 1,
        sample_window_ms: 19_000,
        sample_count: 19,
        agent_version: '1',
        measured_at: world.clock.nowMs(),
      })
      .execute();
    await agent.drop();
    await expect.poll(async () => (await remove()).status).toBe(204);
    for (const table of ['gpus', 'sessions', 'session_placements', 'encoder_certifications'] as const)
      expect(await db().selectFrom(table).selectAll().execute(), table).toEqual([]);
    expect(await db().selectFrom('storage_homes').selectAll().execute()).toMatchObject([
      { user_id: world.people.alice.id, app_id: app, host_id: null, gc_after: world.clock.nowMs() },
    ]);
    expect(await world.activity('host.delete')).toMatchObject([
      { target_id: hostId, actor_user_id: world.people.admin.id, details: { node_name: 'hosta', homes: 1 } },
    ]);
  });
});
