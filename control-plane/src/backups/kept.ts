import { isBeforeStep, type NamedBackup } from './names.ts';

/**
 * Backups that are deleted after a new one was written. Pure.
 * @param backups only verified ones: another file must neither be deleted nor replace a good backup
 * @param keep number of daily and manual backups that stay; 0: all of them stay. Of the backups before a migration step, the
 *   newest of each step stays in addition.
 * @returns the backups to delete, newest first
 * Source: docs/backup.md, "Automatic backups".
 */
export function planRemovals<Backup extends NamedBackup>(
  backups: readonly Backup[],
  keep: number,
): readonly Backup[] {
  const counts = new Map<string, number>();
  return newestFirst(backups).filter(({ reason }) => {
    const step = reason !== null && isBeforeStep(reason) ? reason : null;
    const group = step ?? '';
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    return step === null ? keep > 0 && count > keep : count > 1;
  });
}

/** The newest backup comes first; the name decides between backups of the same second. */
export function newestFirst<Backup extends NamedBackup>(backups: readonly Backup[]): Backup[] {
  return backups.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.name < b.name ? 1 : -1));
}
