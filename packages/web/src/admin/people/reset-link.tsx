import type { AdminUser, Success } from '@footlight/protocol/rest';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { LinkAddress } from './link-address.tsx';

/** Makes a link with which the person sets a new password. */
export function ResetLink({ user }: { user: AdminUser }) {
  const [asking, setAsking] = useState(false);
  const make = useMutation({
    mutationFn: () => call('users.passwordReset', { params: { id: user.id } }),
    onMutate: () => notifications.clean(),
    onSuccess: () => setAsking(false),
  });
  return (
    <div className={styles.stack}>
      <p className={styles.dim}>
        {user.disabled
          ? t('The account is disabled, so a link would not work. Enable it first.')
          : t('You make a link and send it; the person chooses the password. You never see it.')}
      </p>
      <div>
        <Button disabled={user.disabled} onClick={() => setAsking(true)}>
          {t('Make a link to set a new password')}
        </Button>
      </div>
      <ConfirmDialog
        opened={asking}
        title={t('A new password for {name}?', { name: user.username })}
        action={t('Make the link')}
        harmless
        pending={make.isPending}
        error={make.error}
        onConfirm={() => make.mutate()}
        onClose={() => {
          setAsking(false);
          make.reset();
        }}
      >
        <p>
          {t(
            'The link works once, for a day, and replaces an earlier one. The present password works until the link is used; then every device of {name} has to log in again. Running sessions continue.',
            { name: user.username },
          )}
        </p>
      </ConfirmDialog>
      <Dialog
        opened={make.data !== undefined}
        title={t('The link for {name}', { name: user.username })}
        onClose={() => make.reset()}
      >
        {make.data !== undefined && (
          <MadeLink link={make.data} name={user.username} onDone={() => make.reset()} />
        )}
      </Dialog>
    </div>
  );
}

function MadeLink(props: { link: Success<'users.passwordReset'>; name: string; onDone: () => void }) {
  const { link, name } = props;
  return (
    <div className={styles.stack}>
      <p>
        {rich(
          'Send it in such a way that only {name} can read it. It is shown only now, and expires {time}.',
          { name, time: <RelativeTime key="time" at={link.expires_at} /> },
        )}
      </p>
      <CopyLine value={link.url} label={t('link to set a new password')} />
      <LinkAddress source={link.address_source} url={link.url} />
      <Button variant="filled" onClick={props.onDone}>
        {t('I have it')}
      </Button>
    </div>
  );
}
