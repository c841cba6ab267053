import type { Host } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconPlus, IconServer } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, DataTable, SkeletonRows } from '../frame/lists/data-table.tsx';
import { SearchField } from '../frame/lists/paged-list.tsx';
import { sortRows } from '../frame/lists/table-sort.ts';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { PageHead } from '../frame/page-head.tsx';
import { megabytesLabel } from '../frame/quantity-labels.ts';
import { AddHost, EnrollmentTokens } from './enrollment-tokens.tsx';
import { HostActions } from './host-actions.tsx';
import { HostChip } from './states.tsx';
import { useHosts } from './use-fleet.ts';

/** Rows that are rendered at first, and added by each press of the button. */
const ROWS = 100;
/** From this number of hosts the list has a search. A shorter list fits on a laptop's screen. */
const SEARCHED_FROM = 8;

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

const SORT_KEYS = {
  name: (host: Host) => host.node_name,
  state: (host: Host) => host.status,
  slots: (host: Host) => host.capacity?.slots_used ?? null,
  sessions: (host: Host) => host.capacity?.active_sessions ?? null,
  memory: (host: Host) => host.capacity?.vram_mb_total ?? null,
  heard: (host: Host) => host.last_heartbeat_at,
  agent: (host: Host) => host.agent_version,
};

/** All hosts, and enrollment tokens. */
export function HostsPage() {
  usePageTitle(t('Hosts'));
  const hosts = useHosts();
  const [adding, setAdding] = useState(false);
  const [rows, setRows] = useState(ROWS);
  const items = hosts.data?.items;
  const [search, setSearch] = useListSearch(['q', 'sort']);
  const text = (search.q ?? '').toLowerCase();
  const shown = items?.filter((host) => host.node_name.toLowerCase().includes(text));
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
      {items !== undefined && items.length > SEARCHED_FROM && (
        <div className={styles.filters}>
          <SearchField
            label={t('Find a host')}
            value={search.q ?? ''}
            onChange={(q) => setSearch({ ...search, q })}
          />
        </div>
      )}
      {hosts.isError && <Problem error={hosts.error} retry={() => void hosts.refetch()} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconServer} title={t('No host has enrolled')}>
          {t(
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
          {sortRows(shown ?? [], search.sort, SORT_KEYS)
            .slice(0, rows)
            .map((host) => (
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
                  {host.capacity === null
                    ? '–'
                    : `${host.capacity.slots_used} / ${host.capacity.slots_total}`}
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
      {(shown?.length ?? 0) > rows && (
        <div>
          <Button onClick={() => setRows(rows + ROWS)}>
            {plural(
              (shown?.length ?? 0) - rows,
              'Show more; {n} host not shown',
              'Show more; {n} hosts not shown',
            )}
          </Button>
        </div>
      )}
      <EnrollmentTokens hosts={items ?? []} />
      <AddHost opened={adding} onClose={() => setAdding(false)} />
    </>
  );
}
