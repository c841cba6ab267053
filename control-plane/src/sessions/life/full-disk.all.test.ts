import { join } from 'node:path';
import type { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canMountDisks, mountSmallDisk, type SmallDisk } from '../../testing/small-disk.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describe.runIf(canMountDisks)('the disk of the control plane is full', () => {
  let disk: SmallDisk;
  let world: SessionsWorld;
  let agent: FakeAgent;
  beforeAll(async () => {
    disk = mountSmallDisk(64);
    world = await openSessionsWorld({ dialect: 'sqlite', file: join(disk.folder, 'control.db') });
    agent = await world.host('hosta');
  });
  afterAll(async () => {
    await world.close();
    disk.unmount();
  });

  test('new writes are refused; reads, heartbeats and ends of sessions go on', async () => {
    const { admin, alice, bob } = world.people;
    const app = await world.app();
    const session = await world.running(alice, app);
    disk.fill();
    const create = () =>
      world.call(admin, 'POST', '/v1/apps', { body: { name: 'Full', description: 'x'.repeat(4_000) } });
    // A few writes may still fit into free pages of the file.
    let refused = await create();
    for (let n = 0; n < 500 && refused.status === 201; n += 1) refused = await create();
    expect([refused.status, refused.body.error.code, refused.headers['retry-after']]).toEqual([
      503,
      'internal',
      '30',
    ]);
    expect((await world.launch(bob, app)).status).toBe(503);
    // Events are not confirmed, but block no other report.
    agent.report({
      type: 'session_trace_event',
      session_id: session.id,
      ts: 1,
      event: 'encoder.stall',
      payload: { phase: 'detected', reason: 'x'.repeat(8_000) },
    });
    expect((await world.call(alice, 'GET', '/v1/apps')).status).toBe(200);
    await agent.heard();
    expect((await world.call(alice, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(202);
    await world.until(session.id, 'stopped');
    expect(await world.slotsUsed(agent)).toBe(0);
    expect(agent.unseen).toBeGreaterThan(0);
    const stored = await world.plane.platform.database.db
      .selectFrom('session_trace_events')
      .select('type')
      .execute();
    expect(stored).toEqual([]);
  });
});
