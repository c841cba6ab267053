import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeSqlite } from '../testing/index.ts';
import { DELIVERY } from './service.ts';
import { type Receiver, startReceiver, WEBHOOK_SECRET } from './testing/receiver.ts';

describeSqlite('the webhook of a control plane', (databases) => {
  let receiver: Receiver;
  let world: SessionsWorld;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await world.close();
    await receiver.close();
  });

  const open = async (env: Record<string, string>) => {
    world = await openSessionsWorld(await databases.fresh(), undefined, env);
  };
  const configured = () => ({ SERVICE_WEBHOOK_URL: receiver.url, SERVICE_WEBHOOK_SECRET: WEBHOOK_SECRET });

  test('gets the life of a session in order', async () => {
    await open(configured());
    const agent = await world.host('hosta');
    const appId = await world.app();
    const session = await world.running(world.people.alice, appId);
    agent.reportState(session.id, 'failed', { error: 'boom', failure_code: 'app_crashed' });
    await world.until(session.id, 'failed');
    await world.plane.platform.activity.settled();
    await world.plane.platform.leader.runNow(DELIVERY);
    const ofSession = receiver.received
      .map(({ body }) => body)
      .filter(({ type, data }) => type.startsWith('session.') && data.id === session.id);
    expect(ofSession.map(({ type, data }) => [type, data.state])).toEqual([
      ['session.created', 'assigned'],
      ['session.running', 'running'],
      ['session.ended', 'failed'],
    ]);
    expect(ofSession.at(-1).data).toEqual({
      ...{ id: session.id, user_id: world.people.alice.id, app_id: appId, host_id: session.host_id },
      ...{ state: 'failed', end_reason: expect.any(String), failure_code: 'app_crashed' },
      created_at: session.created_at,
    });
    expect(receiver.received.map(({ body }) => body.type)).toContain('activity.session.failed');
    const { admin } = world.people;
    const status = await world.call(admin, 'GET', '/v1/admin/webhook');
    expect(status.body).toEqual({ configured: true, waiting: 0, oldest_at: null });
  });

  test('is told of an end that somebody asked for', async () => {
    await open(configured());
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    await world.until(session.id, 'stopped');
    await world.plane.platform.leader.runNow(DELIVERY);
    const ended = receiver.received.filter(({ body }) => body.type === 'session.ended');
    expect(ended.map(({ body }) => body.data)).toMatchObject([
      { state: 'stopped', end_reason: 'user_requested' },
    ]);
  });

  test('that is not configured leaves no event', async () => {
    await open({});
    await world.host('hosta');
    await world.running(world.people.alice, await world.app());
    await world.plane.platform.activity.settled();
    expect(await world.plane.platform.database.db.selectFrom('webhook_events').selectAll().execute()).toEqual(
      [],
    );
    const status = await world.call(world.people.admin, 'GET', '/v1/admin/webhook');
    expect(status.body).toEqual({ configured: false, waiting: 0, oldest_at: null });
  });
});
