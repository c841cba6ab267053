/** scripts/backup and scripts/restore: saves the configured database into one file, and restores it. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, lstatSync, openSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorText, isSystemdRunning, quotedWord } from '@footlight/platform';
import { decideRestore, restoreSteps } from './install/service-restore.ts';
import { serviceRunWords } from './install/service-run.ts';
import { CONTROL_SERVICE, DATA_DIR } from './install/unit.ts';
import { type Config, loadConfig } from './platform/config/config.ts';
import { BackupRefused } from './platform/database/engine/backup-refused.ts';
import { backupPostgres, restorePostgres } from './platform/database/engine/postgres-backup.ts';
import { backupSqlite, restoreSqlite } from './platform/database/engine/sqlite-backup.ts';

/** Reads the backup from standard input, for a user who may not open the file. */
const STDIN = '-';
const STDIN_FD = 0;

/** @returns the sentences for the operator @throws BackupRefused, ConfigError */
async function main(): Promise<string> {
  const [command, file, ...rest] = process.argv.slice(2);
  if ((command !== 'backup' && command !== 'restore') || file === undefined || rest.length > 0) {
    throw new BackupRefused(`Usage: ${command === 'restore' ? 'restore' : 'backup'} <file>`);
  }
  // A backup contains hashes of passwords and tokens.
  process.umask(0o077);
  const config = loadConfig(process.env);
  const { database } = config;
  const backup = path.resolve(file);
  if (command === 'backup') {
    if (existsSync(backup)) throw new BackupRefused(`${backup} exists already; a backup overwrites nothing.`);
    const folder = path.dirname(backup);
    if (!existsSync(folder))
      throw new BackupRefused(`There is no folder ${folder}. Create it, or choose another place.`);
    if (database.dialect === 'sqlite') await backupSqlite(database.file, backup);
    else await backupPostgres(database.url, backup);
    return `Saved to ${backup}. Pictures of apps, the certificate and the master key of secrets are not in it.`;
  }
  if (database.dialect === 'postgres') {
    await restorePostgres(backup, database.url);
    return 'Restored the Postgres database. Start the control plane again.';
  }
  const way = decideRestore({
    file: database.file,
    isRoot: process.geteuid?.() === 0,
    isSystemd: isSystemdRunning(),
    isServiceFolder: lstatSync(DATA_DIR, { throwIfNoEntry: false })?.isSymbolicLink() ?? false,
  });
  if (way === 'as_service') {
    refuseWhileServiceRuns();
    return restoreAsService(backup, database.file, config);
  }
  const kept =
    file === STDIN
      ? restoreSqlite('standard input', database.file, STDIN_FD)
      : restoreSqlite(backup, database.file);
  return `Restored ${database.file}${kept ? `; what was there is kept as ${kept}` : ''}. Start the control plane again.`;
}

/** @throws BackupRefused */
function refuseWhileServiceRuns(): void {
  const { status } = spawnSync('systemctl', ['is-active', '--quiet', CONTROL_SERVICE]);
  if (status === 0)
    throw new BackupRefused(
      `${CONTROL_SERVICE} is running. Stop it, then restore: sudo systemctl stop ${path.parse(CONTROL_SERVICE).name}`,
    );
}

/**
 * Restores with the user of the service, who owns the files afterwards. Only root may enter the parent directory of the
 * service's data, and only root may be able to open the backup, so it is passed on as standard input.
 * @throws BackupRefused
 */
function restoreAsService(backup: string, file: string, config: Config): string {
  let opened: number;
  try {
    opened = openSync(backup, 'r');
  } catch (error) {
    throw new BackupRefused(`There is no backup at ${backup}: ${errorText(error)}`);
  }
  try {
    const environment = [`DATABASE_URL=sqlite:${file}`, `SERVICE_DATA_DIR=${config.dataDir}`];
    const words = serviceRunWords(
      environment.map((variable) => `Environment=${quotedWord(variable)}`),
      [process.execPath, fileURLToPath(import.meta.url), 'restore', STDIN],
    );
    const { status } = spawnSync('systemd-run', words, { stdio: [opened, 'inherit', 'inherit'] });
    if (status !== 0) throw new BackupRefused(`${backup} was not restored.`);
  } finally {
    closeSync(opened);
  }
  return restoreSteps({ certificates: config.tls?.dir ?? null, pictures: config.artwork.dir });
}

main().then(
  (sentence) => process.stdout.write(`${sentence}\n`),
  (error: unknown) => {
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = 1;
  },
);
