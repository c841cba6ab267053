import type { Host, Query } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconPlus, IconServer } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, ListTable } from '../frame/lists/list-table.tsx';
import { SearchField, ShowMore, usePages } from '../frame/lists/paged-list.tsx';
import { readSort } from '../frame/lists/table-sort.ts';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { AddHost, EnrollmentTokens } from './enrollment-tokens.tsx';
import { HostActions } from './host-actions.tsx';
import { HostChip, HostFaultChip } from './states.tsx';
import { PAGE, REFRESH_MS } from './use-fleet.ts';

const COLUMNS: readonly Column<Host>[] = [
  {
    head: msg('Host'),
    kind: 'name',
    sort: 'name',
    cell: (host) => (
      <Link to="/admin/hosts/$id" params={{ id: host.id }} className={styles.nameLink}>
        {host.node_name}
      </Link>
    ),
  },
  {
    head: msg('State'),
    sort: 'state',
    cell: (host) => (
      <>
        <HostChip host={host} /> <HostFaultChip host={host} />
      </>
    ),
  },
  {
    head: msg('Slots'),
    kind: 'number',
    sort: 'slots',
    cell: ({ capacity }) => (capacity === null ? '–' : `${capacity.slots_used} / ${capacity.slots_total}`),
  },
  {
    head: msg('Sessions'),
    kind: 'number',
    sort: 'sessions',
    cell: ({ capacity }) => capacity?.active_sessions ?? '–',
  },
  {
    head: msg('GPU memory'),
    kind: 'number',
    sort: 'memory',
    cell: ({ capacity }) =>
      capacity === null || capacity.vram_mb_total === 0 ? '–' : megabytesLabel(capacity.vram_mb_total),
  },
  { head: msg('Last heard'), sort: 'heard', cell: (host) => <RelativeTime at={host.last_heartbeat_at} /> },
  { head: msg('Agent'), kind: 'code', sort: 'agent', cell: (host) => host.agent_version ?? '–' },
  { head: msg('Actions'), kind: 'action', cell: (host) => <HostActions host={host} compact /> },
];

const FILTERS = [
  { value: '', label: msg('All') },
  { value: 'attention', label: msg('Need attention') },
] as const;

/** All hosts, and enrollment tokens. */
export function HostsPage() {
  usePageTitle(t('Hosts'));
  const [adding, setAdding] = useState(false);
  const [search, setSearch] = useListSearch(['q', 'sort', 'show']);
  const wanted = {
    q: search.q ?? '',
    sort: COLUMNS.some(({ sort }) => sort === readSort(search.sort).key)
      ? (search.sort as Query<'hosts.list'>['sort'])
      : undefined,
    attention: search.show === 'attention' || undefined,
  };
  const { query: hosts, items } = usePages(
    adminKeys.hostList(wanted),
    (cursor: string | undefined, signal) =>
      call('hosts.list', { query: { ...wanted, limit: PAGE, cursor }, signal }),
    { refetchMs: REFRESH_MS },
  );
  const isFiltered = wanted.q !== '' || wanted.attention === true;
  return (
    <>
      <PageHead
        title={t('Hosts')}
        actions={
          <Button variant="filled" leftSection={<IconPlus size={18} />} onClick={() => setAdding(true)}>
            {t('Add a host')}
          </Button>
        }
      />
      <div className={styles.filters}>
        <SegmentedChoice
          label={t('Hosts')}
          value={wanted.attention === true ? 'attention' : ''}
          options={FILTERS.map(({ value, label }) => ({ value, label: t(label) }))}
          onChange={(show) => setSearch({ ...search, show })}
        />
        <SearchField
          label={t('Find a host')}
          value={wanted.q}
          onChange={(q) => setSearch({ ...search, q })}
        />
      </div>
      {hosts.isError && <Problem error={hosts.error} retry={() => void hosts.refetch()} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconServer} title={isFiltered ? t('Nothing matches') : t('No host has enrolled')}>
          {isFiltered
            ? t('No host with this name, or none that needs attention.')
            : t(
                'A host is a machine whose agent connects here. To add one, run a command on it; it then appears here.',
              )}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Hosts')}
          columns={COLUMNS}
          rows={items}
          rowKey={(host) => host.id}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
        />
      )}
      <ShowMore query={hosts} />
      <EnrollmentTokens />
      <AddHost opened={adding} onClose={() => setAdding(false)} />
    </>
  );
}
