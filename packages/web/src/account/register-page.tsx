import { Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { errorText } from '../api/error-text.ts';
import { focusFirstError } from '../components/first-error.ts';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { rich, t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { AuthCard } from './auth-card.tsx';
import { passwordRefusal } from './field-rules.ts';
import { type NewAccount, NewAccountFields, newAccountRules } from './new-account-fields.tsx';
import { registrationMode } from './registration-mode.ts';

/** Makes an account and signs it in. */
export function RegisterPage({ invite }: { invite: string | undefined }) {
  usePageTitle(t('Register'));
  const [mode] = useState(registrationMode);
  const register = useMutation({
    mutationFn: async ({ invite_code, ...account }: NewAccount & { invite_code: string }) => {
      await call('auth.register', {
        body: { ...account, ...(invite_code.trim() === '' ? {} : { invite_code: invite_code.trim() }) },
      });
      return call('auth.login', {
        body: { email: account.email, password: account.password, device_key: deviceKey() },
      });
    },
    onSuccess: (answer) => {
      saveLogin(answer);
      window.location.assign('/app');
    },
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email: '', username: '', password: '', invite_code: invite ?? '' },
    validate: {
      ...newAccountRules,
      invite_code: (code) =>
        mode === 'invite_only' && code.trim() === '' ? t('Enter the invite code you were given') : null,
    },
  });
  const code = register.error instanceof ApiFailure ? register.error.code : null;
  const inviteField = useRef<HTMLInputElement>(null);
  // The answer of each attempt is a new error, also with the same code.
  const { error } = register;
  useEffect(() => {
    if (error instanceof ApiFailure && error.code === 'invalid_invite') inviteField.current?.focus();
  }, [error]);
  if (mode === 'closed' || code === 'registration_closed') {
    return (
      <AuthCard
        title={t('Registration is closed here')}
        lead={t('Ask the person who runs this instance for an account.')}
      >
        <Button variant="filled" size="md" component="a" href="/login">
          {t('Go to the login')}
        </Button>
      </AuthCard>
    );
  }
  const taken = code === 'conflict';
  const refusedInvite = code === 'invalid_invite' ? errorText(register.error) : null;
  return (
    <AuthCard
      title={t('Make an account')}
      lead={t('The account is only for this server, and its data stays there.')}
      foot={rich('Already have an account? {login}', {
        login: (
          <a key="login" href="/login">
            {t('Log in')}
          </a>
        ),
      })}
    >
      <form
        className={styles.form}
        onSubmit={form.onSubmit((values) => register.mutate(values), focusFirstError)}
        noValidate
      >
        {register.isError &&
          passwordRefusal(register.error) === null &&
          refusedInvite === null &&
          (taken ? (
            <Problem error={new ApiFailure(409, 'conflict', t('This email address or name is taken.'))} />
          ) : (
            <Problem error={register.error} />
          ))}
        <NewAccountFields form={form} refused={register.error} />
        <TextInput
          ref={inviteField}
          label={t('Invite code')}
          description={
            mode === 'invite_only'
              ? t('Only invited people can register here.')
              : t('Needed only if this instance asks for one.')
          }
          autoComplete="off"
          key={form.key('invite_code')}
          {...form.getInputProps('invite_code')}
          {...(refusedInvite && { error: `${refusedInvite.title}. ${refusedInvite.advice}` })}
        />
        <Button type="submit" variant="filled" size="md" loading={register.isPending || register.isSuccess}>
          {t('Register')}
        </Button>
      </form>
    </AuthCard>
  );
}
