import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '@footlight/platform';
import { sql } from 'kysely';
import { BackupRefused } from './backup-refused.ts';
import { openDatabase } from './open.ts';

const STEPS_TABLE = 'schema_steps';
const PSQL = ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--tuples-only', '--no-align'];

const LIST_TABLES = `select json_build_object('schema', current_schema(), 'tables',
  (select coalesce(json_agg(tablename order by tablename), '[]') from pg_tables where schemaname = current_schema()))`;
const LIST_STEPS = `select coalesce(json_agg(name), '[]') from ${STEPS_TABLE}`;

/** Tables of a newer release are not in the dump. If they stayed, they would break a later migration. */
const DROP_TABLES = `do $$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = current_schema() loop
    execute format('drop table %I cascade', name);
  end loop;
end $$`;

/**
 * Counts connections of control planes. They have the application name of DATABASE_URL or, without one, "footlight".
 * psql's own connection uses the name of DATABASE_URL too.
 */
const COUNT_USERS = `select count(*) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
  and application_name in ('footlight', nullif(current_setting('application_name'), 'psql'))`;

/**
 * Saves Footlight's tables of a live Postgres database by pg_dump in its custom format.
 * @param url in the form of DATABASE_URL
 * @param target a path at which no file exists
 * @throws BackupRefused with the last lines of the tool's output
 */
export async function backupPostgres(url: string, target: string): Promise<void> {
  const { schema, tables, foreign } = await readTables(url);
  if (!tables.includes(STEPS_TABLE))
    throw new BackupRefused(`The database has no tables of Footlight in the schema ${schema}.`);
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  try {
    run(
      'pg_dump',
      [
        ...['--format=custom', '--no-owner', '--file', partial, '--schema', pattern(schema)],
        ...foreign.flatMap((table) => ['--exclude-table', `${pattern(schema)}.${pattern(table)}`]),
      ],
      url,
    );
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Replaces Footlight's tables with the tables of the backup in one transaction.
 * @throws BackupRefused when the backup is unusable, a control plane is connected, or the schema contains tables of
 * other programs
 */
export async function restorePostgres(source: string, url: string): Promise<void> {
  if (!existsSync(source)) throw new BackupRefused(`There is no backup at ${source}.`);
  const { schema, foreign } = await readTables(url);
  const folder = mkdtempSync(path.join(tmpdir(), 'footlight-restore-'));
  const script = path.join(folder, 'restore.sql');
  try {
    // Writes the SQL to a file first, so that an incomplete backup is found before a table is dropped.
    run(
      'pg_restore',
      ['--no-owner', '--clean', '--if-exists', '--schema', schema, '--file', script, source],
      null,
    );
    if (!holdsSteps(source, schema))
      throw new BackupRefused(`${source} holds no Footlight database of the schema ${schema}.`);
    if (run('psql', [...PSQL, '--command', COUNT_USERS], url) !== '0')
      throw new BackupRefused(
        'A control plane is connected to the Postgres database. Stop it, then restore.',
      );
    if (foreign.length > 0)
      throw new BackupRefused(
        `The schema ${schema} holds tables that are not of Footlight: ${foreign.join(', ')}. Give Footlight a schema or a database of its own.`,
      );
    run('psql', [...PSQL, '--single-transaction', '--command', DROP_TABLES, '--file', script], url);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface TablesThere {
  /** Schema in which Footlight creates its tables. */
  schema: string;
  tables: string[];
  /** Tables that no release of Footlight created. */
  foreign: string[];
}

/**
 * Tables of the database's schema. If a newer release has used the database, no table counts as foreign, because this
 * release does not know the newer tables.
 */
async function readTables(url: string): Promise<TablesThere> {
  const ask = (query: string) => JSON.parse(run('psql', [...PSQL, '--command', query], url));
  const { schema, tables } = ask(LIST_TABLES) as { schema: string | null; tables: string[] };
  if (schema === null) throw new BackupRefused('The database has no schema of that name (search_path).');
  const own = await tablesOfRelease();
  const steps: string[] = tables.includes(STEPS_TABLE) ? ask(LIST_STEPS) : [];
  const isNewer = steps.some((step) => !own.steps.has(step));
  return { schema, tables, foreign: isNewer ? [] : tables.filter((table) => !own.tables.has(table)) };
}

/**
 * Tables and migration steps of this release, read from a new SQLite file, because they are the same in both databases.
 */
async function tablesOfRelease(): Promise<{ tables: Set<string>; steps: Set<string> }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'footlight-tables-'));
  try {
    const file = path.join(folder, 'new.db');
    const database = await openDatabase({ dialect: 'sqlite', file }, { logger: createLogger('silent') });
    try {
      const tables = await database.db.introspection.getTables({ withInternalKyselyTables: true });
      const { rows } = await sql<{ name: string }>`select name from schema_steps`.execute(database.db);
      return {
        tables: new Set(tables.map(({ name }) => name)),
        steps: new Set(rows.map(({ name }) => name)),
      };
    } finally {
      await database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a backup contains Footlight's table of migration steps in this schema. */
function holdsSteps(source: string, schema: string): boolean {
  const lines = run('pg_restore', ['--list', source], null).split('\n');
  return lines.some((line) => line.includes(` TABLE ${schema} ${STEPS_TABLE} `));
}

/** A psql pattern that matches only this name. Source: psql(1), "Patterns". */
const pattern = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * Runs one of Postgres's programs. The password is passed in the environment, because arguments are visible in the
 * process list.
 * @param url database to connect to; null: the program connects to no database
 * @returns standard output
 */
function run(program: 'pg_dump' | 'pg_restore' | 'psql', words: string[], url: string | null): string {
  const env = { ...process.env };
  const database: string[] = [];
  if (url !== null) {
    const address = new URL(url);
    const password = decodeURIComponent(address.password) || address.searchParams.get('password');
    address.password = '';
    address.searchParams.delete('password');
    // URLSearchParams writes a space as "+", which only HTML form decoders understand.
    address.search = address.search.replaceAll('+', '%20');
    if (password) env.PGPASSWORD = password;
    database.push('--dbname', address.href);
  }
  const done = spawnSync(program, [...database, ...words], { env, encoding: 'utf8' });
  if (done.error && 'code' in done.error && done.error.code === 'ENOENT')
    throw new BackupRefused(`${program} is not installed: apt-get install postgresql-client`);
  if (done.error) throw done.error;
  if (done.status !== 0)
    throw new BackupRefused(`${program} failed: ${done.stderr.trim().split('\n').slice(-5).join('\n')}`);
  return done.stdout.trim();
}
