import type { Backup } from '@footlight/protocol/rest';
import { msg, t } from '../../i18n/translate.ts';

const REASONS: Readonly<Record<string, string>> = {
  manual: msg('By an administrator'),
};
const BEFORE_STEP = /^before-(.+)$/;

/** Why a backup was made. A reason that this page does not know is shown unchanged. */
export function reasonLabel({ reason }: Pick<Backup, 'reason'>): string {
  if (reason === null) return t('Daily');
  const step = BEFORE_STEP.exec(reason)?.[1];
  if (step !== undefined) return t('Before the migration {step}', { step });
  const label = REASONS[reason];
  return label === undefined ? reason : t(label);
}

/** Command that restores a backup, to be run in the folder of Footlight. @param file path of the backup */
export function restoreCommand(file: string): string {
  const word = /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
  return `./scripts/restore ${word}`;
}
