import { execFile } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '@footlight/platform';
import { STEP_NAMES } from '../migrate.ts';
import { BackupRefused } from './backup-refused.ts';
import { openDatabase } from './open.ts';

const STEPS_TABLE = 'schema_steps';
/** Largest output of a program. A restore of a backup from a newer release prints a warning for each unknown entry. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
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
 * Saves Footlight's tables of a live Postgres database by pg_dump in its custom format, and checks the file.
 * @param url in the form of DATABASE_URL
 * @param target a path at which no file exists
 * @throws BackupRefused with the last lines of the tool's output; the reason of the signal
 */
export async function backupPostgres(url: string, target: string, signal?: AbortSignal): Promise<void> {
  const { schema, tables, foreign } = await readTables(url);
  if (!tables.includes(STEPS_TABLE))
    throw new BackupRefused(`The database has no tables of Footlight in the schema ${schema}.`);
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  // Created here, because pg_dump would create it with the mode that the umask gives.
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    await run(
      'pg_dump',
      [
        ...['--format=custom', '--no-owner', '--file', partial, '--schema', pattern(schema)],
        ...foreign.flatMap((table) => ['--exclude-table', `${pattern(schema)}.${pattern(table)}`]),
      ],
      url,
      signal,
    );
    const fault = await checkPostgresBackup(partial, signal);
    if (fault) throw new BackupRefused(`The database cannot be saved: ${fault}.`);
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Reads the whole backup by pg_restore, without a database.
 * @returns the fault, or null for a complete backup with Footlight's table of migration steps
 */
export async function checkPostgresBackup(file: string, signal?: AbortSignal): Promise<string | null> {
  try {
    await run('pg_restore', ['--file', '/dev/null', file], null, signal);
    return (await holdsSteps(file)) ? null : 'it holds no Footlight database';
  } catch (error) {
    if (error instanceof BackupRefused) return error.message;
    throw error;
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
    await run(
      'pg_restore',
      ['--no-owner', '--clean', '--if-exists', '--schema', schema, '--file', script, source],
      null,
    );
    if (!(await holdsSteps(source, schema)))
      throw new BackupRefused(`${source} holds no Footlight database of the schema ${schema}.`);
    if ((await run('psql', [...PSQL, '--command', COUNT_USERS], url)) !== '0')
      throw new BackupRefused(
        'A control plane is connected to the Postgres database. Stop it, then restore.',
      );
    if (foreign.length > 0)
      throw new BackupRefused(
        `The schema ${schema} holds tables that are not of Footlight: ${foreign.join(', ')}. Give Footlight a schema or a database of its own.`,
      );
    await run('psql', [...PSQL, '--single-transaction', '--command', DROP_TABLES, '--file', script], url);
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
  const ask = async (query: string) => JSON.parse(await run('psql', [...PSQL, '--command', query], url));
  const { schema, tables } = (await ask(LIST_TABLES)) as { schema: string | null; tables: string[] };
  if (schema === null) throw new BackupRefused('The database has no schema of that name (search_path).');
  const steps: string[] = tables.includes(STEPS_TABLE) ? await ask(LIST_STEPS) : [];
  const isNewer = steps.some((step) => !STEP_NAMES.includes(step));
  const own = isNewer ? new Set(tables) : await tablesOf(STEP_NAMES.at(-1));
  // A later step may have deleted tables that an older database still has.
  const last = STEP_NAMES.findLast((step) => steps.includes(step));
  const former = isNewer || last === STEP_NAMES.at(-1) ? [] : await tablesOf(last);
  const known = new Set([...own, ...former]);
  return { schema, tables, foreign: tables.filter((table) => !known.has(table)) };
}

/**
 * Tables after a migration step, read from a new SQLite file, because they are the same in both databases.
 * @param lastStep undefined: a database without steps, which has no tables
 */
async function tablesOf(lastStep: string | undefined): Promise<Set<string>> {
  if (lastStep === undefined) return new Set();
  const folder = mkdtempSync(path.join(tmpdir(), 'footlight-tables-'));
  try {
    const target = { dialect: 'sqlite' as const, file: path.join(folder, 'new.db') };
    const database = await openDatabase(target, { logger: createLogger('silent'), lastStep });
    try {
      const tables = await database.db.introspection.getTables({ withInternalKyselyTables: true });
      return new Set(tables.map(({ name }) => name));
    } finally {
      await database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Whether a backup contains Footlight's table of migration steps.
 * @param schema missing: in any schema
 */
async function holdsSteps(source: string, schema?: string): Promise<boolean> {
  const lines = (await run('pg_restore', ['--list', source], null)).split('\n');
  const entry = schema === undefined ? ` ${STEPS_TABLE} ` : ` ${schema} ${STEPS_TABLE} `;
  return lines.some((line) => line.includes(' TABLE ') && line.includes(entry));
}

/** A psql pattern that matches only this name. Source: psql(1), "Patterns". */
const pattern = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * Runs one of Postgres's programs. The password is passed in the environment, because arguments are visible in the
 * process list.
 * @param url database to connect to; null: the program connects to no database
 * @returns standard output
 */
function run(
  program: 'pg_dump' | 'pg_restore' | 'psql',
  words: string[],
  url: string | null,
  signal?: AbortSignal,
): Promise<string> {
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
  const options = { env, maxBuffer: MAX_OUTPUT_BYTES, ...(signal && { signal }) };
  return new Promise((resolve, reject) => {
    execFile(program, [...database, ...words], options, (error, output, errors) => {
      if (signal?.aborted) return reject(signal.reason);
      if (error === null) return resolve(output.trim());
      if (error.code === 'ENOENT')
        return reject(new BackupRefused(`${program} is not installed: apt-get install postgresql-client`));
      if (typeof error.code !== 'number') return reject(error);
      return reject(
        new BackupRefused(`${program} failed: ${errors.trim().split('\n').slice(-5).join('\n')}`),
      );
    });
  });
}
