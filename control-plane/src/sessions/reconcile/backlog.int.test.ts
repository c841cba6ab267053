import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('reports that waited for the link', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let other: FakeAgent;
  let app: string;
  beforeAll(async () => {
    world = await openSessionsWorld(await databases.fresh());
    app = await world.app();
    agent = await world.host('hosta');
    other = await world.host('hostb');
  });
  afterAll(() => world.close());

  const runsOn = (host: FakeAgent) => world.runsOn(host, world.people.alice, app);

  test('are applied in their order, each to its own session, whether they say the same or not', async () => {
    const [one, two, many, leaving, late] = [
      await runsOn(agent),
      await runsOn(agent),
      await runsOn(agent),
      await runsOn(agent),
      await runsOn(agent),
    ] as const;
    const foreign = await runsOn(other);
    await agent.drop();
    agent.reportState(one, 'running', { detail: 'alike' });
    agent.reportState(many, 'running', { detail: 'alike' });
    agent.reportState(two, 'running', { detail: 'alike' });
    agent.reportState(many, 'running', { detail: 'in between' });
    agent.reportState(late, 'running', { detail: 'different' });
    agent.reportState(foreign, 'running', { detail: 'a lie' });
    agent.reportState(leaving, 'stopping', { detail: 'on its way' });
    agent.reportState(many, 'running', { detail: 'the last word' });
    await world.reconnect(agent);
    await agent.waitFor('seen', ({ seq }) => seq === 8);
    const said = async (id: string) => {
      const { state, state_detail } = await world.session(id);
      return [state, state_detail];
    };
    expect(await said(one)).toEqual(['running', 'alike']);
    expect(await said(two)).toEqual(['running', 'alike']);
    expect(await said(many)).toEqual(['running', 'the last word']);
    expect(await said(late)).toEqual(['running', 'different']);
    expect(await said(leaving)).toEqual(['stopping', 'on its way']);
    expect(await said(foreign)).not.toContain('a lie');
    expect(agent.unseen).toBe(0);
  });
});
