import { createLogger } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../../testing/index.ts';
import { type Database, insertStatement, openDatabase, statement, type Tx } from '../index.ts';

describeDatabases('a query of a store', (databases) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(await databases.fresh(), { logger: createLogger('silent') });
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.db.deleteFrom('leases').execute();
  });

  const insert = insertStatement('leases');
  const find = statement(
    (db, { names }: { names: readonly string[] }, values: { least: number }, { forNoKeyUpdate }) =>
      forNoKeyUpdate(
        db
          .selectFrom('leases')
          .select(['name', 'fence'])
          .where('name', 'in', names)
          .where('fence', '>=', values.least)
          .where('holder', '=', 'x')
          .orderBy('fence'),
      ),
  );
  const leases = (count: number) =>
    Array.from({ length: count }, (_, fence) => ({
      name: `lease ${fence}`,
      holder: 'x',
      fence,
      expires_at: 0,
    }));
  const names = (count: number) => leases(count).map(({ name }) => name);

  test.each([0, 1, 2, 7, 64, 100])('inserts %i rows, each once', async (count) => {
    await insert(database.db, leases(count));
    const rows = await database.db.selectFrom('leases').selectAll().orderBy('fence').execute();
    expect(rows).toEqual(leases(count));
  });

  test("puts each value into its column, in any order of a row's keys", async () => {
    await insert(database.db, leases(1));
    await insert(database.db, [{ expires_at: 7, fence: 1, holder: 'y', name: 'lease 1' }]);
    const rows = await database.db.selectFrom('leases').selectAll().orderBy('fence').execute();
    expect(rows).toEqual([...leases(1), { name: 'lease 1', holder: 'y', fence: 1, expires_at: 7 }]);
  });

  test('takes lists of any length, and says nothing twice', async () => {
    await insert(database.db, leases(9));
    for (const count of [1, 2, 3, 5, 9])
      expect(await find(database.db, { names: names(count) }, { least: 0 })).toHaveLength(count);
  });

  test('binds its values again each time', async () => {
    await insert(database.db, leases(3));
    expect(await find(database.db, { names: names(3) }, { least: 2 })).toEqual([
      { name: 'lease 2', fence: 2 },
    ]);
    expect(await find(database.db, { names: names(2) }, { least: 2 })).toEqual([]);
  });

  test('those given together run in their order, and see what came before', async () => {
    const seen = await database.transaction((tx) =>
      Promise.all([
        insert(tx, leases(3)),
        find(tx, { names: names(9) }, { least: 0 }),
        insert(tx, leases(9).slice(3)),
        find(tx, { names: names(9) }, { least: 0 }),
      ]),
    );
    expect([seen[1], seen[3]]).toMatchObject([{ length: 3 }, { length: 9 }]);
  });

  test('one that fails takes the transaction with it, with its own error, for any other statements of the batch', async () => {
    const failing = database.transaction((tx) =>
      Promise.all([
        insert(tx, leases(1)),
        insert(tx, leases(1)),
        find(tx, { names: names(1) }, { least: 0 }),
        insert(tx, leases(2).slice(1)),
      ]),
    );
    await expect(failing).rejects.toThrow(/unique/i);
    expect(await database.db.selectFrom('leases').selectAll().execute()).toEqual([]);
    // Whatever connection that was serves again.
    await Promise.all(
      Array.from({ length: 30 }, () =>
        database.transaction((tx) => find(tx, { names: ['a'] }, { least: 0 })),
      ),
    );
  });

  test('one that comes while its transaction is rolled back changes nothing', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const failing = database.transaction(async (tx) => {
      // This code reads, then writes. The transaction fails in between, so the write comes too late.
      late = (async () => {
        await find(tx, { names: names(1) }, { least: 0 }).catch(() => undefined);
        for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
        await insert(tx, leases(1));
      })();
      late.catch(() => undefined);
      await insert(tx, leases(3).slice(1));
      throw new Error('changed its mind');
    });
    await expect(failing).rejects.toThrow('changed its mind');
    await late.catch(() => undefined);
    expect(await database.db.selectFrom('leases').selectAll().execute()).toEqual([]);
  });

  test('is refused by a transaction that is over', async () => {
    const tx = await database.transaction(async (open): Promise<Tx> => open);
    await expect(find(tx, { names: ['a'] }, { least: 0 })).rejects.toThrow('already committed');
  });
});
