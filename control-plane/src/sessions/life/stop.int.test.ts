import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('a stop of sessions', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  describe('by a person', () => {
    test('is answered 202, the host is told, and in the end everything is freed', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const answer = await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect(answer.status).toBe(202);
      expect(answer.body.session).toMatchObject({
        state: 'stopping',
        state_detail: 'stop requested',
        end_reason: null,
      });
      const stopped = await world.until(session.id, 'stopped');
      expect(stopped).toMatchObject({
        end_reason: 'user_requested',
        error_message: null,
        failure_code: null,
      });
      expect(stopped.ended_at).not.toBeNull();
      expect(agent.commands.at(-1)).toMatchObject({ type: 'session_stop', reason: 'user_requested' });
      expect(await world.slotsUsed(agent)).toBe(0);
      expect(agent.sessions.size).toBe(0);
    });

    test('is answered 202 again while it stops, and 200 once it has ended', async () => {
      await world.host('hosta', {
        behaviour: { answer: (c) => (c.type === 'session_stop' ? 'silence' : 'ok') },
      });
      const session = await world.running(world.people.alice, await world.app());
      const stop = () => world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect((await stop()).status).toBe(202);
      expect((await stop()).status).toBe(202);
      await world.plane.platform.database.db
        .updateTable('sessions')
        .set({ state: 'stopped', end_reason: 'user_requested', ended_at: 1 })
        .execute();
      const ended = await stop();
      expect([ended.status, ended.body.session.state]).toEqual([200, 'stopped']);
    });

    test("an administrator stops anybody's session, and that is audited", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      expect((await world.call(world.people.admin, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(202);
      expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'user_requested' });
      expect((await world.call(world.people.admin, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(200);
      expect(await world.activity('session.stop')).toMatchObject([
        { actor_user_id: world.people.admin.id, target_id: session.id, details: { already_terminal: false } },
        { details: { already_terminal: true } },
      ]);
    });

    test("a stop of one's own session is not audited", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect(await world.activity('session.stop')).toEqual([]);
    });
  });

  test('comes when the device is revoked from which the session was launched', async () => {
    const agent = await world.host('hosta');
    const { alice } = world.people;
    const { db } = world.plane.platform.database;
    const posted = await world.call(alice, 'POST', '/v1/me/devices', { body: { device_key: 'laptop' } });
    const deviceId = posted.body.device.id;
    // Posting a measurement does not bind the token to a device, so this session is launched without a device.
    const other = await world.running(alice, await world.app());
    await db
      .updateTable('auth_tokens')
      .set({ device_id: deviceId })
      .where('user_id', '=', alice.id)
      .execute();
    const session = await world.running(alice, await world.app());
    const listed = await world.call(alice, 'GET', '/v1/me/devices');
    expect(listed.body.devices[0]).toMatchObject({ current: true, active_session_id: session.id });

    expect((await world.call(alice, 'DELETE', `/v1/me/devices/${deviceId}`)).status).toBe(204);
    expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'device_revoked' });
    expect(agent.commands.at(-1)).toMatchObject({ type: 'session_stop', reason: 'device_revoked' });
    expect((await world.session(other.id)).state).toBe('running');
  });

  describe('of an account that is disabled', () => {
    test('end_sessions stops its sessions in any state, and no other people’s', async () => {
      const agent = await world.host('hosta');
      const { admin, alice, bob } = world.people;
      const mine = [
        await world.running(alice, await world.app()),
        await world.running(alice, await world.app()),
      ];
      const others = await world.running(bob, await world.app());
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, {
        body: { disabled: true, end_sessions: true },
      });
      expect([answer.status, answer.body.user?.disabled]).toEqual([200, true]);
      for (const session of mine)
        expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'account_disabled' });
      const stops = agent.commands.filter((command) => command.type === 'session_stop');
      expect(stops.map((command) => command.reason)).toEqual(['account_disabled', 'account_disabled']);
      expect((await world.session(others.id)).state).toBe('running');
    });

    test.each([
      ['without end_sessions', { disabled: true }],
      ['with end_sessions: false', { disabled: true, end_sessions: false }],
      ['with end_sessions: null', { disabled: true, end_sessions: null }],
      ['where it is not disabled by the same request', { end_sessions: true }],
      ['where it is enabled', { disabled: false, end_sessions: true }],
    ])('its sessions go on %s', async (_, body) => {
      await world.host('hosta');
      const { admin, alice } = world.people;
      const session = await world.running(alice, await world.app());
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, { body });
      expect(answer.status).toBe(200);
      expect((await world.session(session.id)).state).toBe('running');
    });

    test('end_sessions is true or false', async () => {
      const { admin, alice } = world.people;
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, {
        body: { disabled: true, end_sessions: 'yes' },
      });
      expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_failed']);
    });

    test('the account is disabled although a host cannot be told to stop', async () => {
      const agent = await world.host('hosta');
      const { admin, alice } = world.people;
      const session = await world.running(alice, await world.app());
      await agent.drop();
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, {
        body: { disabled: true, end_sessions: true },
      });
      expect([answer.status, answer.body.user?.disabled]).toEqual([200, true]);
      expect((await world.session(session.id)).state).toBe('stopping');
    });
  });
});
