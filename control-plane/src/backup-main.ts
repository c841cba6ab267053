/** scripts/backup and scripts/restore: saves the configured database into one file, and restores it. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { errorText } from '@footlight/platform';
import { loadConfig } from './platform/config/config.ts';
import { BackupRefused } from './platform/database/engine/backup-refused.ts';
import { backupPostgres, restorePostgres } from './platform/database/engine/postgres-backup.ts';
import { backupSqlite, restoreSqlite } from './platform/database/engine/sqlite-backup.ts';

/** @returns the sentence for the operator @throws BackupRefused, ConfigError */
async function main(): Promise<string> {
  const [command, file, ...rest] = process.argv.slice(2);
  if ((command !== 'backup' && command !== 'restore') || file === undefined || rest.length > 0) {
    throw new BackupRefused(`Usage: ${command === 'restore' ? 'restore' : 'backup'} <file>`);
  }
  // A backup contains hashes of passwords and tokens.
  process.umask(0o077);
  const { database } = loadConfig(process.env);
  const backup = path.resolve(file);
  if (command === 'backup') {
    if (existsSync(backup)) throw new BackupRefused(`${backup} exists already; a backup overwrites nothing.`);
    if (database.dialect === 'sqlite') await backupSqlite(database.file, backup);
    else await backupPostgres(database.url, backup);
    return `Saved to ${backup}. Pictures of apps, the certificate and the master key of secrets are not in it.`;
  }
  if (database.dialect === 'postgres') {
    await restorePostgres(backup, database.url);
    return 'Restored the Postgres database. Start the control plane again.';
  }
  const kept = restoreSqlite(backup, database.file);
  return `Restored ${database.file}${kept ? `; what was there is kept as ${kept}` : ''}. Start the control plane again.`;
}

main().then(
  (sentence) => process.stdout.write(`${sentence}\n`),
  (error: unknown) => {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  },
);
