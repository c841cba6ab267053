import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackupRefused } from './backup-refused.ts';

/** Tables of a newer release are not in the dump and would break its later migration. */
const DROP_TABLES = `do $$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = current_schema() loop
    execute format('drop table %I cascade', name);
  end loop;
end $$`;

const COUNT_USERS = `select count(*) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name = 'footlight'`;

/**
 * Saves a live Postgres database by pg_dump in its custom format.
 * @param url as DATABASE_URL
 * @param target a path without a file
 * @throws BackupRefused with the tool's last lines
 */
export function backupPostgres(url: string, target: string): void {
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  try {
    run('pg_dump', ['--format=custom', '--no-owner', '--file', partial], url);
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Replaces the database by the backup in one transaction.
 * @throws BackupRefused when the backup is unusable or a control plane is connected
 */
export function restorePostgres(source: string, url: string): void {
  if (!existsSync(source)) throw new BackupRefused(`There is no backup at ${source}.`);
  const folder = mkdtempSync(path.join(tmpdir(), 'footlight-restore-'));
  const script = path.join(folder, 'restore.sql');
  try {
    // Writes the SQL to a file first, so that an incomplete backup is found before a table is dropped.
    run('pg_restore', ['--no-owner', '--clean', '--if-exists', '--file', script, source], null);
    const psql = ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1'];
    if (run('psql', [...psql, '--tuples-only', '--no-align', '--command', COUNT_USERS], url) !== '0')
      throw new BackupRefused(
        'A control plane is connected to the Postgres database. Stop it, then restore.',
      );
    run('psql', [...psql, '--single-transaction', '--command', DROP_TABLES, '--file', script], url);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs one of Postgres's programs. The password is passed by the environment, because arguments are visible in the
 * process list.
 * @param url database to connect to; null: none
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
