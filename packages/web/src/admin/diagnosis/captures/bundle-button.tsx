import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { send } from '../../../api/client.ts';
import { errorText } from '../../../api/error-text.ts';
import { t } from '../../../i18n/translate.ts';
import { fileNameOf, saveFile } from '../save-file.ts';

/** Saves all data of a session in a time window as one file. @param props.window undefined while loading */
export function BundleButton(props: {
  sessionId: string;
  window: { from_ms: number; to_ms: number } | undefined;
}) {
  const { sessionId, window } = props;
  const save = useMutation({
    mutationFn: async () => {
      const response = await send('admin.sessions.diagnosticBundle', {
        params: { id: sessionId },
        query: { from: window?.from_ms, to: window?.to_ms },
      });
      const name = fileNameOf(
        response.headers.get('content-disposition'),
        `session-${sessionId}-bundle.json`,
      );
      saveFile(await response.blob(), name);
    },
    onError: (error) => {
      const { title, advice } = errorText(error);
      notifications.show({ title, message: advice, color: 'danger' });
    },
  });
  return (
    <Button disabled={window === undefined} loading={save.isPending} onClick={() => save.mutate()}>
      {t('Download bundle')}
    </Button>
  );
}
