import { createLogger } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeDatabases } from '../../../testing/index.ts';
import { type Database, openDatabase, prepareForKeys } from '../index.ts';

describeDatabases('a prepared query', (databases) => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase(await databases.fresh(), { logger: createLogger('silent') });
    await database.db
      .insertInto('leases')
      .values(['a', 'b', 'c'].map((name, fence) => ({ name, holder: 'x', fence, expires_at: 10 * fence })))
      .execute();
  });
  afterAll(() => database.close());

  const prepareLeases = () =>
    database.prepare((db, values: { after: number; holder: string }) =>
      db
        .selectFrom('leases')
        .select(['name', 'expires_at'])
        .where('holder', '=', values.holder)
        .where('fence', '<', 100)
        .where('expires_at', '>=', values.after)
        .orderBy('name'),
    );

  test('binds its values again each time, constants of its own among them', async () => {
    const leases = prepareLeases();
    expect(await leases({ holder: 'x', after: 10 })).toEqual([
      { name: 'b', expires_at: 10 },
      { name: 'c', expires_at: 20 },
    ]);
    expect(await leases({ holder: 'x', after: 20 })).toEqual([{ name: 'c', expires_at: 20 }]);
    expect(await leases({ holder: 'y', after: 0 })).toEqual([]);
  });

  test('sees each write that is over', async () => {
    const leases = prepareLeases();
    await database.db.updateTable('leases').set({ expires_at: 30 }).where('name', '=', 'b').execute();
    expect(await leases({ holder: 'x', after: 30 })).toEqual([{ name: 'b', expires_at: 30 }]);
  });

  test('looks up as many keys as there are, none among them, each once', async () => {
    const find = prepareForKeys(database, (db, names, values: { holder: string }) =>
      db
        .selectFrom('leases')
        .select('name')
        .where('name', 'in', names)
        .where('holder', '=', values.holder)
        .orderBy('name'),
    );
    const names = async (...keys: string[]) => (await find(keys, { holder: 'x' })).map(({ name }) => name);
    expect(await names()).toEqual([]);
    expect(await names('b')).toEqual(['b']);
    expect(await names('c', 'none', 'a')).toEqual(['a', 'c']);
    expect(await names('a', 'b', 'c', 'd', 'e')).toEqual(['a', 'b', 'c']);
    expect(await find(['a'], { holder: 'y' })).toEqual([]);
  });

  test('is refused inside a transaction, whose writes it would not see', async () => {
    const leases = prepareLeases();
    await expect(database.transaction(() => leases({ holder: 'x', after: 0 }))).rejects.toThrow(
      'left its transaction',
    );
  });
});
