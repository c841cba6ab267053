import { type FakeAgent, gpuCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

const SESSIONS = 10;
const BUDGET_MS = 8_000;

describeDatabases('a forced drain', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let ids: string[];
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
    const { db } = world.plane.platform.database;
    await db.updateTable('users').set({ max_concurrent_sessions: 100 }).execute();
    agent = await world.host('hosta', { capacity: gpuCapacity(2) });
    const appId = await world.app();
    ids = [];
    for (let count = 0; count < SESSIONS; count += 1) {
      ids.push((await world.running(world.people.alice, appId)).id);
    }
  });
  afterEach(() => world.close());

  const drain = () =>
    world.call(world.people.admin, 'POST', `/v1/hosts/${agent.hostId}/drain`, { body: { force: true } });
  const stops = () => agent.commands.filter(({ type }) => type === 'session_stop');

  test('asks every session to stop, with its reason, and answers 200', async () => {
    const answer = await drain();
    expect([answer.status, answer.body]).toMatchObject([200, { status: 'draining' }]);
    for (const id of ids)
      expect(await world.until(id, 'stopped')).toMatchObject({ end_reason: 'host_draining' });
    expect(stops()).toHaveLength(SESSIONS);
    expect(stops().every((stop) => 'reason' in stop && stop.reason === 'host_draining')).toBe(true);
  });

  test('asks eight at a time, and answers 200 after 8 s for any answers of the agent', async () => {
    agent.behaviour.answer = ({ type }) => (type === 'session_stop' ? 'silence' : 'ok');
    const answering = drain();
    await expect.poll(stops).toHaveLength(8);
    let answered = false;
    void answering.then(() => {
      answered = true;
    });
    await world.clock.pass(BUDGET_MS - 1);
    expect([answered, stops().length]).toEqual([false, 8]);
    await world.clock.pass(1);
    expect((await answering).status).toBe(200);
    expect(stops()).toHaveLength(8);
    const states = (await world.list()).map(({ state }) => state).sort();
    expect(states).toEqual([...Array(2).fill('running'), ...Array(8).fill('stopping')]);
  });

  test('goes on past sessions whose stop is refused', async () => {
    agent.behaviour.answer = ({ type }) => (type === 'session_stop' ? { code: 'internal' } : 'ok');
    expect((await drain()).status).toBe(200);
    expect(stops()).toHaveLength(SESSIONS);
  });
});
