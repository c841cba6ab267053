import type { StorageHome } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { IconFolders } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { bytesLabel } from '../../components/bytes-labels.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, rich, t } from '../../i18n/translate.ts';
import type { ListSearch } from '../../search/list-search.ts';
import { nameOfApp, pickApps } from '../apps/app-lookup.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { ShowMore, useSortedPages } from '../frame/lists/paged-list.tsx';
import { PickFilter } from '../frame/lists/pick-filter.tsx';
import { PageHead } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { nameOfUser, pickUsers } from '../people/user-lookup.ts';

const COLUMNS: readonly Column<StorageHome>[] = [
  {
    head: msg('Person'),
    kind: 'short',
    sort: 'person',
    by: (home) => home.username,
    cell: (home) =>
      home.user_id === null ? (
        <span className={styles.dim}>{t('deleted account')}</span>
      ) : (
        <Link to="/admin/users/$id" params={{ id: home.user_id }} className={styles.nameLink}>
          {home.username}
        </Link>
      ),
  },
  {
    head: msg('App'),
    kind: 'short',
    sort: 'app',
    by: (home) => home.app_name,
    title: (home) => home.app_name ?? undefined,
    cell: (home) =>
      home.app_id === null ? (
        <span className={styles.dim}>{t('deleted app')}</span>
      ) : (
        <Link to="/admin/apps/$id" params={{ id: home.app_id }} className={styles.nameLink}>
          {home.app_name}
        </Link>
      ),
  },
  {
    head: msg('Host'),
    kind: 'short',
    sort: 'host',
    by: (home) => home.host_name,
    title: (home) => home.ref,
    cell: (home) =>
      home.host_id === null ? (
        <span className={styles.dim}>{t('deleted host')}</span>
      ) : (
        <Link to="/admin/hosts/$id" params={{ id: home.host_id }} className={styles.nameLink}>
          {home.host_name}
        </Link>
      ),
  },
  { head: msg('Size'), kind: 'number', sort: 'size', by: (home) => home.bytes_used, cell: sizeLabel },
  { head: msg('State'), cell: (home) => <HomeChip home={home} /> },
  {
    head: msg('Last used'),
    sort: 'used',
    by: (home) => home.last_used_at,
    cell: (home) => <RelativeTime at={home.last_used_at} />,
  },
];
const deleteColumn = (onDelete: (home: StorageHome) => void): Column<StorageHome> => ({
  head: msg('Actions'),
  kind: 'action',
  cell: (home) =>
    home.gc_after === null && (
      <EndButton label={t('Delete {files}', { files: nameOf(home) })} onClick={() => onDelete(home)}>
        {t('Delete')}
      </EndButton>
    ),
});
const FILTERS = [
  { value: 'all', label: msg('All') },
  { value: 'kept', label: msg('Kept') },
  { value: 'marked', label: msg('Being deleted') },
] as const;
type Filter = (typeof FILTERS)[number]['value'];
const PENDING: Readonly<Record<Filter, string | undefined>> = {
  all: undefined,
  kept: 'false',
  marked: 'true',
};
/** Time from the mark to the deletion of a home. Source: docs/homes.md, "Deletion". */
const GRACE_MS = 24 * 60 * 60 * 1000;
/** Refresh interval, because sizes and marks change when a session ends. */
const REFRESH_MS = 15_000;

export type HomesSearch = ListSearch<'user' | 'app' | 'state' | 'sort'>;

