import type { ActivityEntry } from '@footlight/protocol/rest';
import { IconHistory } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { actionLabel, detailLabel } from './activity-labels.ts';
import { type Names, restOf, type Thing, thingOf } from './activity-things.ts';
import { useNames } from './use-names.ts';

const columns = (names: Names): readonly Column<ActivityEntry>[] => [
  {
    head: msg('What'),
    cell: (entry) => (
      <span title={entry.action}>
        <StateChip tone={TONES[entry.severity]}>{actionLabel(entry.action)}</StateChip>
      </span>
    ),
  },
  {
    head: msg('Object'),
    kind: 'short',
    title: (entry) => entry.target_id ?? undefined,
    cell: (entry) => <ThingLink thing={thingOf(entry, names)} />,
  },
  {
    head: msg('Who'),
    kind: 'short',
    cell: (entry) =>
      entry.actor_username !== null && entry.actor_user_id !== null ? (
        <Link to="/admin/users/$id" params={{ id: entry.actor_user_id }} className={styles.nameLink}>
          {entry.actor_username}
        </Link>
      ) : (
        <span className={styles.dim}>{whoLabel(entry)}</span>
      ),
  },
  { head: msg('When'), cell: (entry) => <RelativeTime at={entry.created_at} /> },
  { head: msg('Details'), kind: 'name', title: restLabel, cell: restLabel },
];
const restLabel = ({ details }: ActivityEntry): string => detailLabel({ details: restOf(details) });
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
    <ListTable
      label={t('Activity')}
      columns={columns(names)}
      rows={entries}
      rowKey={(entry) => entry.id}
      loadingRows={4}
    />
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
