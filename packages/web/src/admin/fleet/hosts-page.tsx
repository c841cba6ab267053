import type { Query } from '@footlight/protocol/rest';
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
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { SearchField, ShowMore, usePages } from '../frame/lists/paged-list.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';
import { SegmentedChoice } from '../frame/segmented-choice.tsx';
import { AddHost, EnrollmentTokens } from './enrollment-tokens.tsx';
import { HostActions } from './host-actions.tsx';
import { HostChip } from './states.tsx';
import { PAGE, REFRESH_MS } from './use-fleet.ts';

const columns = (): readonly Column[] => [
  { label: t('Host'), sort: 'name' },
  { label: t('State'), sort: 'state' },
  { label: t('Slots'), sort: 'slots', kind: 'number' },
  { label: t('Sessions'), sort: 'sessions', kind: 'number' },
  { label: t('GPU memory'), sort: 'memory', kind: 'number' },
  { label: t('Last heard'), sort: 'heard' },
  { label: t('Agent'), sort: 'agent' },
  { label: t('Actions'), kind: 'action' },
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
    sort: search.sort as Query<'hosts.list'>['sort'],
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
        <DataTable
          label={t('Hosts')}
          columns={columns()}
          order={{ sort: search.sort, onSort: (sort) => setSearch({ ...search, sort: sort ?? '' }) }}
        >
          {items === undefined && <SkeletonRows rows={3} columns={columns().length} />}
          {items?.map((host) => (
            <tr key={host.id}>
              <td className={styles.nameCell}>
                <Link to="/admin/hosts/$id" params={{ id: host.id }} className={styles.nameLink}>
                  {host.node_name}
                </Link>
              </td>
              <td>
                <HostChip host={host} />
              </td>
              <td className={styles.number}>
                {host.capacity === null ? '–' : `${host.capacity.slots_used} / ${host.capacity.slots_total}`}
              </td>
              <td className={styles.number}>{host.capacity?.active_sessions ?? '–'}</td>
              <td className={styles.number}>
                {host.capacity === null || host.capacity.vram_mb_total === 0
                  ? '–'
                  : megabytesLabel(host.capacity.vram_mb_total)}
              </td>
              <td>
                <RelativeTime at={host.last_heartbeat_at} />
              </td>
              <td className={styles.mono}>{host.agent_version ?? '–'}</td>
              <td className={styles.rowActions}>
                <HostActions host={host} compact />
              </td>
            </tr>
          ))}
        </DataTable>
      )}
      <ShowMore query={hosts} />
      <EnrollmentTokens hosts={items ?? []} />
      <AddHost opened={adding} onClose={() => setAdding(false)} />
    </>
  );
}
