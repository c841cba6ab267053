import { MAX_GUESTS } from '@footlight/protocol/guests';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('links of a session at the same time', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('ten links, four places: four winners with slots of their own', async () => {
    const agent = await world.host('hosta');
    const session = await world.running(world.people.alice, await world.app());
    const path = `/v1/sessions/${session.id}/guests`;
    const made = await Promise.all(
      Array.from({ length: 10 }, () =>
        world.call(world.people.alice, 'POST', path, { body: { role: 'gamepad', minutes: 60 } }),
      ),
    );
    expect(made.filter(({ status }) => status === 201)).toHaveLength(MAX_GUESTS);
    const refused = made.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ body }) => body.error.code))).toEqual(new Set(['too_many_guests']));
    const rows = await world.plane.platform.database.db.selectFrom('session_guests').selectAll().execute();
    expect(rows.map(({ slot }) => slot).sort()).toEqual([1, 2, 3, 4]);
    expect(new Set(rows.map(({ pad_index }) => pad_index)).size).toBe(4);
    // The newest list that the host got has all of them, whatever the order of arrival.
    const lists = agent.commands.flatMap((command) => (command.type === 'session_guests' ? [command] : []));
    const newest = lists.toSorted((a, b) => b.version - a.version)[0];
    expect(newest?.guests).toHaveLength(MAX_GUESTS);
    // A place is free again after a removal, and after an end of the time.
    const first = rows[0]?.id ?? '';
    await world.call(world.people.alice, 'DELETE', `${path}/${first}`);
    const again = await world.call(world.people.alice, 'POST', path, { body: { role: 'watch', minutes: 5 } });
    expect(again.status).toBe(201);
    await world.pass(5 * 60_000, agent);
    const last = await world.call(world.people.alice, 'POST', path, { body: { role: 'watch', minutes: 5 } });
    expect(last.status).toBe(201);
  });
});
