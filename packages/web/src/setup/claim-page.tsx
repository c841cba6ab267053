import { Button, PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import styles from '../account/account.module.css';
import { AuthCard } from '../account/auth-card.tsx';
import { type NewAccount, NewAccountFields, newAccountRules } from '../account/new-account-fields.tsx';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';

/** Claims a new instance: checks the setup token and creates the first administrator. */
export function ClaimPage() {
  usePageTitle('Set up');
  const claim = useMutation({
    mutationFn: ({ setupToken, ...account }: NewAccount & { setupToken: string }) =>
      call('setup.claim', {
        headers: { 'X-Service-Setup-Token': setupToken.trim() },
        body: { ...account, device_key: deviceKey() },
      }),
    onSuccess: (answer) => {
      saveLogin(answer);
      window.location.assign('/admin/setup');
    },
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { setupToken: '', email: '', username: '', password: '' },
    validate: {
      ...newAccountRules,
      setupToken: (value) =>
        /^[0-9a-f]{64}$/i.test(value.trim()) ? null : 'The token is 64 letters and digits long',
    },
  });
  const code = claim.error instanceof ApiFailure ? claim.error.code : null;
  return (
    <AuthCard
      title="Make this instance yours"
      lead="Nobody has claimed it yet. The first account becomes its administrator, so it asks for a token that only people with access to its machine can read."
    >
      <form className={styles.form} onSubmit={form.onSubmit((values) => claim.mutate(values))} noValidate>
        {claim.isError && (
          <Problem
            error={
              code === 'unauthorized'
                ? new ApiFailure(
                    400,
                    'validation_failed',
                    'That is not the token of this start. Read the file again.',
                  )
                : claim.error
            }
            act={
              code === 'setup_already_complete' && (
                <Button size="xs" component="a" href="/login">
                  Log in
                </Button>
              )
            }
          />
        )}
        <PasswordInput
          label="Setup token"
          description="It is in the file that the server named when it started, such as /run/service/setup-token. Every start makes a new one."
          autoComplete="off"
          data-autofocus
          key={form.key('setupToken')}
          {...form.getInputProps('setupToken')}
        />
        <NewAccountFields form={form} />
        <Button type="submit" variant="filled" size="md" loading={claim.isPending || claim.isSuccess}>
          Claim this instance
        </Button>
      </form>
    </AuthCard>
  );
}
