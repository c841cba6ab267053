import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { deviceKey, readToken, readUser, saveLogin, saveUser, wasRefused } from '../api/auth-store.ts';
import { call } from '../api/client.ts';
import { safeNext } from '../api/next-path.ts';
import { keys } from '../api/query-keys.ts';
import { focusFirstError } from '../components/first-error.ts';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { rich, t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { AuthCard } from './auth-card.tsx';
import { registrationMode } from './registration-mode.ts';
import { signOut } from './sign-out.ts';
import { SingleSignOn } from './single-sign-on.tsx';

/** Signs a person in and returns to the requested page. */
export function LoginPage({ next }: { next: string | undefined }) {
  usePageTitle(t('Log in'));
  const target = safeNext(next);
  const wantsAdmin = /^\/admin(\/|\?|$)/.test(target);
  // The token is read only once. A login on this page already navigates, and a second navigation would cancel the
  // first.
  const [remembered] = useState(() => readToken() !== null);
  const [registers] = useState(() => registrationMode() !== 'closed');

  // If a token is stored, this request also renews the cookie for the administrators' documents.
  const me = useQuery({
    queryKey: keys.me,
    queryFn: ({ signal }) => call('me.read', { signal }),
    enabled: remembered,
    retry: false,
  });
  const claim = useQuery({
    queryKey: keys.setup,
    queryFn: ({ signal }) => call('setup.status', { signal }),
    enabled: !remembered,
  });
  const login = useMutation({
    mutationFn: (body: { email: string; password: string }) =>
      call('auth.login', { body: { ...body, device_key: deviceKey() } }),
    onSuccess: (answer) => {
      saveLogin(answer);
      if (!wantsAdmin || answer.user.role === 'admin') window.location.assign(target);
    },
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email: '', password: '' },
    validate: {
      email: (value) => (value.trim() === '' ? t('Enter your email address') : null),
      password: (value) => (value === '' ? t('Enter your password') : null),
    },
  });

  const role = me.data?.user.role ?? login.data?.user.role;
  const wrongRole = wantsAdmin && role === 'user';
  useEffect(() => {
    if (me.data === undefined) return;
    // Stores the new role. Without this, the administrators' pages would redirect a new administrator back to this
    // page.
    saveUser(me.data.user);
    if (!wantsAdmin || me.data.user.role === 'admin') window.location.replace(target);
  }, [me.data, target, wantsAdmin]);
  useEffect(() => {
    if (claim.data?.admin_exists === false) window.location.replace('/setup');
  }, [claim.data]);

  if (wrongRole) {
    return (
      <AuthCard
        title={t('This part is for administrators')}
        lead={t('You are logged in as {name}, who is no administrator here.', {
          name: readUser()?.username ?? t('a user'),
        })}
      >
        <div className={styles.form}>
          <Button variant="filled" component="a" href="/app">
            {t('Go to your library')}
          </Button>
          <Button onClick={() => void signOut()}>{t('Log in as somebody else')}</Button>
        </div>
      </AuthCard>
    );
  }

  return (
    <AuthCard
      title={t('Log in')}
      lead={
        // If the server refuses the stored token only now, this page is rendered again.
        wasRefused()
          ? t(
              'You were logged out: somebody ended the login of this browser, the password was changed, or the login has expired.',
            )
          : t('Your apps are one step away.')
      }
      foot={
        registers &&
        rich('No account yet? {register}', {
          register: (
            <a key="register" href="/register">
              {t('Register')}
            </a>
          ),
        })
      }
    >
      <form
        className={styles.form}
        onSubmit={form.onSubmit((values) => login.mutate(values), focusFirstError)}
        noValidate
      >
        {login.isError && <Problem error={login.error} />}
        <TextInput
          label={t('Email')}
          type="email"
          autoComplete="username"
          inputMode="email"
          autoFocus
          key={form.key('email')}
          {...form.getInputProps('email')}
        />
        <PasswordInput
          label={t('Password')}
          autoComplete="current-password"
          key={form.key('password')}
          {...form.getInputProps('password')}
        />
        <Button
          type="submit"
          variant="filled"
          size="md"
          loading={login.isPending || login.isSuccess || (remembered && me.isPending)}
        >
          {t('Log in')}
        </Button>
        <p className={styles.dim}>
          {t('Forgot your password? An administrator can give you a link to set a new one.')}
        </p>
        <SingleSignOn target={target} />
      </form>
    </AuthCard>
  );
}
