import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { adminKeys } from '../frame/admin-query-keys.ts';

/** A session to stop, with its names as the page shows them. */
export interface Stoppable {
  id: string;
  app: string;
  user: string;
  host: string;
}

/** Asks for confirmation before a session is stopped. @param props.session null: the dialog is closed */
export function StopSession({ session, onClose }: { session: Stoppable | null; onClose: () => void }) {
  const queryClient = useQueryClient();
  const stop = useMutation({
    mutationFn: ({ id }: Stoppable) => call('sessions.delete', { params: { id } }),
    onSuccess: (_answer, { id, app }) => {
      onClose();
      notifications.show({ message: `${app} is being stopped`, autoClose: 4000 });
      return Promise.all(
        [adminKeys.adminSessions, keys.session(id)].map((queryKey) =>
          queryClient.invalidateQueries({ queryKey }),
        ),
      );
    },
  });
  return (
    <ConfirmDialog
      opened={session !== null}
      title={`Stop ${session?.app ?? ''} of ${session?.user ?? ''}?`}
      action="Stop 1 session"
      pending={stop.isPending}
      error={stop.error}
      onConfirm={() => session !== null && stop.mutate(session)}
      onClose={() => {
        onClose();
        stop.reset();
      }}
    >
      <p>The app is closed on {session?.host ?? 'its host'}. What it has not saved is lost.</p>
    </ConfirmDialog>
  );
}
