import { errorText, type Logger } from '@footlight/platform';
import type { BackupFolder } from './folder.ts';
import { beforeStep } from './names.ts';

/**
 * Makes the backup before a migration, for `openDatabase`.
 * @returns a function that gets the missing steps and throws with a sentence for the operator, which stops the start
 */
export function createMigrationBackup(
  folder: BackupFolder,
  deps: { logger: Logger; keep: number },
): (steps: readonly string[]) => Promise<void> {
  return async ([first]) => {
    if (first === undefined) return;
    try {
      const { name, bytes } = await folder.write(beforeStep(first));
      deps.logger.info({ step: first, name, bytes }, 'backups.written_before_migration');
    } catch (error) {
      throw new Error(
        `The database must be migrated (${first}), and the backup before the migration failed: ${errorText(error)} Repair this, for example free space in ${folder.dir}, or migrate without a backup with SERVICE_BACKUP_BEFORE_MIGRATION=0.`,
        { cause: error },
      );
    }
    // Old files that cannot be deleted are no reason to refuse the start; the daily backup reports them.
    await folder.prune(deps.keep).catch(() => undefined);
  };
}
