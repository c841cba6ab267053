import { type FakeAgent, honest } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

/** More than one link lets wait for its answers. */
const FLOOD = 2_100;

describeDatabases('one person cannot use up the commands that may wait for a host', (databases) => {
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
    const answers = Array.from({ length: FLOOD }, () =>
      world.call(world.people.alice, 'PATCH', path, { body: { ui_scale: 1.5 } }),
    );
    await eventually(() => (sent('session_display_update') >= 8 ? true : undefined), 'the host is asked');
    await world.running(world.people.bob, appId);
    expect(sent('session_display_update')).toBe(8);
    await world.pass(10_000, agent);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(FLOOD - 8);
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
