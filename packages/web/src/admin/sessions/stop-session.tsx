import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { t } from '../../i18n/translate.ts';
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
      notifications.show({ message: t('{app} is being stopped', { app }), autoClose: 4000 });
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
      title={t('Stop {app} of {user}?', { app: session?.app ?? '', user: session?.user ?? '' })}
      action={t('Stop {app}', { app: session?.app ?? '' })}
      pending={stop.isPending}
      error={stop.error}
      onConfirm={() => session !== null && stop.mutate(session)}
      onClose={() => {
        onClose();
        stop.reset();
      }}
    >
      <p>
        {t('This closes the app on {host}. Anything that it has not saved is lost.', {
          host: session?.host ?? t('its host'),
        })}
      </p>
    </ConfirmDialog>
  );
}
