import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { t } from '../i18n/translate.ts';
import type { useEndSession } from './own-sessions.ts';

/** Asks before one of the person's own sessions ends. */
export function EndDialog(props: {
  opened: boolean;
  sessionId: string;
  /** name of the session's app */
  app: string;
  end: ReturnType<typeof useEndSession>;
  onClose: () => void;
}) {
  const { app, end } = props;
  return (
    <ConfirmDialog
      opened={props.opened}
      title={t('End {app}?', { app })}
      action={t('End {app}', { app })}
      pending={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate(props.sessionId)}
      onClose={props.onClose}
    >
      <p>{t('This closes the app. Anything that it has not saved is lost.')}</p>
    </ConfirmDialog>
  );
}
