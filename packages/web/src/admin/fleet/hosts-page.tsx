import { IconServer } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import styles from '../frame/admin-pages.module.css';
import { type Column, DataTable, SkeletonRows } from '../frame/data-table.tsx';
import { PageHead } from '../frame/page-head.tsx';
import { megabytesWords } from '../frame/quantity-words.ts';
import { EnrollmentTokens } from './enrollment-tokens.tsx';
import { HostActions } from './host-actions.tsx';
import { HostChip } from './states.tsx';
import { useHosts } from './use-fleet.ts';

const COLUMNS: readonly Column[] = [
  { words: 'Host' },
  { words: 'State' },
  { words: 'Slots', kind: 'number' },
  { words: 'Sessions', kind: 'number' },
  { words: 'GPU memory', kind: 'number' },
  { words: 'Last heard' },
  { words: 'Agent' },
  { words: 'Actions', kind: 'action' },
];

/** All hosts, and enrollment tokens. */
export function HostsPage() {
  usePageTitle('Hosts');
  const hosts = useHosts();
  const items = hosts.data?.items;
  return (
    <>
      <PageHead title="Hosts" />
      {hosts.isError && <Problem error={hosts.error} retry={() => void hosts.refetch()} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconServer} title="No host has enrolled">
          A host is a machine whose agent connects here. Add one below, by a line to run on it; it appears by
          itself.
        </EmptyState>
      ) : (
        <DataTable label="Hosts" columns={COLUMNS}>
          {items === undefined && <SkeletonRows rows={3} columns={COLUMNS.length} />}
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
                  : megabytesWords(host.capacity.vram_mb_total)}
              </td>
              <td>
                <RelativeTime at={host.last_heartbeat_at} />
              </td>
              <td className={styles.mono}>{host.agent_version ?? '–'}</td>
              <td className={styles.act}>
                <HostActions host={host} compact />
              </td>
            </tr>
          ))}
        </DataTable>
      )}
      <EnrollmentTokens hosts={items ?? []} />
    </>
  );
}
