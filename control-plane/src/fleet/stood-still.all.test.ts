import { fastClock } from '@footlight/platform/testing';
import { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../testing/index.ts';
import { FIXED_TOKEN, type FleetWorld, openFleetWorld } from './testing/world.ts';

/** Speed of the clock: half a minute with a blocked event loop takes 1.5 s. */
const SPEED = 20;
const STALL_MS = 1_500;

describeDatabases('a control plane that was suspended for 30 s', (databases) => {
  let world: FleetWorld;
  const agents: FakeAgent[] = [];
  beforeEach(async () => {
    world = await openFleetWorld(await databases.fresh(), { clock: fastClock(SPEED) });
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.drop();
    await world.close();
  });

  test('reads the messages that agents sent meanwhile before it judges their silence', async () => {
    for (let index = 0; index < 5; index += 1) {
      const agent = new FakeAgent({
        url: world.url,
        nodeName: `host-${index}`,
        credential: { token: FIXED_TOKEN },
        heartbeatMs: 100,
      });
      agents.push(agent);
      const { host_id } = await agent.connect();
      await expect.poll(() => world.handlers.calls).toContain(`reported ${host_id}`);
    }
    // Put heartbeats into the sockets' buffers before the event loop is blocked, as if other machines had sent them
    // meanwhile.
    for (const agent of agents) agent.heartbeat({ ts: 7_777 });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
    for (const agent of agents) await agent.waitFor('heartbeat_ack', ({ echo }) => echo === 7_777);
    // After two more round trips every deadline that was due has been handled.
    for (let round = 0; round < 2; round += 1) for (const agent of agents) await agent.heard();
    expect(agents.map((agent) => agent.isOpen)).toEqual(agents.map(() => true));
    expect(world.handlers.calls.filter((call) => call.startsWith('linkLost'))).toEqual([]);
  });
});
