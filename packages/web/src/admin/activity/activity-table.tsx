import type { ActivityEntry } from '@footlight/protocol/rest';
import { IconHistory } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { actionLabel, detailLabel } from './activity-labels.ts';
import { restOf, type Thing, thingOf } from './activity-things.ts';
import { useNames } from './use-names.ts';

const COLUMNS: readonly Column[] = [
  { label: msg('What') },
  { label: msg('Object') },
  { label: msg('Who') },
  { label: msg('When') },
  { label: msg('Details') },
];
const TONES = { info: 'neutral', warn: 'warning', err: 'danger' } as const;

/** Entries, newest first. @param entries undefined while loading */
export function ActivityTable({ entries }: { entries: readonly ActivityEntry[] | undefined }) {
  const names = useNames();
  if (entries?.length === 0) {
    return (
      <EmptyState icon={IconHistory} title={t('Nothing here')}>
        {t('Changes that administrators make, and errors, are listed here.')}
      </EmptyState>
    );
  }
  return (
    <DataTable
      label={t('Activity')}
      columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
    >
      {entries === undefined && <SkeletonRows rows={4} columns={COLUMNS.length} />}
      {entries?.map((entry) => (
        <tr key={entry.id}>
          <td>
            <span title={entry.action}>
              <StateChip tone={TONES[entry.severity]}>{actionLabel(entry.action)}</StateChip>
            </span>
          </td>
          <td className={styles.shortCell} title={entry.target_id ?? undefined}>
            <ThingLink thing={thingOf(entry, names)} />
          </td>
          <td className={styles.shortCell}>
            {entry.actor_username !== null && entry.actor_user_id !== null ? (
              <Link to="/admin/users/$id" params={{ id: entry.actor_user_id }} className={styles.nameLink}>
                {entry.actor_username}
              </Link>
            ) : (
              <span className={styles.dim}>{whoLabel(entry)}</span>
            )}
          </td>
          <td>
            <RelativeTime at={entry.created_at} />
          </td>
          <td className={styles.nameCell} title={detailLabel({ details: restOf(entry.details) })}>
            {detailLabel({ details: restOf(entry.details) })}
          </td>
        </tr>
      ))}
    </DataTable>
  );
}

function ThingLink({ thing }: { thing: Thing }) {
  if (thing.link === null) return thing.label;
  const { to, id } = thing.link;
  return (
    <Link to={to} params={id === undefined ? {} : ({ id } as never)} className={styles.nameLink}>
      {thing.label}
    </Link>
  );
}

/** The label of an actor that is not an existing account. */
export function whoLabel(entry: Pick<ActivityEntry, 'actor_user_id'>): string {
  return entry.actor_user_id === null ? t('automatic') : t('deleted account');
}
