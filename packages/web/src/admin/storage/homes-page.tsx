import type { StorageHome } from '@footlight/protocol/rest';
import { notifications } from '@mantine/notifications';
import { IconFolders } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { clock } from '../../clock.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { bytesLabel } from '../../i18n/bytes-labels.ts';
import type { ListSearch } from '../../search/list-search.ts';
import { nameOfApp, pickApps } from '../apps/app-lookup.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, DataTable, EndButton, SkeletonRows } from '../frame/lists/data-table.tsx';
import { ShowMore, useSortedPages } from '../frame/lists/paged-list.tsx';
import { PickFilter } from '../frame/lists/pick-filter.tsx';
import { PageHead } from '../frame/page-head.tsx';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { nameOfUser, pickUsers } from '../people/user-lookup.ts';

const COLUMNS: readonly Column[] = [
  { label: 'Person', sort: 'person' },
  { label: 'App', sort: 'app' },
  { label: 'Host', sort: 'host' },
  { label: 'Size', kind: 'number', sort: 'size' },
  { label: 'State' },
  { label: 'Last used', sort: 'used' },
  { label: 'Actions', kind: 'action' },
];
const SORT_KEYS = {
  person: (home: StorageHome) => home.username,
  app: (home: StorageHome) => home.app_name,
  host: (home: StorageHome) => home.host_name,
  size: (home: StorageHome) => home.bytes_used,
  used: (home: StorageHome) => home.last_used_at,
};
const FILTERS = [
  { value: 'all', label: 'All' },
  { value: 'kept', label: 'Kept' },
  { value: 'marked', label: 'Being deleted' },
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
  usePageTitle('Homes');
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
    { sort, keys: SORT_KEYS },
    { refetchMs: REFRESH_MS },
  );
  const remove = useMutation({
    mutationFn: (home: StorageHome) => call('admin.storage.homes.delete', { params: { id: home.id } }),
    onMutate: () => notifications.clean(),
    onSuccess: (_answer, home) => {
      setDeleting(null);
      notifications.show({ message: `${nameOf(home)} will be deleted in a day`, autoClose: 5000 });
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
        title="Homes"
        lead="What apps keep for people on the hosts: settings, saves, installed games."
      />
      <div className={styles.filters}>
        <SegmentedChoice
          label="State"
          value={state}
          options={FILTERS}
          onChange={(next) => narrow({ state: next })}
        />
        <PickFilter
          label="Person"
          all="everybody"
          kind="users"
          id={search.user}
          find={pickUsers}
          nameOf={nameOfUser}
          onPick={(user) => narrow({ user })}
        />
        <PickFilter
          label="App"
          all="all apps"
          kind="apps"
          id={search.app}
          find={pickApps}
          nameOf={nameOfApp}
          onPick={(app) => narrow({ app })}
        />
      </div>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {homes?.length === 0 ? (
        <EmptyState icon={IconFolders} title={filtered ? 'No such home' : 'No homes yet'}>
          {filtered
            ? 'Nothing matches the filter and the search text.'
            : 'The first launch of an app that stores files creates a home.'}
        </EmptyState>
      ) : (
        <DataTable label="Homes" columns={COLUMNS} order={{ sort, onSort: (next) => narrow({ sort: next }) }}>
          {homes === undefined && <SkeletonRows rows={5} columns={COLUMNS.length} />}
          {homes?.map((home) => (
            <HomeRow key={home.id} home={home} onDelete={() => setDeleting(home)} />
          ))}
        </DataTable>
      )}
      <ShowMore query={query} sortedOf={sortedOf} />
      <ConfirmDialog
        opened={deleting !== null}
        title={deleting === null ? '' : `Delete ${nameOf(deleting)}?`}
        action={
          deleting === null || deleting.bytes_used === 0
            ? 'Delete 1 home'
            : `Delete ${sizeLabel(deleting)} of files`
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
              Open the session that uses it
            </Link>
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}

function HomeRow({ home, onDelete }: { home: StorageHome; onDelete: () => void }) {
  return (
    <tr>
      <td className={styles.shortCell}>
        {home.user_id === null ? (
          <span className={styles.dim}>deleted account</span>
        ) : (
          <Link to="/admin/users/$id" params={{ id: home.user_id }} className={styles.nameLink}>
            {home.username}
          </Link>
        )}
      </td>
      <td className={styles.shortCell} title={home.app_name ?? undefined}>
        {home.app_id === null ? (
          <span className={styles.dim}>deleted app</span>
        ) : (
          <Link to="/admin/apps/$id" params={{ id: home.app_id }} className={styles.nameLink}>
            {home.app_name}
          </Link>
        )}
      </td>
      <td className={styles.shortCell} title={home.ref}>
        {home.host_id === null ? (
          <span className={styles.dim}>deleted host</span>
        ) : (
          <Link to="/admin/hosts/$id" params={{ id: home.host_id }} className={styles.nameLink}>
            {home.host_name}
          </Link>
        )}
      </td>
      <td className={styles.number}>{sizeLabel(home)}</td>
      <td>
        <HomeChip home={home} />
      </td>
      <td>
        <RelativeTime at={home.last_used_at} />
      </td>
      <td className={styles.rowActions}>
        {home.gc_after === null && (
          <EndButton label={`Delete ${nameOf(home)}`} onClick={onDelete}>
            Delete
          </EndButton>
        )}
      </td>
    </tr>
  );
}

function HomeChip({ home }: { home: StorageHome }) {
  if (home.gc_after === null) return <StateChip tone="success">Kept</StateChip>;
  const dueMs = Date.parse(home.gc_after) + GRACE_MS;
  if (dueMs <= clock.nowMs()) return <StateChip tone="warning">Deleted at its host’s next check</StateChip>;
  return (
    <StateChip tone="warning">
      Deleted <RelativeTime at={new Date(dueMs).toISOString()} />
    </StateChip>
  );
}

/** The files that are deleted with a home, and until when the deletion can be cancelled. */
export function DeleteEffect({ home }: { home: StorageHome }) {
  const size = home.bytes_used === 0 ? 'files of unknown size' : bytesLabel(home.bytes_used);
  return (
    <>
      <p>
        {home.host_name ?? 'The host'} deletes {size} a day from now, for good. Nothing else of the person or
        the app changes.
      </p>
      {home.user_id !== null && home.app_id !== null && (
        <p>Until then a launch of the app by {home.username} keeps everything.</p>
      )}
      <p className={styles.mono}>{home.ref}</p>
    </>
  );
}

/** "alice’s files of SuperTux on rack-1". */
function nameOf(home: StorageHome): string {
  const app = home.app_name ?? 'a deleted app';
  return `${home.username ?? 'a deleted account'}’s files of ${app} on ${home.host_name ?? 'a deleted host'}`;
}

const sizeLabel = ({ bytes_used }: StorageHome): string =>
  bytes_used === 0 ? 'unknown' : bytesLabel(bytes_used);
