import { MAX_DEVICE_NAME_CHARACTERS } from '@footlight/protocol/bounds';
import type { Device } from '@footlight/protocol/rest';
import { Button, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Problem } from '../components/problem.tsx';
import { RelativeTime } from '../components/relative-time.tsx';
import { Skeleton } from '../components/skeleton.tsx';
import { StateChip } from '../components/state-chip.tsx';
import { rich, t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { deviceLabel } from './device-labels.ts';
import { signOut } from './sign-out.ts';

/** Browsers and programs that have signed in. The person can name each device and remove it. */
export function Devices() {
  const [naming, setNaming] = useState<Device | null>(null);
  const [removing, setRemoving] = useState<Device | null>(null);
  const queryClient = useQueryClient();
  const list = useQuery({
    queryKey: keys.devices,
    queryFn: ({ signal }) => call('devices.list', { signal }),
  });
  const remove = useMutation({
    mutationFn: (device: Device) => call('devices.delete', { params: { id: device.id } }),
    onSuccess: async (_answer, device) => {
      setRemoving(null);
      // The page's own token is revoked too, so the page must sign out.
      if (device.current) return signOut();
      return queryClient.invalidateQueries({ queryKey: keys.devices });
    },
  });
  // The device in use first; the server orders by last use.
  const devices = list.data?.devices.toSorted((a, b) => Number(b.current) - Number(a.current));
  return (
    <>
      {list.isError && <Problem error={list.error} retry={() => void list.refetch()} />}
      {devices === undefined && !list.isError && <Skeleton height={72} radius={14} />}
      {devices?.length === 0 && (
        <p className={styles.dim}>{t('No devices yet. A device appears here when you log in on it.')}</p>
      )}
      {devices !== undefined && devices.length > 0 && (
        <ul className={styles.rows}>
          {devices.map((device) => (
            <li key={device.id}>
              <div className={styles.rowText}>
                <strong>{deviceLabel(device)}</strong>
                <span className={styles.dim}>
                  {device.current
                    ? t('In use now')
                    : rich('Last used {time}', {
                        time: <RelativeTime key="time" at={device.last_seen_at} />,
                      })}
                </span>
              </div>
              {device.current && <StateChip tone="success">{t('This device')}</StateChip>}
              {device.active_session_id !== null && <StateChip tone="info">{t('Running an app')}</StateChip>}
              <div className={styles.rowActions}>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  aria-label={t('Rename {device}', { device: deviceLabel(device) })}
                  onClick={() => setNaming(device)}
                >
                  {t('Rename')}
                </Button>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  color="danger"
                  aria-label={t('Remove {device}', { device: deviceLabel(device) })}
                  onClick={() => setRemoving(device)}
                >
                  {t('Remove')}
                </Button>
              </div>
            </li>
          ))}
        </ul>
      )}
      {naming !== null && <Rename device={naming} onClose={() => setNaming(null)} />}
      <ConfirmDialog
        opened={removing !== null}
        title={t('Remove {device}?', { device: removing === null ? '' : deviceLabel(removing) })}
        action={t('Remove 1 device')}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => removing !== null && remove.mutate(removing)}
        onClose={() => setRemoving(null)}
      >
        <p>
          {removing?.current
            ? t('That is the device you are using. You have to log in again.')
            : t('It has to log in again.')}{' '}
          {removing !== null &&
            removing.active_session_id !== null &&
            t('The app that you started on it ends.')}
        </p>
      </ConfirmDialog>
    </>
  );
}

function Rename({ device, onClose }: { device: Device; onClose: () => void }) {
  const [name, setName] = useState(device.name ?? '');
  const queryClient = useQueryClient();
  const rename = useMutation({
    mutationFn: () => call('devices.update', { params: { id: device.id }, body: { name: name.trim() } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.devices });
      onClose();
    },
  });
  return (
    <Dialog opened title={t('Rename device')} onClose={onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          rename.mutate();
        }}
      >
        {rename.isError && <Problem error={rename.error} />}
        <TextInput
          label={t('Name')}
          placeholder={t('Living room')}
          maxLength={MAX_DEVICE_NAME_CHARACTERS}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" variant="filled" loading={rename.isPending}>
          {t('Save name')}
        </Button>
      </form>
    </Dialog>
  );
}
