import { createLogger } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { type Database, openDatabase } from '../database/index.ts';
import { WriteBatch } from './write-batch.ts';

describeDatabases('writes of one turn', (databases) => {
  let database: Database;
  let transactions = 0;
  let batch: WriteBatch;
  beforeAll(async () => {
    const opened = await openDatabase(await databases.fresh(), { logger: createLogger('silent') });
    database = {
      ...opened,
      full: false,
      transaction: (work) => {
        transactions += 1;
        return opened.transaction(work);
      },
    };
    batch = new WriteBatch(database);
  });
  afterAll(() => database.close());

  const lease = (name: string) =>
    batch.run({}, async (tx) => {
      await tx.insertInto('leases').values({ name, holder: 'test', fence: 1, expires_at: 1 }).execute();
      return name;
    });
  const names = async () =>
    (await database.db.selectFrom('leases').select('name').orderBy('name').execute()).map(({ name }) => name);

  test('share one transaction and keep their answers', async () => {
    transactions = 0;
    expect(await Promise.all(['a', 'b', 'c'].map(lease))).toEqual(['a', 'b', 'c']);
    expect(transactions).toBe(1);
  });

  test('a failed write does not affect the others', async () => {
    const outcomes = await Promise.allSettled(['d', 'a', 'e'].map(lease));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('are not tried one by one where the database is away', async () => {
    const away = Object.assign(new Error('the server shuts down'), { code: '57P01' });
    let tries = 0;
    const stranded = new WriteBatch({
      ...database,
      full: false,
      transaction: () => {
        tries += 1;
        return Promise.reject(away);
      },
    });
    const outcomes = await Promise.allSettled(
      ['h', 'i', 'j'].map((name) => stranded.run({}, async () => name)),
    );
    expect(outcomes).toEqual(Array(3).fill({ status: 'rejected', reason: away }));
    expect(tries).toBe(1);
  });

  test('whose rows are not known before have a transaction of their own, in their turn', async () => {
    transactions = 0;
    const order: string[] = [];
    const jobs = ([{}, null, {}] as const).map((rows, n) =>
      batch.run(rows, async () => void order.push(`${n} in ${transactions}`)),
    );
    await Promise.all(jobs);
    expect(order).toEqual(['0 in 1', '1 in 2', '2 in 3']);
  });

  test('that come while a batch runs form the next one, in order', async () => {
    const order: string[] = [];
    const first = lease('f').then(() => order.push('f'));
    await new Promise((resolve) => setImmediate(resolve));
    const second = lease('g').then(() => order.push('g'));
    await Promise.all([first, second]);
    expect(order).toEqual(['f', 'g']);
    await batch.idle();
  });
});
