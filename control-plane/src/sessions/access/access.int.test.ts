import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('access to a session', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  const operations = [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/events'],
    ['POST', '/signaling-token'],
  ] as const;

  test.each(operations)(
    '%s …%s: a stranger cannot distinguish a foreign session from an unknown one',
    async (method, tail) => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const foreign = await world.call(world.people.bob, method, `/v1/sessions/${session.id}${tail}`);
      const unknown = await world.call(world.people.bob, method, `/v1/sessions/${randomUUID()}${tail}`);
      expect(foreign.status).toBe(403);
      expect([unknown.status, unknown.text]).toEqual([foreign.status, foreign.text]);
      expect((await world.session(session.id)).state).toBe('running');
    },
  );

  test.each(operations)('%s …%s: an administrator gets 404 for an unknown one', async (method, tail) => {
    const answer = await world.call(world.people.admin, method, `/v1/sessions/${randomUUID()}${tail}`);
    expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
  });

  test.each(operations)(
    '%s …%s: a malformed id is 400, and a request without a sign-in 401',
    async (method, tail) => {
      expect((await world.call(world.people.alice, method, `/v1/sessions/nope${tail}`)).status).toBe(400);
      expect((await world.call(null, method, `/v1/sessions/${randomUUID()}${tail}`)).status).toBe(401);
    },
  );

  test("an administrator reads anybody's session, but gets no token for it", async () => {
    await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const path = `/v1/sessions/${session.id}`;
    expect((await world.call(world.people.admin, 'GET', path)).status).toBe(200);
    expect((await world.call(world.people.admin, 'POST', `${path}/signaling-token`)).status).toBe(403);
  });
});
