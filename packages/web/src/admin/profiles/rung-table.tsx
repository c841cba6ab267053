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
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { useListSearch } from '../frame/lists/use-list-search.ts';
import { Section } from '../frame/page-head.tsx';
import { bitrateLabel, CODEC_LABELS } from './profile-labels.ts';
import { RungDialog } from './rung-dialog.tsx';
import { largestFirst } from './rung-model.ts';
import { useRungs } from './use-profiles.ts';

const columns = (on: {
  edit: (rung: ListedStreamProfile) => void;
  remove: (rung: ListedStreamProfile) => void;
}): readonly Column<ListedStreamProfile>[] => [
  {
    head: msg('Rung'),
    kind: 'name',
    sort: 'name',
    by: (rung) => rung.display_name,
    cell: (rung) => (
      <button type="button" className={styles.nameLink} onClick={() => on.edit(rung)}>
        {rung.display_name}
      </button>
    ),
  },
  {
    head: msg('Id'),
    kind: 'code',
    sort: 'id',
    by: (rung) => rung.id,
    cell: (rung) => <span className={`${styles.dim} ${styles.idCell}`}>{rung.id}</span>,
  },
  {
    head: msg('Codec'),
    sort: 'codec',
    by: (rung) => CODEC_LABELS[rung.codec],
    cell: (rung) => CODEC_LABELS[rung.codec],
  },
  {
    head: msg('Picture'),
    kind: 'number',
    sort: 'size',
    by: (rung) => rung.width * rung.height,
    cell: (rung) => `${rung.width} × ${rung.height}`,
  },
  { head: msg('FPS'), kind: 'number', sort: 'fps', by: (rung) => rung.fps, cell: (rung) => rung.fps },
  {
    head: msg('Bitrate'),
    kind: 'number',
    sort: 'rate',
    by: (rung) => rung.nominal_bitrate_kbps,
    cell: (rung) => bitrateLabel(rung.nominal_bitrate_kbps),
  },
  {
    head: msg('Used by'),
    sort: 'chains',
    by: (rung) => rung.used_by?.length ?? 0,
    cell: (rung) =>
      rung.used_by === undefined ? (
        <span className={styles.dim}>{t('no chain')}</span>
      ) : (
        <span title={rung.used_by.map((profile) => profile.display_name).join(', ')}>
          {plural(rung.used_by.length, '{n} chain', '{n} chains')}
        </span>
      ),
  },
  {
    head: msg('Sessions so far'),
    kind: 'number',
    sort: 'sessions',
    by: (rung) => rung.session_count ?? 0,
    cell: (rung) => rung.session_count ?? 0,
  },
  {
    head: msg('Actions'),
    kind: 'action',
    // What uses a rung stands in its row.
    cell: (rung) =>
      refusalLabel(rung) === null && (
        <EndButton
          label={t('Delete rung {rung}', { rung: rung.display_name })}
          onClick={() => on.remove(rung)}
        >
          {t('Delete')}
        </EndButton>
      ),
  },
];

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
        <ListTable
          label={t('Rungs')}
          columns={columns({ edit: setEditing, remove: setDeleting })}
          rows={rungs && largestFirst(rungs)}
          rowKey={(rung) => rung.id}
          order={{ sort: search.rungs, onSort: (sort) => setSearch({ rungs: sort ?? '' }) }}
          loadingRows={6}
        />
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
        <p>{t('No chain lists it, and no session has used it.')}</p>
      </ConfirmDialog>
    </Section>
  );
}

/** The reason why a deletion would be refused, in numbers; null: nothing uses the rung. */
function refusalLabel({ used_by = [], session_count = 0 }: ListedStreamProfile): string | null {
  if (used_by.length === 0 && session_count === 0) return null;
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
