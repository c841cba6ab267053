import { MAX_GUEST_NAME_BYTES } from '@footlight/protocol/guests';
import type { Success } from '@footlight/protocol/rest';
import { Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import styles from '../../account/account.module.css';
import { AuthCard } from '../../account/auth-card.tsx';
import { ApiFailure, call } from '../../api/client.ts';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { t } from '../../i18n/translate.ts';
import { keepGuestName, readGuestName } from './guest-name.ts';

const GuestTheatre = lazy(async () => ({ default: (await import('./guest-theatre.tsx')).GuestTheatre }));

/**
 * The page of a guest: asks for a name, then shows the picture.
 * @param props.secret the secret of the link, which stays in the address, so that the guest can reload the page; "" when
 *   the address has none
 */
export function JoinPage({ secret }: { secret: string }) {
  usePageTitle(t('A shared app'));
  const [joined, setJoined] = useState<{ name: string; first: Success<'guests.join'> } | null>(null);
  const join = useMutation({
    mutationFn: (name: string) => call('guests.join', { body: { secret, name } }),
    onSuccess: (first, name) => {
      keepGuestName(name);
      setJoined({ name, first });
    },
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: readGuestName() },
    validate: { name: (name) => (name.trim() === '' ? t('Enter a name.') : null) },
  });
  const failure = join.error instanceof ApiFailure ? join.error : null;
  if (secret === '' || failure?.code === 'guest_link_invalid') {
    return (
      <AuthCard
        title={t('This link does not work any more')}
        lead={t('It may have expired, or the app was ended. Ask the person who sent it for another one.')}
      >
        <span />
      </AuthCard>
    );
  }
  if (joined !== null) {
    return (
      <Suspense fallback={null}>
        <GuestTheatre
          secret={secret}
          name={joined.name}
          first={joined.first}
          onLeft={() => {
            join.reset();
            setJoined(null);
          }}
        />
      </Suspense>
    );
  }
  return (
    <AuthCard
      title={t('Join a shared app')}
      lead={t('You need no account. The person who shares the app sees the name that you enter.')}
    >
      <form
        className={styles.form}
        onSubmit={form.onSubmit(({ name }) => join.mutate(name.trim()), focusFirstError)}
        noValidate
      >
        {join.isError && <Problem error={join.error} />}
        <TextInput
          label={t('Your name')}
          autoComplete="nickname"
          // Fewer than the bound in bytes, because a letter has up to four.
          maxLength={MAX_GUEST_NAME_BYTES / 2}
          autoFocus
          key={form.key('name')}
          {...form.getInputProps('name')}
        />
        <Button type="submit" variant="filled" size="md" loading={join.isPending}>
          {t('Join')}
        </Button>
      </form>
    </AuthCard>
  );
}
