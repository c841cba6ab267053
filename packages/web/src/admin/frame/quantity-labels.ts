import { decimalLabel } from '../../i18n/number-labels.ts';
import { t } from '../../i18n/translate.ts';

/** A readable number of megabytes. @param mb megabytes; null = unknown */
export function megabytesLabel(mb: number | null): string {
  if (mb === null) return t('unknown');
  return mb < 1024 ? `${mb} MB` : `${decimalLabel(mb / 1024, mb < 10_240 ? 1 : 0)} GB`;
}
