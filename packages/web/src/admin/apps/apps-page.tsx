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
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { SearchField, ShowMore, useSortedPages } from '../frame/lists/paged-list.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { runsAsLabel } from './app-labels.ts';

const COLUMNS: readonly Column[] = [
  { label: msg('App'), sort: 'name' },
  { label: msg('State'), sort: 'state' },
  { label: msg('Kind'), sort: 'kind' },
  { label: msg('Runs as') },
  { label: msg('Picture'), kind: 'number', sort: 'picture' },
  { label: msg('Slots'), kind: 'number', sort: 'slots' },
  { label: msg('Sessions in 30 days'), kind: 'number', sort: 'sessions' },
];
const SORT_KEYS = {
  name: (app: AdminApp) => app.name,
  state: (app: AdminApp) => (app.enabled ? 'enabled' : 'disabled'),
  kind: (app: AdminApp) => app.kind,
  picture: (app: AdminApp) => app.default_width * app.default_height,
  slots: (app: AdminApp) => app.default_encode_slots,
  sessions: (app: AdminApp) => app.sessions_30d,
};

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
    { sort: search.sort, keys: SORT_KEYS },
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
        <DataTable
          label={t('Apps')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
        >
          {apps === undefined && <SkeletonRows rows={4} columns={COLUMNS.length} />}
          {apps?.map((app) => (
            <tr key={app.id}>
              <td className={styles.nameCell}>
                <Link to="/admin/apps/$id" params={{ id: app.id }} className={styles.nameLink}>
                  {app.name}
                </Link>
              </td>
              <td>
                {app.enabled ? (
                  <StateChip tone="success">{t('Enabled')}</StateChip>
                ) : (
                  <StateChip tone="neutral">{t('Disabled')}</StateChip>
                )}
              </td>
              <td>{t(KIND_LABELS[app.kind])}</td>
              <td className={styles.nameCell}>
                {runsAsLabel(app, apps.find((other) => other.id === app.parent_app_id)?.name)}
              </td>
              <td className={styles.number}>
                {app.default_width} × {app.default_height}
              </td>
              <td className={styles.number}>{app.default_encode_slots}</td>
              <td className={styles.number}>{app.sessions_30d}</td>
            </tr>
          ))}
        </DataTable>
      )}
      <ShowMore query={query} sortedOf={sortedOf} />
    </>
  );
}

const KIND_LABELS = { game: msg('Game'), desktop: msg('Desktop'), launcher: msg('Launcher') };
