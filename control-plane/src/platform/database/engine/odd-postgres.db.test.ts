/** Postgres databases that an operator created with other settings than the defaults. */
import { createLogger } from '@footlight/platform';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type DebianPostgres,
  hasDebianPostgres,
  startDebianPostgres,
} from '../../../testing/debian-postgres.ts';
import { type DatabaseTarget, openDatabase } from '../index.ts';

describe.skipIf(!hasDebianPostgres)('a Postgres database', () => {
  let server: DebianPostgres;
  beforeAll(async () => {
    server = await startDebianPostgres();
  });
  afterAll(() => server?.stop());

  async function run(...statements: string[]): Promise<pg.QueryResult[]> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      const results: pg.QueryResult[] = [];
      for (const statement of statements) results.push(await client.query(statement));
      return results;
    } finally {
      await client.end();
    }
  }

  /** @param options in the form of PGOPTIONS */
  function target(database: string, options?: string): DatabaseTarget {
    const url = new URL(server.url);
    if (database !== '') url.pathname = `/${database}`;
    if (options !== undefined) url.searchParams.set('options', options);
    return { dialect: 'postgres', url: url.href };
  }

  async function openAndClose(to: DatabaseTarget): Promise<void> {
    await (await openDatabase(to, { logger: createLogger('silent') })).close();
  }

  test.each(['LATIN1', 'SQL_ASCII'])(
    'of the encoding %s, which cannot keep every name, is refused',
    async (encoding) => {
      const name = `of_${encoding.toLowerCase()}`;
      await run(`create database ${name} encoding '${encoding}' locale 'C' template template0`);
      await expect(openAndClose(target(name))).rejects.toThrow(
        `The database has the encoding ${encoding}, which cannot keep every text. Make one with: create database … encoding 'UTF8' template template0`,
      );
    },
  );

  test('that treats a backslash in a text as an escape is refused', async () => {
    await run('create database backslash', 'alter database backslash set standard_conforming_strings = off');
    await expect(openAndClose(target('backslash'))).rejects.toThrow(
      'The database sets standard_conforming_strings to off, which changes the meaning of texts. Run: alter database … reset standard_conforming_strings',
    );
  });

  test('whose other schema has tables of the same names can hold a second instance', async () => {
    await run('create schema one', 'create schema two');
    for (const schema of ['one', 'two', 'one']) await openAndClose(target('', `-c search_path=${schema}`));
    const [tables] = await run(
      "select schemaname, count(*) from pg_tables where schemaname in ('one', 'two', 'public') group by 1 order by 1",
    );
    const [one, two, ...others] = tables?.rows ?? [];
    expect([one?.schemaname, two?.schemaname, others]).toEqual(['one', 'two', []]);
    expect(two?.count).toBe(one?.count);
  });
});
