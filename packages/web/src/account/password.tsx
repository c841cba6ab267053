import type { User } from '@footlight/protocol/rest';
import { Button, PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { focusFirstError } from '../components/first-error.ts';
import { Problem } from '../components/problem.tsx';
import { t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { passwordHint, passwordProblem } from './field-rules.ts';
import { providerName } from './provider-name.ts';

/** Shown to a person who logs in only with the identity provider. */
export function NoPassword() {
  return (
    <p className={styles.dim}>
      {t('You log in with {name} and have no password. An administrator can give you a link to set one.', {
        name: providerName() ?? t('single sign-on'),
      })}
    </p>
  );
}

/**
 * Changes the password. The server then signs the account out everywhere, also on this page, so the page signs in again
 * with the new password.
 */
export function ChangePassword({ owner }: { owner: User | undefined }) {
  const [open, setOpen] = useState(false);
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { current: '', next: '' },
    validate: {
      current: (value) => (value === '' ? t('Enter the password you have now') : null),
      next: (value) => passwordProblem(value, owner ?? { username: '', email: '' }),
    },
  });
  const change = useMutation({
    mutationFn: async ({ current, next, email }: { current: string; next: string; email: string }) => {
      await call('me.password', { body: { current_password: current, new_password: next } });
      return call('auth.login', { body: { email, password: next, device_key: deviceKey() } });
    },
    onSuccess: (answer) => {
      saveLogin(answer);
      form.reset();
      setOpen(false);
    },
  });
  const wrong = change.error instanceof ApiFailure && change.error.code === 'invalid_credentials';
  if (!open) {
    return (
      <div className={styles.line}>
        <p className={styles.dim} role="status">
          {change.isSuccess
            ? t('Your password was changed. Every other device has to log in again.')
            : t('Changing it logs you out on every other device.')}
        </p>
        <Button disabled={owner === undefined} onClick={() => setOpen(true)}>
          {t('Change password')}
        </Button>
      </div>
    );
  }
  return (
    <form
      className={`${styles.form} ${styles.sheet}`}
      onSubmit={form.onSubmit((values) => {
        if (owner !== undefined) change.mutate({ ...values, email: owner.email });
      }, focusFirstError)}
      noValidate
    >
      {change.isError && !wrong && <Problem error={change.error} />}
      {/* Password managers need the account's name. */}
      <input type="hidden" autoComplete="username" value={owner?.email ?? ''} readOnly />
      <PasswordInput
        label={t('Current password')}
        autoComplete="current-password"
        autoFocus
        key={form.key('current')}
        {...form.getInputProps('current')}
        {...(wrong ? { error: t('This is not your current password') } : {})}
      />
      <PasswordInput
        label={t('New password')}
        description={passwordHint()}
        autoComplete="new-password"
        key={form.key('next')}
        {...form.getInputProps('next')}
      />
      <div className={styles.line}>
        <Button
          onClick={() => {
            setOpen(false);
            form.reset();
            change.reset();
          }}
        >
          {t('Cancel')}
        </Button>
        <Button type="submit" variant="filled" loading={change.isPending}>
          {t('Change password')}
        </Button>
      </div>
    </form>
  );
}
