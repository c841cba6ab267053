import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type Person, type TestApp } from '../../testing/index.ts';

/** Runs of each race, because the order of the requests varies. */
const ROUNDS = 3;

describeDatabases('the last enabled administrator', ({ fresh }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await fresh());
  });
  afterAll(() => app.close());

  const patch = (as: Person, id: string, body: object) => app.call(as, 'PATCH', `/v1/users/${id}`, { body });
  const ways = {
    demoted: (as: Person, id: string) => patch(as, id, { role: 'user' }),
    disabled: (as: Person, id: string) => patch(as, id, { disabled: true }),
    deleted: (as: Person, id: string) => app.call(as, 'DELETE', `/v1/users/${id}`),
  };
  type Way = keyof typeof ways;
  const all = Object.keys(ways) as Way[];
  const pairs = all.flatMap((first) => all.map((second) => [first, second] as const));

  let made = 0;
  /** Makes these accounts the only enabled administrators. */
  async function onlyAdmins(count: number): Promise<Person[]> {
    const { db } = app.plane.platform.database;
    await db.updateTable('users').set({ disabled_at: 1 }).where('role', '=', 'admin').execute();
    made += 1;
    const people = Array.from({ length: count }, (_, i) => app.addPerson(`admin-${made}-${i}`, 'admin'));
    return Promise.all(people);
  }

  async function enabledAdmins(): Promise<string[]> {
    const rows = await app.plane.platform.database.db
      .selectFrom('users')
      .select('id')
      .where('role', '=', 'admin')
      .where('disabled_at', 'is', null)
      .execute();
    return rows.map(({ id }) => id);
  }

  const audited = async (): Promise<number> => {
    const { count } = await app.plane.platform.database.db
      .selectFrom('activity')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return count;
  };

  test.each([
    ['demoted', { role: 'user' }],
    ['disabled', { disabled: true }],
    [
      'both, with the quota in the same request',
      { role: 'user', disabled: true, max_concurrent_sessions: 9 },
    ],
  ])('cannot be %s, not even by their own hand; nothing changes and nothing is recorded', async (_, body) => {
    const [sole] = (await onlyAdmins(1)) as [Person];
    const before = await audited();
    const answer = await patch(sole, sole.id, body);
    expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict']);
    const user = (await app.call(sole, 'GET', `/v1/users?q=${sole.username}`)).body.items[0];
    expect(user).toMatchObject({ role: 'admin', disabled: false, max_concurrent_sessions: 3 });
    expect(await audited()).toBe(before);
    // Changes of other fields are accepted, and so are changes to the current values.
    expect((await patch(sole, sole.id, { max_concurrent_sessions: 4 })).status).toBe(200);
    expect((await patch(sole, sole.id, { role: 'admin', disabled: false })).status).toBe(200);
  });

  test('counts enabled administrators only, and may step down while there is another', async () => {
    const [first, second] = (await onlyAdmins(2)) as [Person, Person];
    expect((await patch(first, second.id, { disabled: true })).status).toBe(200);
    expect((await patch(first, first.id, { role: 'user' })).status).toBe(409);
    expect((await ways.deleted(first, second.id)).status).toBe(204);
    const [third, fourth] = (await onlyAdmins(2)) as [Person, Person];
    expect((await patch(third, third.id, { role: 'user' })).status).toBe(200);
    expect((await patch(fourth, fourth.id, { disabled: true })).status).toBe(409);
  });

  test.each([
    ['demotion', { role: 'user' }, { role: 'user', disabled: false }],
    ['disabling', { disabled: true }, { role: 'admin', disabled: true }],
  ])(
    'a %s is not undone by requests of that person that were authorized before it',
    async (_, change, standing) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [first, second] = (await onlyAdmins(2)) as [Person, Person];
        const undo = () => patch(second, second.id, { role: 'admin', disabled: false });
        const answers = await Promise.all([
          undo(),
          patch(first, second.id, change),
          ...Array.from({ length: 5 }, undo),
        ]);
        expect(answers[1]?.status).toBe(200);
        const { items } = (await app.call(first, 'GET', `/v1/users?q=${second.username}`)).body;
        expect(items).toMatchObject([standing]);
      }
    },
  );

  describe('stays, when two administrators change each other at once:', () => {
    test.each(pairs)('one %s, the other %s', async (first, second) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [a, b] = (await onlyAdmins(2)) as [Person, Person];
        const answers = await Promise.all([ways[first](a, b.id), ways[second](b, a.id)]);
        const left = await enabledAdmins();
        expect(left).toHaveLength(1);
        const done = answers.filter(({ status }) => status < 300);
        expect(done).toHaveLength(1);
        const refused = answers.find(({ status }) => status >= 300);
        expect(['conflict', 'forbidden', 'unauthorized']).toContain(refused?.body.error.code);
      }
    });
  });

  test('stays when two step down at once', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const people = await onlyAdmins(2);
      const answers = await Promise.all(people.map((person) => ways.demoted(person, person.id)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    }
  });

  test('stays when ten of them change each other in every way at once', async () => {
    const people = await onlyAdmins(10);
    const answers = await Promise.all(
      people.flatMap((actor, i) =>
        people.map((target, j) => ways[all[(i + j) % all.length] as Way](actor, target.id)),
      ),
    );
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    expect((await enabledAdmins()).length).toBeGreaterThanOrEqual(1);
  });
});
