import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { errorText } from '../../api/error-text.ts';
import { keys } from '../../api/query-keys.ts';
import { Dialog } from '../../components/dialog.tsx';
import { plural, t } from '../../i18n/translate.ts';
import { useApps } from '../../library/use-library.ts';
import styles from '../session.module.css';

/** Largest number of listed apps. To find other apps, the person types a part of the name. */
const SHOWN = 12;

interface Props {
  sessionId: string;
  appId: string;
  hasGuests: boolean;
  onClose: () => void;
}

/** Swaps the app of a running session. The old picture stays until the new app has drawn. */
export default function SwapDialog(props: Props) {
  return (
    <Dialog opened onClose={props.onClose} title={t('Change the app')}>
      <Choice {...props} />
    </Dialog>
  );
}

function Choice(props: Props) {
  const queryClient = useQueryClient();
  const { query, apps } = useApps();
  const [text, setText] = useState('');
  const swap = useMutation({
    mutationFn: (appId: string) =>
      call('sessions.swap', { params: { id: props.sessionId }, body: { app_id: appId } }),
    onSuccess: (answer) => {
      queryClient.setQueryData(keys.session(props.sessionId), answer);
      props.onClose();
    },
  });
  const label = text.trim().toLowerCase();
  const others = apps.filter(({ id, name }) => id !== props.appId && name.toLowerCase().includes(label));
  const problem = swap.error ? errorText(swap.error) : null;
  return (
    <>
      <p>{t('This closes the app that runs now. Anything that it has not saved is lost.')}</p>
      {props.hasGuests && <p>{t('Your guests stay and see the new app.')}</p>}
      <TextInput
        label={t('Find an app')}
        mt={16}
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={styles.cardActions} style={{ marginTop: 16 }}>
        {others.slice(0, SHOWN).map((app) => (
          <Button
            key={app.id}
            loading={swap.isPending && swap.variables === app.id}
            onClick={() => swap.mutate(app.id)}
          >
            {app.name}
          </Button>
        ))}
      </div>
      {query.isSuccess && others.length === 0 && (
        <p role="status">{t('There is no other app of that name.')}</p>
      )}
      {others.length > SHOWN && (
        <p style={{ marginTop: 12 }}>
          {plural(
            others.length - SHOWN,
            '{n} more; type a part of the name.',
            '{n} more; type a part of the name.',
          )}
        </p>
      )}
      {problem !== null && (
        <p role="alert">
          {problem.title}. {problem.advice}
        </p>
      )}
    </>
  );
}
