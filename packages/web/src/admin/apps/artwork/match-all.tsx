import type { Success } from '@footlight/protocol/rest';
import { Button, Checkbox } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../api/client.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { countLabel } from '../../frame/quantity-labels.ts';

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
        Match every app again
      </Button>
      <ConfirmDialog
        opened={asking}
        title="Match the pictures of every app again?"
        action={force ? 'Replace chosen pictures too' : 'Match every app'}
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
          Each app is looked up at SteamGridDB again. This takes about two seconds for each app, and continues
          when you leave this page. Pictures from earlier searches are replaced, or removed if nothing is
          found.
        </p>
        <Checkbox
          label="Also replace pictures that an administrator has chosen"
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
    nothing > 0 ? `nothing was found for ${nothing}` : '',
    skipped_locked > 0 ? `${skipped_locked} kept the pictures that an administrator chose` : '',
    failed > 0 ? `${failed} could not be looked up` : '',
  ].filter((label) => label !== '');
  return [`${resolved} of ${countLabel(total, 'app')} got pictures`, ...rest].join(', ');
}
