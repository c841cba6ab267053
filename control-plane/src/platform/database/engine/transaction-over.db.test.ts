import { createLogger } from '@footlight/platform';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeDatabases } from '../../../testing/index.ts';
import { type Database, type Executor, openDatabase, type Tx } from '../index.ts';

describeDatabases('a statement of a transaction', (databases) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(await databases.fresh(), { logger: createLogger('silent') });
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.db.deleteFrom('leases').execute();
  });

  const insert = (db: Executor, rows: ReturnType<typeof leases>) =>
    db.insertInto('leases').values(rows).execute();
  const find = (db: Executor, names: readonly string[]) =>
    db
      .selectFrom('leases')
      .select('name')
      .where('name', 'in', names)
      .orderBy('fence')
      .forNoKeyUpdate()
      .execute();
  const leases = (count: number) =>
    Array.from({ length: count }, (_, fence) => ({
      name: `lease ${fence}`,
      holder: 'x',
      fence,
      expires_at: 0,
    }));
  const names = (count: number) => leases(count).map(({ name }) => name);

  test('statements given together run in their order, and see what came before', async () => {
    const seen = await database.transaction((tx) =>
      Promise.all([
        insert(tx, leases(3)),
        find(tx, names(9)),
        insert(tx, leases(9).slice(3)),
        find(tx, names(9)),
      ]),
    );
    expect([seen[1], seen[3]]).toMatchObject([{ length: 3 }, { length: 9 }]);
  });

  test('one that fails ends the transaction, with its own error, for any other statements of the batch', async () => {
    const failing = database.transaction((tx) =>
      Promise.all([
        insert(tx, leases(1)),
        insert(tx, leases(1)),
        find(tx, names(1)),
        insert(tx, leases(2).slice(1)),
      ]),
    );
    await expect(failing).rejects.toThrow(/unique/i);
    expect(await database.db.selectFrom('leases').selectAll().execute()).toEqual([]);
    // Use all connections, so that the affected one is used again too.
    await Promise.all(Array.from({ length: 30 }, () => database.transaction((tx) => find(tx, ['a']))));
  });

  test('one that comes while its transaction is rolled back changes nothing', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const failing = database.transaction(async (tx) => {
      // This code reads, then writes. The transaction fails in between, so the write comes too late.
      late = (async () => {
        await find(tx, names(1)).catch(() => undefined);
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
    await expect(find(tx, ['a'])).rejects.toThrow('already committed');
  });
});
