import type { AdminApp } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconAppWindow, IconPlus, IconSearch } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { SearchField, ShowMore, useSortedPages } from '../frame/lists/paged-list.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { runsAsLabel } from './app-labels.ts';

const KIND_LABELS = { game: msg('Game'), desktop: msg('Desktop'), launcher: msg('Launcher') };

/** @param apps for the name of an app's parent */
const columns = (apps: readonly AdminApp[]): readonly Column<AdminApp>[] => [
  {
    head: msg('App'),
    kind: 'name',
    sort: 'name',
    by: (app) => app.name,
    cell: (app) => (
      <Link to="/admin/apps/$id" params={{ id: app.id }} className={styles.nameLink}>
        {app.name}
      </Link>
    ),
  },
  {
    head: msg('State'),
    sort: 'state',
    by: (app) => (app.enabled ? 'enabled' : 'disabled'),
    cell: (app) =>
      app.enabled ? (
        <StateChip tone="success">{t('Enabled')}</StateChip>
      ) : (
        <StateChip tone="neutral">{t('Disabled')}</StateChip>
      ),
  },
  { head: msg('Kind'), sort: 'kind', by: (app) => app.kind, cell: (app) => t(KIND_LABELS[app.kind]) },
  {
    head: msg('Runs as'),
    kind: 'name',
    cell: (app) => runsAsLabel(app, apps.find((other) => other.id === app.parent_app_id)?.name),
  },
  {
    head: msg('Picture'),
    kind: 'number',
    sort: 'picture',
    by: (app) => app.default_width * app.default_height,
    cell: (app) => `${app.default_width} × ${app.default_height}`,
  },
  {
    head: msg('Slots'),
    kind: 'number',
    sort: 'slots',
    by: (app) => app.default_encode_slots,
    cell: (app) => app.default_encode_slots,
  },
  {
    head: msg('Sessions in 30 days'),
    kind: 'number',
    sort: 'sessions',
    by: (app) => app.sessions_30d,
    cell: (app) => app.sessions_30d,
  },
];

/** Every app of the instance. */
export function AppsPage() {
  usePageTitle(t('Apps'));
  const [search, setSearch] = useListSearch(['q', 'sort']);
  const q = search.q ?? '';
  const {
    query,
    items: apps,
    sortedOf,
  } = useSortedPages(
    adminKeys.adminAppList(q),
    (cursor: string | undefined, signal) =>
      call('admin.apps.list', { query: { limit: 100, q, cursor }, signal }),
    search.sort,
  );
  const add = (
    <Button
      variant="filled"
      leftSection={<IconPlus size={18} />}
      renderRoot={(props) => <Link to="/admin/apps/new" {...props} />}
    >
      {t('Add an app')}
    </Button>
  );
  const none = apps?.length === 0;
  return (
    <>
      <PageHead title={t('Apps')} actions={none && q === '' ? undefined : add} />
      {(!none || q !== '') && (
        <div className={styles.filters}>
          <SearchField
            label={t('Find an app')}
            value={q}
            onChange={(text) => setSearch({ ...search, q: text })}
          />
        </div>
      )}
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {none ? (
        q === '' ? (
          <EmptyState icon={IconAppWindow} title={t('No apps yet')} action={add}>
            {t(
              'An app is a program on your hosts or a container image. Its settings also define the size, frame rate and bitrate of its video, and its encode slots.',
            )}
          </EmptyState>
        ) : (
          <EmptyState icon={IconSearch} title={t('Nothing by that name')}>
            {t('Only names are searched.')}
          </EmptyState>
        )
      ) : (
        <ListTable
          label={t('Apps')}
          columns={columns(apps ?? [])}
          rows={apps}
          rowKey={(app) => app.id}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
          loadingRows={4}
        />
      )}
      <ShowMore query={query} sortedOf={sortedOf} />
    </>
  );
}
