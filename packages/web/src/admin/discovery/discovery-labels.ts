import type { AdminApp, LibraryStatus, Success, UnpublishedTitle } from '@footlight/protocol/rest';
import { msg, plural, t } from '../../i18n/translate.ts';

const REASONS: Readonly<Record<UnpublishedTitle['suppressed_by'], string>> = {
  rule_ignore: msg('You keep it out'),
  builtin_appid: msg('It is part of the launcher'),
  builtin_prefix: msg('Its name is that of a tool'),
  appdetails: msg('The store says that it is no game'),
  other: msg('Switched off by an administrator, or still downloading'),
};

/** Why a title has no enabled tile. */
export const reasonLabel = ({ suppressed_by }: Pick<UnpublishedTitle, 'suppressed_by'>): string =>
  t(REASONS[suppressed_by]);

/** The effect of a requested scan in words. */
export function scanLabel({ queued, skipped, eligible, inert_reason }: Success<'library.scan'>): string {
  if (inert_reason !== '') return t('Nothing was searched. {reason}', { reason: inert_reason });
  if (eligible === 0) return t('There is no home to search.');
  const soon = plural(
    queued,
    '{n} home will be searched within a minute.',
    '{n} homes will be searched within a minute.',
  );
  if (skipped === 0) return soon;
  return `${soon} ${plural(skipped, '{n} home is being searched already.', '{n} homes are being searched already.')}`;
}

/** The present state of discovery, as a sentence for the top of its page. */
export function discoveryLabel(status: LibraryStatus): string {
  if (status.inert_reason !== '') return t('No home is searched for games at present.');
  const under = status.scans.pending + status.scans.claimed;
  return under === 0
    ? t('Homes are searched for games automatically.')
    : plural(under, '{n} home is being searched now.', '{n} homes are being searched now.');
}

/** The tile of a title, among all apps; undefined: the title has no tile. */
export const tileOf = (
  apps: readonly AdminApp[],
  appId: string,
  { external_source, external_id }: Pick<UnpublishedTitle, 'external_source' | 'external_id'>,
): AdminApp | undefined =>
  apps.find(
    (app) =>
      app.parent_app_id === appId &&
      app.external_source === external_source &&
      app.external_id === external_id,
  );
