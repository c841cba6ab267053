import type { ListedStreamProfile } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconStack2 } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { msg, plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { type Column, DataTable, EndButton, SkeletonRows } from '../frame/lists/data-table.tsx';
import { sortRows } from '../frame/lists/table-sort.ts';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { Section } from '../frame/page-head.tsx';
import { bitrateLabel, CODEC_LABELS } from './profile-labels.ts';
import { RungDialog } from './rung-dialog.tsx';
import { useRungs } from './use-profiles.ts';

const COLUMNS: readonly Column[] = [
  { label: msg('Rung'), sort: 'name' },
  { label: msg('Id'), sort: 'id' },
  { label: msg('Codec'), sort: 'codec' },
  { label: msg('Picture'), sort: 'size', kind: 'number' },
  { label: msg('FPS'), sort: 'fps', kind: 'number' },
  { label: msg('Bitrate'), sort: 'rate', kind: 'number' },
  { label: msg('Used by'), sort: 'chains' },
  { label: msg('Sessions'), sort: 'sessions', kind: 'number' },
  { label: msg('Actions'), kind: 'action' },
];

const SORT_KEYS = {
  name: (rung: ListedStreamProfile) => rung.display_name,
  id: (rung: ListedStreamProfile) => rung.id,
  codec: (rung: ListedStreamProfile) => CODEC_LABELS[rung.codec],
  size: (rung: ListedStreamProfile) => rung.width * rung.height,
  fps: (rung: ListedStreamProfile) => rung.fps,
  rate: (rung: ListedStreamProfile) => rung.nominal_bitrate_kbps,
  chains: (rung: ListedStreamProfile) => rung.used_by?.length ?? 0,
  sessions: (rung: ListedStreamProfile) => rung.session_count ?? 0,
};

/** All rungs, with actions. */
export function Rungs() {
  /** null: the dialog is closed; 'new': the dialog creates a rung */
  const [editing, setEditing] = useState<ListedStreamProfile | 'new' | null>(null);
  const [deleting, setDeleting] = useState<ListedStreamProfile | null>(null);
  const queryClient = useQueryClient();
  const query = useRungs();
  const remove = useMutation({
    mutationFn: (rung: ListedStreamProfile) => call('streamProfiles.delete', { params: { id: rung.id } }),
    onSuccess: (_answer, rung) => {
      setDeleting(null);
      notifications.show({ message: t('{name} was deleted', { name: rung.display_name }), autoClose: 4000 });
      return queryClient.invalidateQueries({ queryKey: adminKeys.rungs });
    },
  });
  const rungs = query.data?.items;
  const [search, setSearch] = useListSearch(['rungs']);
  const add = (
    <Button size="sm" onClick={() => setEditing('new')}>
      {t('Add a rung')}
    </Button>
  );
  return (
    <Section title={t('Rungs')} folds actions={rungs?.length === 0 ? undefined : add} busy={query.isPending}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {rungs?.length === 0 ? (
        <EmptyState icon={IconStack2} title={t('No rungs yet')} action={add}>
          {t(
            'A rung is one way to encode: codec, size, frames per second and bitrate. Launch profiles are made of them.',
          )}
        </EmptyState>
      ) : (
        <DataTable
          label={t('Rungs')}
          columns={COLUMNS.map((column) => ({ ...column, label: t(column.label) }))}
          order={{ sort: search.rungs, onSort: (sort) => setSearch({ rungs: sort ?? '' }) }}
        >
          {rungs === undefined && <SkeletonRows rows={6} columns={COLUMNS.length} />}
          {sortRows(rungs ?? [], search.rungs, SORT_KEYS).map((rung) => (
            <tr key={rung.id}>
              <td className={styles.nameCell}>
                <button type="button" className={styles.nameLink} onClick={() => setEditing(rung)}>
                  {rung.display_name}
                </button>
              </td>
              <td className={`${styles.idCell} ${styles.mono} ${styles.dim}`}>{rung.id}</td>
              <td>{CODEC_LABELS[rung.codec]}</td>
              <td className={styles.number}>
                {rung.width} × {rung.height}
              </td>
              <td className={styles.number}>{rung.fps}</td>
              <td className={styles.number}>{bitrateLabel(rung.nominal_bitrate_kbps)}</td>
              <td>
                {rung.used_by === undefined ? (
                  <span className={styles.dim}>{t('no chain')}</span>
                ) : (
                  <span title={rung.used_by.map((profile) => profile.display_name).join(', ')}>
                    {plural(rung.used_by.length, '{n} chain', '{n} chains')}
                  </span>
                )}
              </td>
              <td className={styles.number}>{rung.session_count ?? 0}</td>
              <td className={styles.rowActions}>
                <EndButton
                  label={t('Delete rung {rung}', { rung: rung.display_name })}
                  onClick={() => setDeleting(rung)}
                >
                  {t('Delete')}
                </EndButton>
              </td>
            </tr>
          ))}
        </DataTable>
      )}
      <RungDialog
        opened={editing !== null}
        rung={editing === 'new' ? null : editing}
        onClose={() => setEditing(null)}
      />
      <ConfirmDialog
        opened={deleting !== null}
        title={t('Delete the rung {rung}?', { rung: deleting?.display_name ?? '' })}
        action={t('Delete {name}', { name: deleting?.display_name ?? t('it') })}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => deleting !== null && remove.mutate(deleting)}
        onClose={() => {
          setDeleting(null);
          remove.reset();
        }}
      >
        {deleting !== null && <p>{deletionLabel(deleting)}</p>}
      </ConfirmDialog>
    </Section>
  );
}

/** The reason why a deletion is refused, in numbers. */
function deletionLabel({ used_by = [], session_count = 0 }: ListedStreamProfile): string {
  if (used_by.length === 0 && session_count === 0) return t('No chain lists it, and no session has used it.');
  return [
    used_by.length > 0
      ? plural(
          used_by.length,
          '{n} chain lists it; remove it there first.',
          '{n} chains list it; remove it there first.',
        )
      : '',
    session_count > 0
      ? plural(
          session_count,
          '{n} session has used it, so it stays for their history.',
          '{n} sessions have used it, so it stays for their history.',
        )
      : '',
  ]
    .filter(Boolean)
    .join(' ');
}
