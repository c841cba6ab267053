import { SECOND_MS } from '@footlight/platform';
import { afterEach, beforeEach, expect } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { ofOneProcess } from '../../testing/replicas.ts';
import { acceptedLaunch, sent, waitSent } from '../testing/commands.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('a launch while the control plane ends', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  ofOneProcess('is finished first, so that its host does not wait for session_start', async () => {
    const agent = await world.host('hosta', { behaviour: { ackDelayMs: SECOND_MS } });
    const { id } = await acceptedLaunch(world);
    await waitSent(agent, 'session_assign', id);
    let closed = false;
    const closing = Promise.resolve(world.plane.sessions.close()).then(() => {
      closed = true;
    });
    await world.session(id);
    expect(closed).toBe(false);
    await world.clock.pass(SECOND_MS);
    await waitSent(agent, 'session_start', id);
    await world.clock.pass(SECOND_MS);
    await closing;
    await world.until(id, 'running');
    expect(sent(agent, 'session_start', id)).toHaveLength(1);
  });
});
