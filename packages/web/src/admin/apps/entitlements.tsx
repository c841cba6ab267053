import type { AdminApp, Entitlement } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconUsers } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { readUser } from '../../api/auth-store.ts';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { msg, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { RevokedGrant } from '../frame/deletion/deletion-effects.tsx';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { PickDialog } from '../frame/lists/pick-dialog.tsx';
import { pickUsers } from '../people/user-lookup.ts';

const GRANT_SOURCE_LABELS = {
  admin: msg('An administrator'),
  provider: msg('A library'),
  migration: msg('An earlier version'),
};
export const GRANT_COLUMNS: readonly Column<Entitlement>[] = [
  { head: msg('Given by'), cell: (item) => t(GRANT_SOURCE_LABELS[item.granted_by]) },
  { head: msg('Since'), cell: (item) => <RelativeTime at={item.created_at} /> },
];
const columns = (onRevoke: (item: Entitlement) => void): readonly Column<Entitlement>[] => [
  {
    head: msg('Who'),
    kind: 'name',
    cell: (item) =>
      item.subject_type === 'all' ? (
        <StateChip tone="info">{t('Everybody')}</StateChip>
      ) : (
        (item.subject_username ?? <span className={styles.mono}>{item.subject_id}</span>)
      ),
  },
  ...GRANT_COLUMNS,
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (item) => (
      <EndButton label={revokeLabel(item)} onClick={() => onRevoke(item)}>
        {t('Revoke')}
      </EndButton>
    ),
  },
];

/** Entitlements of an app. */
export function Entitlements({ app }: { app: Pick<AdminApp, 'id' | 'name'> }) {
  const [picking, setPicking] = useState(false);
  const [revoking, setRevoking] = useState<Entitlement | null>(null);
  const queryClient = useQueryClient();
  const me = readUser();
  const refresh = () => queryClient.invalidateQueries({ queryKey: adminKeys.entitlements(app.id) });
  const list = useQuery({
    queryKey: adminKeys.entitlements(app.id),
    queryFn: ({ signal }) => call('entitlements.list', { params: { id: app.id }, signal }),
  });
  const grant = useMutation({
    mutationFn: (subject: string | null) =>
      call('entitlements.grant', {
        params: { id: app.id },
        body: subject === null ? { subject_type: 'all' } : { subject_type: 'user', subject_id: subject },
      }),
    onSuccess: refresh,
  });
  const revoke = useMutation({
    mutationFn: (entitlement: Entitlement) =>
      call('entitlements.revoke', { params: { id: app.id, entitlement_id: entitlement.id } }),
    onSuccess: () => {
      setRevoking(null);
      return refresh();
    },
  });
  const items = list.data?.items;
  const everybody = items?.some((item) => item.subject_type === 'all') ?? true;
  const hasOwn = items?.some((item) => item.subject_id === me?.id) ?? true;
  return (
    <div className={styles.stack}>
      {list.isError && <Problem error={list.error} retry={() => void list.refetch()} />}
      {grant.isError && !picking && <Problem error={grant.error} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconUsers} title={t('Nobody may use it yet')}>
          {t(
            'Until you give it to everybody or to individual people, nobody has it in the library, not even administrators.',
          )}
        </EmptyState>
      ) : (
        <ListTable
          label={t('Who may use it')}
          columns={columns(setRevoking)}
          rows={items}
          rowKey={(item) => item.id}
          loadingRows={1}
        />
      )}
      <div className={styles.filters}>
        <Button size="sm" disabled={everybody} loading={grant.isPending} onClick={() => grant.mutate(null)}>
          {t('Give to everybody')}
        </Button>
        {me !== null && (
          <Button size="sm" disabled={hasOwn} loading={grant.isPending} onClick={() => grant.mutate(me.id)}>
            {t('Give to me')}
          </Button>
        )}
        <Button size="sm" onClick={() => setPicking(true)}>
          {t('Give to a person')}
        </Button>
      </div>
      <PickDialog
        opened={picking}
        title={t('Give {app} to a person', { app: app.name })}
        label={t('Name or email')}
        kind="users"
        action={t('Give to')}
        find={pickUsers}
        taken={new Set(items?.flatMap((item) => item.subject_id ?? []))}
        pending={grant.isPending ? (grant.variables ?? undefined) : undefined}
        error={grant.error}
        onPick={(id) => grant.mutate(id)}
        onClose={() => setPicking(false)}
      />
      <ConfirmDialog
        opened={revoking !== null}
        title={revoking === null ? '' : questionLabel(app.name, revoking)}
        action={t('Revoke {app}', { app: app.name })}
        pending={revoke.isPending}
        error={revoke.error}
        onConfirm={() => revoking !== null && revoke.mutate(revoking)}
        onClose={() => setRevoking(null)}
      >
        {revoking !== null && <RevokedGrant id={revoking.id} />}
      </ConfirmDialog>
    </div>
  );
}

function revokeLabel(item: Entitlement): string {
  if (item.subject_type === 'all') return t('Revoke it from everybody');
  const name = item.subject_username;
  return name ? t('Revoke it from {name}', { name }) : t('Revoke it from this account');
}

function questionLabel(app: string, item: Entitlement): string {
  if (item.subject_type === 'all') return t('Revoke {app} from everybody?', { app });
  const name = item.subject_username;
  return name ? t('Revoke {app} from {name}?', { app, name }) : t('Revoke {app} from this account?', { app });
}
