import type { ActivityEntry } from '@footlight/protocol/rest';
import { IconHistory } from '@tabler/icons-react';
import { EmptyState } from '../../components/empty-state.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import styles from '../frame/admin-pages.module.css';
import { type Column, DataTable, SkeletonRows } from '../frame/data-table.tsx';
import { actionWords, detailWords } from './activity-words.ts';

const COLUMNS: readonly Column[] = [
  { words: 'What' },
  { words: 'Who' },
  { words: 'When' },
  { words: 'About' },
];
const TONES = { info: 'neutral', warn: 'warning', err: 'danger' } as const;

/** Entries, newest first. @param entries undefined while loading */
export function ActivityTable({ entries }: { entries: readonly ActivityEntry[] | undefined }) {
  if (entries?.length === 0) {
    return (
      <EmptyState icon={IconHistory} title="Nothing here">
        Whatever administrators change, and what goes wrong by itself, is written down here.
      </EmptyState>
    );
  }
  return (
    <DataTable label="Activity" columns={COLUMNS}>
      {entries === undefined && <SkeletonRows rows={4} columns={COLUMNS.length} />}
      {entries?.map((entry) => (
        <tr key={entry.id}>
          <td>
            <span title={entry.action}>
              <StateChip tone={TONES[entry.severity]}>{actionWords(entry.action)}</StateChip>
            </span>
          </td>
          <td>{entry.actor_username ?? <span className={styles.dim}>{whoWords(entry)}</span>}</td>
          <td>
            <RelativeTime at={entry.created_at} />
          </td>
          <td className={styles.nameCell} title={entry.target_id ?? undefined}>
            {detailWords(entry) || <span className={styles.mono}>{entry.target_id ?? ''}</span>}
          </td>
        </tr>
      ))}
    </DataTable>
  );
}

function whoWords(entry: ActivityEntry): string {
  return entry.actor_user_id === null ? 'by itself' : 'deleted account';
}
