import type { AdminApp, LibraryStatus, Success, UnpublishedTitle } from '@footlight/protocol/rest';
import { countLabel } from '../frame/quantity-labels.ts';

const REASONS: Readonly<Record<UnpublishedTitle['suppressed_by'], string>> = {
  rule_ignore: 'You keep it out',
  builtin_appid: 'It is part of the launcher',
  builtin_prefix: 'Its name is that of a tool',
  appdetails: 'The store says that it is no game',
  other: 'Switched off by an administrator, or still downloading',
};

/** Why a title has no enabled tile. */
export const reasonLabel = ({ suppressed_by }: Pick<UnpublishedTitle, 'suppressed_by'>): string =>
  REASONS[suppressed_by];

/** The effect of a requested scan in words. */
export function scanLabel({ queued, skipped, eligible, inert_reason }: Success<'library.scan'>): string {
  if (inert_reason !== '') return `Nothing was searched. ${inert_reason}`;
  if (eligible === 0) return 'There is no home to search.';
  const open = skipped === 0 ? '' : ` ${countLabel(skipped, 'home is', 'homes are')} being searched already.`;
  return `${countLabel(queued, 'home')} will be searched within a minute.${open}`;
}

/** The present state of discovery, as a sentence for the top of its page. */
export function discoveryLabel(status: LibraryStatus): string {
  if (status.inert_reason !== '') return 'No home is searched for games at present.';
  const under = status.scans.pending + status.scans.claimed;
  return under === 0
    ? 'Homes are searched for games automatically.'
    : `${countLabel(under, 'home is', 'homes are')} being searched now.`;
}

/** @param seconds 0: never */
export function intervalLabel(seconds: number): string {
  if (seconds === 0) return 'Never';
  if (seconds % 3600 === 0) return seconds === 3600 ? 'Every hour' : `Every ${seconds / 3600} hours`;
  return seconds < 120 ? `Every ${seconds} seconds` : `Every ${Math.round(seconds / 60)} minutes`;
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
