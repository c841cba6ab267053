import { Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { rich, t } from '../words/words.ts';
import styles from './account.module.css';
import { AuthCard } from './auth-card.tsx';
import { type NewAccount, NewAccountFields, newAccountRules } from './new-account-fields.tsx';

/** Makes an account and signs it in. */
export function RegisterPage({ invite }: { invite: string | undefined }) {
  usePageTitle(t('Register'));
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
    validate: newAccountRules,
  });
  const taken = register.error instanceof ApiFailure && register.error.code === 'conflict';
  return (
    <AuthCard
      title={t('Make an account')}
      lead={t('For this instance only; nothing leaves it.')}
      foot={rich('Already have one? {login}', {
        login: (
          <a key="login" href="/login">
            {t('Log in')}
          </a>
        ),
      })}
    >
      <form className={styles.form} onSubmit={form.onSubmit((values) => register.mutate(values))} noValidate>
        {register.isError &&
          (taken ? (
            <Problem error={new ApiFailure(409, 'conflict', t('This email address or name is taken.'))} />
          ) : (
            <Problem error={register.error} />
          ))}
        <NewAccountFields form={form} />
        <TextInput
          label={t('Invite code')}
          description={t('Needed only if this instance asks for one.')}
          autoComplete="off"
          key={form.key('invite_code')}
          {...form.getInputProps('invite_code')}
        />
        <Button type="submit" variant="filled" size="md" loading={register.isPending || register.isSuccess}>
          {t('Register')}
        </Button>
      </form>
    </AuthCard>
  );
}
