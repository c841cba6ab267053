import type { AdminSession, Host } from '@footlight/protocol/rest';
import { Button, Checkbox } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { plural, t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { DeletionEffects } from '../frame/deletion/deletion-effects.tsx';
import { EndedSessions } from './ended-sessions.tsx';

type Confirming = 'drain' | 'restart' | 'delete' | null;

/**
 * Actions on a host: drain, uncordon, restart the agent, delete.
 * @param props.sessions known sessions, which the page names before it ends them
 */
export function HostActions(props: { host: Host; sessions?: readonly AdminSession[]; compact?: boolean }) {
  const { host, sessions = [], compact = false } = props;
  const [confirming, setConfirming] = useState<Confirming>(null);
  const [force, setForce] = useState(false);
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const size = compact ? 'compact-sm' : 'sm';
  const live = host.capacity?.active_sessions ?? 0;
  const refresh = () => queryClient.invalidateQueries({ queryKey: adminKeys.hosts });
  const notify = (message: string) => notifications.show({ message, autoClose: 4000 });

  const drain = useMutation({
    mutationFn: () => call('hosts.drain', { params: { id: host.id }, body: { force: force && live > 0 } }),
    onSuccess: () => {
      setConfirming(null);
      notify(t('{host} takes no new sessions', { host: host.node_name }));
      return refresh();
    },
  });
  const uncordon = useMutation({
    mutationFn: () => call('hosts.uncordon', { params: { id: host.id } }),
    onSuccess: () => {
      notify(t('{host} takes sessions again', { host: host.node_name }));
      return refresh();
    },
    onError: () => notify(t('{host} could not be returned to service', { host: host.node_name })),
  });
  const restart = useMutation({
    mutationFn: () => call('hosts.restart', { params: { id: host.id }, body: { confirm: live > 0 } }),
    onSuccess: () => {
      setConfirming(null);
      notify(t('The agent of {host} restarts', { host: host.node_name }));
      return refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => call('hosts.delete', { params: { id: host.id } }),
    onSuccess: async () => {
      setConfirming(null);
      notify(t('{name} was deleted', { name: host.node_name }));
      if (!compact) await navigate({ to: '/admin/hosts' });
      return refresh();
    },
  });

  return (
    <>
      {host.status === 'draining' ? (
        <Button
          size={size}
          variant={compact ? 'subtle' : 'default'}
          loading={uncordon.isPending}
          onClick={() => uncordon.mutate()}
        >
          {t('Return to service')}
        </Button>
      ) : (
        host.status === 'online' && (
          <Button
            size={size}
            variant={compact ? 'subtle' : 'default'}
            onClick={() => {
              setForce(false);
              setConfirming('drain');
            }}
          >
            {t('Drain')}
          </Button>
        )
      )}
      {!compact && host.status !== 'offline' && (
        <Button onClick={() => setConfirming('restart')}>{t('Restart agent')}</Button>
      )}
      {host.status === 'offline' && (
        <Button
          size={size}
          variant={compact ? 'subtle' : 'default'}
          color="danger"
          onClick={() => setConfirming('delete')}
        >
          {t('Delete')}
        </Button>
      )}
      <ConfirmDialog
        opened={confirming === 'drain'}
        title={t('Drain {host}?', { host: host.node_name })}
        action={
          force && live > 0
            ? plural(live, 'End {n} session and drain {host}', 'End {n} sessions and drain {host}', {
                host: host.node_name,
              })
            : t('Drain {host}', { host: host.node_name })
        }
        pending={drain.isPending}
        error={drain.error}
        onConfirm={() => drain.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>
          {t('It takes no new sessions until you return it to service.')}{' '}
          {live > 0
            ? plural(live, '{n} session on it may finish.', '{n} sessions on it may finish.')
            : t('Nothing runs on it now.')}
        </p>
        {live > 0 && (
          <Checkbox
            label={plural(
              live,
              'End {n} session now; what the apps have not saved is lost',
              'End {n} sessions now; what the apps have not saved is lost',
            )}
            checked={force}
            onChange={(event) => setForce(event.currentTarget.checked)}
          />
        )}
      </ConfirmDialog>
      <ConfirmDialog
        opened={confirming === 'restart'}
        title={t('Restart the agent of {host}?', { host: host.node_name })}
        action={
          live > 0
            ? plural(
                live,
                'End {n} session and restart the agent of {host}',
                'End {n} sessions and restart the agent of {host}',
                {
                  host: host.node_name,
                },
              )
            : t('Restart the agent of {host}', { host: host.node_name })
        }
        pending={restart.isPending}
        error={restart.error}
        onConfirm={() => restart.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>
          {t('Its agent ends and is started again; the machine itself stays up.')}{' '}
          {live > 0 ? t('Its sessions end:') : t('Nothing runs on it now.')}
        </p>
        {live > 0 && <EndedSessions sessions={sessions} count={live} />}
      </ConfirmDialog>
      <ConfirmDialog
        opened={confirming === 'delete'}
        title={t('Delete {name}?', { name: host.node_name })}
        action={t('Delete {name}', { name: host.node_name })}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>{t('To add it again later, enroll its agent again.')}</p>
        <DeletionEffects id={host.id} />
      </ConfirmDialog>
    </>
  );
}
