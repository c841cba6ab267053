import type { AdminUser, Entitlement } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { IconAppWindow } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Problem } from '../../components/problem.tsx';
import { msg, t } from '../../i18n/translate.ts';
import { pickApps } from '../apps/app-lookup.ts';
import { GRANT_COLUMNS } from '../apps/entitlements.tsx';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { RevokedGrant } from '../frame/deletion/deletion-effects.tsx';
import { type Column, EndButton, ListTable } from '../frame/lists/list-table.tsx';
import { PickDialog } from '../frame/lists/pick-dialog.tsx';

const columns = (onRevoke: (row: Entitlement) => void): readonly Column<Entitlement>[] => [
  {
    head: msg('App'),
    kind: 'name',
    cell: (row) => (
      <Link to="/admin/apps/$id" params={{ id: row.app_id }} className={styles.nameLink}>
        {row.app_name}
      </Link>
    ),
  },
  ...GRANT_COLUMNS,
  {
    head: msg('Actions'),
    kind: 'action',
    cell: (row) => (
      <EndButton label={t('Revoke {app}', { app: row.app_name ?? '' })} onClick={() => onRevoke(row)}>
        {t('Revoke')}
      </EndButton>
    ),
  },
];

/** An account's own entitlements, without those for everybody. */
export function PersonalApps({ user }: { user: Pick<AdminUser, 'id' | 'username'> }) {
  const [giving, setGiving] = useState(false);
  const [revoking, setRevoking] = useState<Entitlement | null>(null);
  const queryClient = useQueryClient();
  const list = useQuery({
    queryKey: adminKeys.userEntitlements(user.id),
    queryFn: ({ signal }) => call('users.entitlements', { params: { id: user.id }, signal }),
  });
  const refresh = (appId: string) =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: adminKeys.userEntitlements(user.id) }),
      queryClient.invalidateQueries({ queryKey: adminKeys.entitlements(appId) }),
    ]);
  const grant = useMutation({
    mutationFn: (appId: string) =>
      call('entitlements.grant', {
        params: { id: appId },
        body: { subject_type: 'user', subject_id: user.id },
      }),
    onSuccess: (_answer, appId) => refresh(appId),
  });
  const revoke = useMutation({
    mutationFn: (row: Entitlement) =>
      call('entitlements.revoke', { params: { id: row.app_id, entitlement_id: row.id } }),
    onSuccess: (_answer, row) => {
      setRevoking(null);
      return refresh(row.app_id);
    },
  });
  const items = list.data?.items;
  const give = (
    <Button size="sm" onClick={() => setGiving(true)}>
      {t('Give an app')}
    </Button>
  );
  return (
    <div className={styles.stack}>
      {list.isError && <Problem error={list.error} retry={() => void list.refetch()} />}
      {items?.length === 0 ? (
        <EmptyState icon={IconAppWindow} title={t('None of its own')} action={give}>
          {t('Apps that everybody may use are in this person’s library as well.')}
        </EmptyState>
      ) : (
        <>
          <ListTable
            label={t('Apps given to this account')}
            columns={columns(setRevoking)}
            rows={items}
            rowKey={(row) => row.id}
            loadingRows={2}
          />
          <div>{give}</div>
        </>
      )}
      <PickDialog
        opened={giving}
        title={t('Give an app to {name}', { name: user.username })}
        label={t('Find an app')}
        kind="apps"
        action={t('Give')}
        find={pickApps}
        taken={new Set(items?.map((row) => row.app_id))}
        pending={grant.isPending ? grant.variables : undefined}
        error={grant.error}
        onPick={(id) => grant.mutate(id)}
        onClose={() => setGiving(false)}
      />
      <ConfirmDialog
        opened={revoking !== null}
        title={t('Revoke {app} from {name}?', { app: revoking?.app_name ?? t('it'), name: user.username })}
        action={t('Revoke {app}', { app: revoking?.app_name ?? t('it') })}
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
