import { t } from '../../i18n/translate.ts';

/** Text about a swap; null: no swap. */
export function swapLabel(detail: string | null | undefined): string | null {
  if (detail === 'swapping') return t('Changing the app');
  if (detail === 'swap rejected') return t('The host did not change the app');
  if (detail?.startsWith('swap rolled back'))
    return t('The new app did not start; the previous one keeps running');
  return null;
}
