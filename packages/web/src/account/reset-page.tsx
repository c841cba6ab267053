import { Button, PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { focusFirstError } from '../components/first-error.ts';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { AuthCard } from './auth-card.tsx';
import { passwordHint, passwordProblem } from './field-rules.ts';

/** Sets a new password with the link of an administrator. @param token of the link; "" when it has none */
export function ResetPage({ token: given }: { token: string }) {
  usePageTitle(t('New password'));
  const [token] = useState(given);
  // Anyone who has the link can use it. So it is removed from the address bar and from the browser's history.
  useEffect(() => window.history.replaceState(window.history.state, '', '/reset'), []);
  const reset = useMutation({
    mutationFn: (password: string) =>
      call('auth.passwordReset', { body: { token, password, device_key: deviceKey() } }),
    onSuccess: (answer) => {
      saveLogin(answer);
      window.location.assign('/app');
    },
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { password: '' },
    // The service also refuses a password that contains the account's name, which this page does not know.
    validate: { password: (password) => passwordProblem(password, { username: '', email: '' }) },
  });
  const error = reset.error instanceof ApiFailure ? reset.error : null;
  if (token === '' || error?.code === 'unauthorized') {
    return (
      <AuthCard
        title={t('This link cannot be used')}
        lead={t(
          'It was used already, or replaced, or is older than a day. Ask your administrator for another.',
        )}
      >
        <Button variant="filled" size="md" component="a" href="/login">
          {t('Go to the login')}
        </Button>
      </AuthCard>
    );
  }
  return (
    <AuthCard
      title={t('New password')}
      lead={t('It replaces the old one, and every device has to log in again.')}
    >
      <form
        className={styles.form}
        onSubmit={form.onSubmit(({ password }) => reset.mutate(password), focusFirstError)}
        noValidate
      >
        {reset.isError && error?.status !== 400 && <Problem error={reset.error} />}
        <PasswordInput
          label={t('New password')}
          description={passwordHint()}
          autoComplete="new-password"
          data-autofocus
          autoFocus
          key={form.key('password')}
          {...form.getInputProps('password')}
          {...(error?.status === 400
            ? { error: t('Too common, or it contains your name or email address. Choose another.') }
            : {})}
        />
        <Button type="submit" variant="filled" size="md" loading={reset.isPending || reset.isSuccess}>
          {t('Set the password')}
        </Button>
      </form>
    </AuthCard>
  );
}
