import type { AdminSession, Host } from '@footlight/protocol/rest';
import { Button, Checkbox } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { DeletionEffects } from '../frame/deletion/deletion-effects.tsx';
import { countLabel } from '../frame/quantity-labels.ts';
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
      notify(`${host.node_name} takes no new sessions`);
      return refresh();
    },
  });
  const uncordon = useMutation({
    mutationFn: () => call('hosts.uncordon', { params: { id: host.id } }),
    onSuccess: () => {
      notify(`${host.node_name} takes sessions again`);
      return refresh();
    },
    onError: () => notify(`${host.node_name} could not be returned to service`),
  });
  const restart = useMutation({
    mutationFn: () => call('hosts.restart', { params: { id: host.id }, body: { confirm: live > 0 } }),
    onSuccess: () => {
      setConfirming(null);
      notify(`The agent of ${host.node_name} restarts`);
      return refresh();
    },
  });
  const remove = useMutation({
    mutationFn: () => call('hosts.delete', { params: { id: host.id } }),
    onSuccess: async () => {
      setConfirming(null);
      notify(`${host.node_name} was deleted`);
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
          Return to service
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
            Drain
          </Button>
        )
      )}
      {!compact && host.status !== 'offline' && (
        <Button onClick={() => setConfirming('restart')}>Restart</Button>
      )}
      {host.status === 'offline' && (
        <Button
          size={size}
          variant={compact ? 'subtle' : 'default'}
          color="danger"
          onClick={() => setConfirming('delete')}
        >
          Delete
        </Button>
      )}
      <ConfirmDialog
        opened={confirming === 'drain'}
        title={`Drain ${host.node_name}?`}
        action={
          force && live > 0
            ? `End ${countLabel(live, 'session')} and drain ${host.node_name}`
            : `Drain ${host.node_name}`
        }
        pending={drain.isPending}
        error={drain.error}
        onConfirm={() => drain.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>
          It takes no new sessions until you return it to service.
          {live > 0 ? ` ${countLabel(live, 'session')} on it may finish.` : ' Nothing runs on it now.'}
        </p>
        {live > 0 && (
          <Checkbox
            label={`End ${countLabel(live, 'session')} now; what the apps have not saved is lost`}
            checked={force}
            onChange={(event) => setForce(event.currentTarget.checked)}
          />
        )}
      </ConfirmDialog>
      <ConfirmDialog
        opened={confirming === 'restart'}
        title={`Restart the agent of ${host.node_name}?`}
        action={
          live > 0
            ? `End ${countLabel(live, 'session')} and restart ${host.node_name}`
            : `Restart ${host.node_name}`
        }
        pending={restart.isPending}
        error={restart.error}
        onConfirm={() => restart.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>
          Its agent ends and is started again; the machine itself stays up.
          {live > 0 ? ' Its sessions end:' : ' Nothing runs on it now.'}
        </p>
        {live > 0 && <EndedSessions sessions={sessions} count={live} />}
      </ConfirmDialog>
      <ConfirmDialog
        opened={confirming === 'delete'}
        title={`Delete ${host.node_name}?`}
        action={`Delete ${host.node_name}`}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => setConfirming(null)}
      >
        <p>To add it again later, enroll its agent again.</p>
        <DeletionEffects id={host.id} />
      </ConfirmDialog>
    </>
  );
}
