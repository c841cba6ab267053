import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { type LinkProps, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { t } from '../../i18n/translate.ts';
import { PageHead } from './page-head.tsx';

/** Link to the list of the records. */
interface Back {
  to: NonNullable<LinkProps['to']>;
  label: string;
}

/** The page of a record that is loading or cannot be loaded. @param props.words names the kind of record */
export function AbsentRecord(props: {
  label: string;
  back: Back;
  query: { isError: boolean; error: unknown; refetch: () => unknown };
}) {
  const { label, back, query } = props;
  if (query.isError) {
    return (
      <>
        <PageHead title={label} back={back} />
        <Problem error={query.error} retry={() => void query.refetch()} />
      </>
    );
  }
  return (
    <>
      <PageHead title={<Skeleton width={200} height={31} />} back={back} />
      <Skeleton height={480} radius={14} />
    </>
  );
}

/**
 * Deletes a page's record after a confirmation, and returns to its list.
 * @param props.stale caches to invalidate
 * @param props.children what is deleted together with the record
 */
export function DeleteRecord(props: {
  name: string;
  back: Back;
  remove: () => Promise<unknown>;
  stale: readonly QueryKey[];
  children: ReactNode;
}) {
  const [confirming, setConfirming] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: props.remove,
    onSuccess: async () => {
      notifications.show({ message: t('{name} was deleted', { name: props.name }), autoClose: 4000 });
      await navigate({ to: props.back.to });
      await Promise.all(props.stale.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
    },
  });
  return (
    <>
      <Button color="danger" onClick={() => setConfirming(true)}>
        {t('Delete')}
      </Button>
      <ConfirmDialog
        opened={confirming}
        title={t('Delete {name}?', { name: props.name })}
        action={t('Delete {name}', { name: props.name })}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={() => {
          setConfirming(false);
          remove.reset();
        }}
      >
        {props.children}
      </ConfirmDialog>
    </>
  );
}
