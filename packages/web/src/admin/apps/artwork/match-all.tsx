import type { Success } from '@footlight/protocol/rest';
import { Button, Checkbox } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../api/client.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { plural, t } from '../../../i18n/translate.ts';

/** Repeats the automatic match of every app. */
export function MatchAll() {
  const [asking, setAsking] = useState(false);
  const [force, setForce] = useState(false);
  const queryClient = useQueryClient();
  const match = useMutation({
    mutationFn: () => call('artwork.reresolve', { body: { force } }),
    onMutate: () => notifications.clean(),
    onSuccess: (counts) => {
      setAsking(false);
      notifications.show({ message: matchedLabel(counts), autoClose: 12_000 });
      // Answers with pictures are in many caches, so all caches are invalidated.
      return queryClient.invalidateQueries();
    },
  });
  return (
    <>
      <Button
        size="sm"
        loading={match.isPending}
        onClick={() => {
          setForce(false);
          setAsking(true);
        }}
      >
        {t('Match every app again')}
      </Button>
      <ConfirmDialog
        opened={asking}
        title={t('Match the pictures of every app again?')}
        action={force ? t('Replace chosen pictures too') : t('Match every app')}
        harmless={!force}
        pending={match.isPending}
        error={match.error}
        onConfirm={() => match.mutate()}
        onClose={() => {
          setAsking(false);
          if (match.isError) match.reset();
        }}
      >
        <p>
          {t(
            'Each app is looked up at SteamGridDB again. This takes about two seconds for each app, and continues when you leave this page. Pictures from earlier searches are replaced, or removed if nothing is found.',
          )}
        </p>
        <Checkbox
          label={t('Also replace pictures that an administrator has chosen')}
          checked={force}
          onChange={(event) => setForce(event.currentTarget.checked)}
        />
      </ConfirmDialog>
    </>
  );
}

/** The result of a run as a sentence. */
export function matchedLabel(counts: Success<'artwork.reresolve'>): string {
  const { total, resolved, skipped_locked, failed } = counts;
  const nothing = total - resolved - skipped_locked - failed;
  const rest = [
    nothing > 0 ? plural(nothing, 'nothing was found for {n}', 'nothing was found for {n}') : '',
    skipped_locked > 0
      ? plural(
          skipped_locked,
          '{n} kept the pictures that an administrator chose',
          '{n} kept the pictures that an administrator chose',
        )
      : '',
    failed > 0 ? plural(failed, '{n} could not be looked up', '{n} could not be looked up') : '',
  ].filter((label) => label !== '');
  return [
    plural(total, '{resolved} of {n} app got pictures', '{resolved} of {n} apps got pictures', { resolved }),
    ...rest,
  ].join(', ');
}