/** The files that people's apps store, on all hosts. */
export function HomesPage(props: { search: HomesSearch; onSearch: (search: HomesSearch) => void }) {
  usePageTitle(t('Homes'));
  const { search, onSearch } = props;
  const [deleting, setDeleting] = useState<StorageHome | null>(null);
  const queryClient = useQueryClient();
  const state = FILTERS.find((filter) => filter.value === search.state)?.value ?? 'all';
  const { sort, ...filters } = search;
  const {
    query,
    items: homes,
    sortedOf,
  } = useSortedPages(
    adminKeys.homeList(filters),
    (cursor: string | undefined, signal) =>
      call('admin.storage.homes.list', {
        query: { user_id: search.user, app_id: search.app, pending_gc: PENDING[state], cursor },
        signal,
      }),
    sort,
    { refetchMs: REFRESH_MS },
  );
  const remove = useMutation({
    mutationFn: (home: StorageHome) => call('admin.storage.homes.delete', { params: { id: home.id } }),
    onMutate: () => notifications.clean(),
    onSuccess: (_answer, home) => {
      setDeleting(null);
      notifications.show({
        message: t('{files} will be deleted in a day', { files: nameOf(home) }),
        autoClose: 5000,
      });
      return queryClient.invalidateQueries({ queryKey: adminKeys.homes });
    },
  });
  const filtered = search.user !== undefined || search.app !== undefined || state !== 'all';
  const inUse = remove.error instanceof ApiFailure ? remove.error.sessionId : undefined;
  const narrow = (part: { [Key in keyof HomesSearch]?: HomesSearch[Key] | undefined }) => {
    const next = Object.entries({ ...search, ...part }).filter(([, value]) => value !== undefined);
    onSearch(Object.fromEntries(next) as HomesSearch);
  };
  return (
    <>
      <PageHead
        title={t('Homes')}
        lead={t('What apps keep for people on the hosts: settings, saves, installed games.')}
      />
      <div className={styles.filters}>
        <SegmentedChoice
          label={t('State')}
          value={state}
          options={FILTERS.map(({ value, label }) => ({ value, label: t(label) }))}
          onChange={(next) => narrow({ state: next })}
        />
        <PickFilter
          label={t('Person')}
          all={t('everybody')}
          kind="users"
          id={search.user}
          find={pickUsers}
          nameOf={nameOfUser}
          onPick={(user) => narrow({ user })}
        />
        <PickFilter
          label={t('App')}
          all={t('all apps')}
          kind="apps"
          id={search.app}
          find={pickApps}
          nameOf={nameOfApp}
          onPick={(app) => narrow({ app })}
        />
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {homes?.length === 0 ? (
        <EmptyState icon={IconFolders} title={filtered ? t('No such home') : t('No homes yet')}>
          {filtered
            ? t('Nothing matches the filter and the search text.')
            : t('The first launch of an app that stores files creates a home.')}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Homes')}
          columns={[...COLUMNS, deleteColumn(setDeleting)]}
          rows={homes}
          rowKey={(home) => home.id}
          order={{ sort, onSort: (next) => narrow({ sort: next }) }}
          loadingRows={5}
        />
      )}
      <ShowMore query={query} sortedOf={sortedOf} />
      <ConfirmDialog
        opened={deleting !== null}
        title={deleting === null ? '' : t('Delete {files}?', { files: nameOf(deleting) })}
        action={
          deleting === null || deleting.bytes_used === 0
            ? t('Delete 1 home')
            : t('Delete {size} of files', { size: sizeLabel(deleting) })
        }
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => deleting !== null && remove.mutate(deleting)}
        onClose={() => {
          setDeleting(null);
          remove.reset();
        }}
      >
        {deleting !== null && <DeleteEffect home={deleting} />}
        {inUse !== undefined && (
          <p>
            <Link to="/admin/sessions/$id" params={{ id: inUse }}>
              {t('Open the session that uses it')}
            </Link>
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}

function HomeChip({ home }: { home: StorageHome }) {
  if (home.gc_after === null) return <StateChip tone="success">{t('Kept')}</StateChip>;
  const dueMs = Date.parse(home.gc_after) + GRACE_MS;
  if (dueMs <= clock.nowMs())
    return <StateChip tone="warning">{t('Deleted at its host’s next check')}</StateChip>;
  return (
    <StateChip tone="warning">
      {rich('Deleted {time}', { time: <RelativeTime key="time" at={new Date(dueMs).toISOString()} /> })}
    </StateChip>
  );
}

/** The files that are deleted with a home, and until when the deletion can be cancelled. */
export function DeleteEffect({ home }: { home: StorageHome }) {
  const size = home.bytes_used === 0 ? t('files of unknown size') : bytesLabel(home.bytes_used);
  return (
    <>
      <p>
        {t('{host} deletes {size} a day from now, for good. Nothing else of the person or the app changes.', {
          host: home.host_name ?? t('The host'),
          size,
        })}
      </p>
      {home.user_id !== null && home.app_id !== null && (
        <p>
          {t('Until then a launch of the app by {user} keeps everything.', { user: home.username ?? '' })}
        </p>
      )}
      <p className={styles.mono}>{home.ref}</p>
    </>
  );
}

/** "alice’s files of SuperTux on rack-1". */
function nameOf(home: StorageHome): string {
  return t('{user}’s files of {app} on {host}', {
    user: home.username ?? t('a deleted account'),
    app: home.app_name ?? t('a deleted app'),
    host: home.host_name ?? t('a deleted host'),
  });
}

function sizeLabel({ bytes_used }: StorageHome): string {
  return bytes_used === 0 ? t('unknown') : bytesLabel(bytes_used);
}
