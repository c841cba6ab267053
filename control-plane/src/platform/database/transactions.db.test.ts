import { createLogger } from '@footlight/platform';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import {
  type Database,
  type DatabaseTarget,
  type Executor,
  isUniqueViolation,
  openDatabase,
} from './index.ts';

const logger = createLogger('silent');

describeDatabases('the database', (databases) => {
  let target: DatabaseTarget;
  let database: Database;
  beforeAll(async () => {
    target = await databases.fresh();
    database = await openDatabase(target, { logger });
    await database.db.schema
      .createTable('counters')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('value', 'bigint', (c) => c.notNull())
      .execute();
  });
  afterAll(() => database.close());

  const counters = () => database.db.withTables<{ counters: { name: string; value: number } }>();

  async function readCounter(name: string): Promise<number | undefined> {
    return (
      await counters().selectFrom('counters').select('value').where('name', '=', name).executeTakeFirst()
    )?.value;
  }

  describe('transactions', () => {
    test('commit what they wrote and give back what they return', async () => {
      const result = await database.transaction(async (tx) => {
        await tx
          .withTables<{ counters: { name: string; value: number } }>()
          .insertInto('counters')
          .values({ name: 'commit', value: 9_007_199_254_740_000 })
          .execute();
        return 'done';
      });
      expect(result).toBe('done');
      expect(await readCounter('commit')).toBe(9_007_199_254_740_000);
    });

    test('roll back when the work throws, and the next one works', async () => {
      await expect(
        database.transaction(async (tx) => {
          await tx
            .withTables<{ counters: { name: string; value: number } }>()
            .insertInto('counters')
            .values({ name: 'rollback', value: 1 })
            .execute();
          throw new Error('changed my mind');
        }),
      ).rejects.toThrow('changed my mind');
      expect(await readCounter('rollback')).toBeUndefined();
      expect(await database.transaction(async () => 1)).toBe(1);
    });

    test('lose no update when fifty of them add to one row at once', async () => {
      await counters().insertInto('counters').values({ name: 'sum', value: 0 }).execute();
      await Promise.all(
        Array.from({ length: 50 }, () =>
          database.transaction(async (tx) => {
            const typed = tx.withTables<{ counters: { name: string; value: number } }>();
            const row = await typed
              .selectFrom('counters')
              .select('value')
              .where('name', '=', 'sum')
              .forNoKeyUpdate()
              .executeTakeFirstOrThrow();
            await typed
              .updateTable('counters')
              .set({ value: row.value + 1 })
              .where('name', '=', 'sum')
              .execute();
          }),
        ),
      );
      expect(await readCounter('sum')).toBe(50);
    });

    test('refuse a query that leaves them instead of waiting for themselves', async () => {
      await expect(
        database.transaction(() => database.db.selectFrom('users').selectAll().execute()),
      ).rejects.toThrow('left its transaction');
      await expect(database.transaction(() => database.transaction(async () => 1))).rejects.toThrow(
        'left its transaction',
      );
      expect(await database.transaction(async () => 1)).toBe(1);
    });

    test('allow queries of work that they started, once they are over', async () => {
      let later: Promise<unknown> | null = null;
      let goOn = () => {};
      await database.transaction(async () => {
        later = new Promise<void>((resolve) => {
          goOn = resolve;
        }).then(() => database.ping());
      });
      goOn();
      await expect(later).resolves.toBeUndefined();
    });
  });

  describe('a column that the next release adds', () => {
    const leases = (db: Executor) => db.selectFrom('leases').selectAll().execute();
    const settings = (db: Executor) => db.selectFrom('instance_settings').selectAll().execute();
    const addColumn = async (name: string): Promise<void> => {
      for (const table of ['leases', 'instance_settings'] as const)
        await database.db.schema.alterTable(table).addColumn(name, 'text').execute();
    };
    /** Runs the work 20 times concurrently, which is the number of connections in the pool. */
    const manyTimes = (work: () => Promise<unknown>) => Promise.all(Array.from({ length: 20 }, work));

    test('breaks no statement that reads every column', async () => {
      await manyTimes(() => leases(database.db));
      await addColumn('later');
      await manyTimes(() => leases(database.db));
    });

    test('breaks no transaction with two of them', async () => {
      const both = () => database.transaction(async (tx) => Promise.all([leases(tx), settings(tx)]));
      await manyTimes(both);
      await addColumn('still_later');
      await manyTimes(both);
    });
  });

  test('the count of a conditional update shows who won', async () => {
    await counters().insertInto('counters').values({ name: 'state', value: 1 }).execute();
    const move = () =>
      counters()
        .updateTable('counters')
        .set({ value: 2 })
        .where('name', '=', 'state')
        .where('value', '=', 1)
        .executeTakeFirst();
    const results = await Promise.all([move(), move(), move()]);
    expect(results.map((result) => result.numUpdatedRows).sort()).toEqual([0n, 0n, 1n]);
  });

  test('a duplicate key is distinguished from every other failure', async () => {
    await counters().insertInto('counters').values({ name: 'once', value: 1 }).execute();
    const again = counters().insertInto('counters').values({ name: 'once', value: 1 }).execute();
    await expect(again).rejects.toSatisfy(isUniqueViolation);
    const unknown = database.db
      .withTables<{ nowhere: { id: string } }>()
      .selectFrom('nowhere')
      .selectAll()
      .execute();
    await expect(unknown).rejects.not.toSatisfy(isUniqueViolation);
  });

  test('counts and sums are numbers', async () => {
    await counters().insertInto('counters').values({ name: 'count', value: 5 }).execute();
    const row = await counters()
      .selectFrom('counters')
      .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.sum<number>('value').as('sum')])
      .where('name', '=', 'count')
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ count: 1, sum: 5 });
  });

  test('three services that start at once on one database migrate it once', async () => {
    const empty = await databases.empty();
    const opened = await Promise.all([1, 2, 3].map(() => openDatabase(empty, { logger })));
    const settings = await opened[0]?.db.selectFrom('instance_settings').selectAll().execute();
    expect(settings).toHaveLength(1);
    await Promise.all(opened.map((each) => each.close()));
  });

  test('opening an existing database changes nothing', async () => {
    const again = await openDatabase(target, { logger });
    expect(await again.db.selectFrom('catalog_version').selectAll().execute()).toEqual([
      { id: 1, version: 1 },
    ]);
    await again.close();
  });
});
