import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { Problem } from '../../components/problem.tsx';
import { t } from '../../i18n/translate.ts';
import { adminKeys } from '../frame/admin-query-keys.ts';
import styles from './diagnosis.module.css';
import { timeLabel } from './time-labels.ts';

/**
 * Adds a note to a moment of a session. The note becomes one of the session's events.
 * @param props.atMs the moment, which the cursor shows
 */
export function Annotate({ sessionId, atMs }: { sessionId: string; atMs: number }) {
  const [label, setLabel] = useState('');
  const queryClient = useQueryClient();
  const add = useMutation({
    mutationFn: (text: string) =>
      call('admin.sessions.annotate', {
        params: { id: sessionId },
        body: { ts_unix_ms: Math.round(atMs), label: text },
      }),
    onSuccess: () => {
      setLabel('');
      return queryClient.invalidateQueries({ queryKey: adminKeys.sessionDiagnoses(sessionId) });
    },
  });
  const text = label.trim();
  return (
    <>
      <form
        className={styles.annotate}
        onSubmit={(event) => {
          event.preventDefault();
          if (text !== '') add.mutate(text);
        }}
      >
        <TextInput
          label={t('Note at {time}', { time: timeLabel(atMs) })}
          placeholder={t('What you saw or were told')}
          value={label}
          maxLength={500}
          onChange={(event) => setLabel(event.currentTarget.value)}
        />
        <Button type="submit" disabled={text === ''} loading={add.isPending}>
          {t('Add note')}
        </Button>
      </form>
      {add.isError && <Problem error={add.error} />}
    </>
  );
}
