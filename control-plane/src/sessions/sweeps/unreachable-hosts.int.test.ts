import { SECOND_MS } from '@footlight/platform';
import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hostSubjects } from '../../fleet/subjects.ts';
import { addSession, describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('a host whose replica does not answer', (databases) => {
  let world: SessionsWorld;
  let unreachable: FakeAgent;
  let other: FakeAgent;
  let appId: string;
  let asked: number;
  let answersAgain: () => void;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
    unreachable = await world.host('hosta');
    other = await world.host('hostb');
    appId = await world.app();
    asked = 0;
    // A later responder replaces the earlier one.
    const responders = world.planes.map(({ platform }) =>
      platform.bus.respond(hostSubjects.link, unreachable.hostId as string, async () => {
        asked += 1;
        throw new Error('the replica hangs');
      }),
    );
    answersAgain = () => {
      for (const responder of responders) responder.close();
    };
  });
  afterEach(() => world.close());

  const lines = (event: string) => world.log.filter((line) => line.includes(event)).length;
  const stopping = ({ hostId }: FakeAgent) =>
    addSession(world, {
      ...{ appId, userId: world.people.alice.id, hostId: hostId as string, startedAtMs: world.clock.nowMs() },
      state: 'stopping',
    });

  test('is skipped by the sweep of stuck sessions, which goes on with the other hosts', async () => {
    // The hosts take turns, because the order in which the sweep reads the rows is not defined.
    const skipped = [await stopping(unreachable)];
    const stuck = await stopping(other);
    skipped.push(await stopping(unreachable));
    await world.pass(125 * SECOND_MS, unreachable, other);
    // Wait for the runs of the interval, so that the next one is counted alone.
    await world.plane.platform.leader.runNow('sessions.stuck');
    const before = { asked, logged: lines('session.hosts_skipped') };
    await world.plane.platform.leader.runNow('sessions.stuck');
    expect(asked - before.asked).toBe(1);
    expect(lines('session.hosts_skipped') - before.logged).toBe(1);
    expect(lines('leader.task_failed')).toBe(0);
    expect((await world.session(stuck)).state).toBe('stopped');
    for (const id of skipped) expect((await world.session(id)).state).toBe('stopping');

    answersAgain();
    await world.plane.platform.leader.runNow('sessions.stuck');
    for (const id of skipped) expect((await world.session(id)).state).toBe('stopped');
  });

  test('is skipped by the sweep of lost hosts, which ends the sessions of other hosts', async () => {
    const kept = [await world.runsOn(unreachable, world.people.alice, appId)];
    const lost = await world.runsOn(other, world.people.alice, appId);
    kept.push(await world.runsOn(unreachable, world.people.alice, appId));
    await other.drop();
    await world.offline(other);
    await world.pass(800 * SECOND_MS, unreachable);
    expect(await world.until(lost, 'failed')).toMatchObject({ state_detail: 'host_lost' });
    for (const id of kept) expect((await world.session(id)).state).toBe('running');
    expect(lines('leader.task_failed')).toBe(0);
  });

  test('has the deadline of its start checked again when the replica answers', async () => {
    await world.call(world.people.admin, 'POST', `/v1/hosts/${other.hostId}/drain`, {});
    unreachable.behaviour.launch = [{ state: 'starting' }];
    // Between two runs of the sweep, so that the deadline passes before the sweep sees it.
    await world.pass(10 * SECOND_MS, unreachable, other);
    const { body } = await world.launch(world.people.alice, appId);
    await world.until(body.session.id, 'starting');
    await eventually('the replica was asked', () => (asked > 0 ? true : undefined));
    answersAgain();
    await world.pass(95 * SECOND_MS, unreachable, other);
    expect(await world.until(body.session.id, 'failed')).toMatchObject({ state_detail: 'start timed out' });
    expect(lines('session.drive_failed')).toBe(0);
  });
});
