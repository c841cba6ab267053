import { type FakeAgent, honest } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { LOG_LINES_PER_MINUTE } from '../../platform/limits.ts';
import { describeSqlite } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

/** More commands than a link allows to wait for acks. */
const FLOOD = 2_100;

describeSqlite('one person cannot use up the commands that may wait for a host', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let appId: string;
  let sessionId: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta', slots(8));
    appId = await world.app();
  });
  beforeEach(async () => {
    sessionId = (await world.running(world.people.alice, appId)).id;
  });
  afterEach(() => {
    Object.assign(agent.behaviour, honest);
  });
  afterAll(() => world.close());

  const sent = (type: string) =>
    agent.commands.filter((command) => command.type === type && 'session_id' in command).length;
  const isSilentAbout = (type: string) => {
    agent.behaviour.answer = (command) => (command.type === type ? 'silence' : 'ok');
  };

  test('with changes of the display', async () => {
    isSilentAbout('session_display_update');
    const path = `/v1/sessions/${sessionId}/display`;
    const statuses: number[] = [];
    let answers: Promise<unknown>[] = [];
    await new Promise<void>((resolve) => {
      answers = Array.from({ length: FLOOD }, async () => {
        const { status } = await world.call(world.people.alice, 'PATCH', path, { body: { ui_scale: 1.5 } });
        statuses.push(status);
        // The other eight requests wait for the host.
        if (statuses.length === FLOOD - 8) resolve();
      });
    });
    await world.running(world.people.bob, appId);
    expect(sent('session_display_update')).toBe(8);
    await world.pass(10_000, agent);
    await Promise.all(answers);
    expect(statuses).toContain(429);
  });

  test('and cannot fill the log with changes of app that the host refuses', async () => {
    agent.behaviour.answer = ({ type }) => (type === 'session_swap_app' ? { code: 'unsupported' } : 'ok');
    const refusals = () =>
      world.log.filter((line) => line.includes('"level":"info"') && line.includes('session.swap_failed'))
        .length;
    for (let count = 0; count <= LOG_LINES_PER_MINUTE; count += 1) {
      await world.call(world.people.alice, 'POST', `/v1/sessions/${sessionId}/swap`, {
        body: { app_id: appId },
      });
      await expect
        .poll(async () => (await world.session(sessionId)).state_detail, { interval: 5 })
        .toBe('swap rejected');
    }
    expect(refusals()).toBeLessThanOrEqual(LOG_LINES_PER_MINUTE);
  });

  test('with stops of a session whose host says nothing', async () => {
    isSilentAbout('session_stop');
    const before = sent('session_stop');
    const path = `/v1/sessions/${sessionId}`;
    await Promise.all(Array.from({ length: FLOOD }, () => world.call(world.people.alice, 'DELETE', path)));
    await agent.heard();
    expect(sent('session_stop') - before).toBe(1);
    await world.running(world.people.bob, appId);
  });
});
