import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeDatabases, ofOneProcess } from '../../testing/index.ts';
import { beforeTransactionOf } from '../testing/before-transaction.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

describeDatabases('launches that race', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  test('200 parallel launches with quota 3: exactly 3', async () => {
    const agent = await world.host('hosta', slots(64));
    const app = await world.app();
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => world.launch(world.people.alice, app)),
    );
    const codes = answers.map((answer) => (answer.status === 201 ? 'launched' : answer.body.error?.code));
    expect(codes.filter((code) => code === 'launched')).toHaveLength(3);
    expect(codes.filter((code) => code === 'session_quota_exceeded')).toHaveLength(197);
    expect(await world.slotsUsed(agent)).toBe(3);
  });

  test('200 parallel launches while the quota is lowered from 3 to 1: never more than 3, then none', async () => {
    const agent = await world.host('hosta', slots(64));
    const app = await world.app();
    const lower = () =>
      world.call(world.people.admin, 'PATCH', `/v1/users/${world.people.alice.id}`, {
        body: { max_concurrent_sessions: 1 },
      });
    const launches = Array.from({ length: 200 }, (_, i) => {
      if (i === 100) void lower();
      return world.launch(world.people.alice, app);
    });
    const answers = await Promise.all(launches);
    const launched = answers.filter(({ status }) => status === 201).length;
    expect(launched).toBeGreaterThanOrEqual(1);
    expect(launched).toBeLessThanOrEqual(3);
    expect(await world.slotsUsed(agent)).toBe(launched);
    expect((await lower()).status).toBe(200);
    expect((await world.launch(world.people.alice, app)).body.error?.code).toBe('session_quota_exceeded');
  });

  test('an account that launches while it is deleted: either it has a session, or it is gone', async () => {
    const agent = await world.host('hosta', slots(64));
    const app = await world.app();
    let running = 0;
    for (let round = 0; round < 10; round += 1) {
      const person = await world.addPerson(`leaver-${round}`);
      const [launch, removal] = await Promise.all([
        world.launch(person, app),
        world.call(world.people.admin, 'DELETE', `/v1/users/${person.id}`),
      ]);
      if (removal.status === 204) expect([401, 403]).toContain(launch.status);
      else expect([launch.status, removal.status, removal.body.error.code]).toEqual([201, 409, 'conflict']);
      running += launch.status === 201 ? 1 : 0;
    }
    expect(await world.slotsUsed(agent)).toBe(running);
  });

  test('ten launches, one slot, one winner', async () => {
    const agent = await world.host('hosta', slots(1));
    const app = await world.app();
    const people = await Promise.all(
      Array.from({ length: 10 }, (_, index) => world.addPerson(`player${index}`)),
    );
    const answers = await Promise.all(people.map((person) => world.launch(person, app)));
    const codes = answers.map((answer) => (answer.status === 201 ? 'launched' : answer.body.error?.code));
    expect(codes.sort()).toEqual([...Array(9).fill('capacity_exhausted'), 'launched']);
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  ofOneProcess('a launch that is refused on its GPU leaves the slot to others of its batch', async () => {
    const agent = await world.host('hosta', slots(1));
    const app = await world.app();
    const player = await world.addPerson('player');
    const answers = await Promise.all([
      world.launch(world.people.alice, app, { stream: { codec: 'av1' } }),
      world.launch(player, app),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual([409, 201]);
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  test('a launch that fails does not fail others of its batch', async () => {
    const agent = await world.host('hosta', slots(4));
    const [app, broken] = [await world.app(), await world.app({ name: 'Broken' })];
    const { db } = world.plane.platform.database;
    // A value that no release writes; reading it throws.
    await db.updateTable('apps').set({ runtime_spec: '{' }).where('id', '=', broken).execute();
    const player = await world.addPerson('player');
    const answers = await Promise.all([world.launch(world.people.alice, broken), world.launch(player, app)]);
    expect(answers.map((answer) => answer.status)).toEqual([500, 201]);
    expect(await world.slotsUsed(agent)).toBe(1);
  });

  test('as many launches as slots over several GPUs: none refused, none overbooked', async () => {
    const agents = await Promise.all([world.host('hosta', slots(4)), world.host('hostb', slots(4))]);
    const app = await world.app();
    const people = await Promise.all(
      Array.from({ length: 8 }, (_, index) => world.addPerson(`player${index}`)),
    );
    const answers = await Promise.all(people.map((person) => world.launch(person, app)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(201));
    expect(await Promise.all(agents.map((agent) => world.slotsUsed(agent)))).toEqual([4, 4]);
  });

  test('a revocation between the check and the commit wins, and nothing half-made is left', async () => {
    const agent = await world.host('hosta');
    const app = await world.app();
    const { admin, alice } = world.people;
    const entitlements = `/v1/admin/apps/${app}/entitlements`;
    const [row] = (await world.call(admin, 'GET', entitlements)).body.items;
    const answer = await beforeTransactionOf(
      world.planes,
      () => world.launch(alice, app),
      async () => {
        expect((await world.call(admin, 'DELETE', `${entitlements}/${row.id}`)).status).toBe(204);
      },
    );
    expect([answer.status, answer.body.error?.code]).toEqual([403, 'forbidden']);
    expect(await world.list()).toEqual([]);
    expect(await world.slotsUsed(agent)).toBe(0);
  });

  test.each([true, false])(
    'a launch under way while its account is disabled starts nothing (end_sessions: %s)',
    async (end_sessions) => {
      const agent = await world.host('hosta');
      const app = await world.app();
      const { admin, alice } = world.people;
      const answer = await beforeTransactionOf(
        world.planes,
        () => world.launch(alice, app),
        async () => {
          const body = { disabled: true, end_sessions };
          expect((await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, { body })).status).toBe(200);
        },
      );
      expect([answer.status, answer.body.error?.code]).toEqual([403, 'forbidden']);
      expect(await world.list()).toEqual([]);
      expect(await world.slotsUsed(agent)).toBe(0);
    },
  );

  test('a session that was committed first outlives the revocation', async () => {
    await world.host('hosta');
    const app = await world.app();
    const { admin, alice } = world.people;
    const session = await world.running(alice, app);
    const entitlements = `/v1/admin/apps/${app}/entitlements`;
    const [row] = (await world.call(admin, 'GET', entitlements)).body.items;
    await world.call(admin, 'DELETE', `${entitlements}/${row.id}`);
    expect((await world.session(session.id)).state).toBe('running');
    expect((await world.launch(alice, app)).status).toBe(403);
  });
});
