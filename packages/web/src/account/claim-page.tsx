import { Button, PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { deviceKey, saveLogin } from '../api/auth-store.ts';
import { ApiFailure, call } from '../api/client.ts';
import { CopyLine } from '../components/copy-line.tsx';
import { focusFirstError } from '../components/first-error.ts';
import { Problem } from '../components/problem.tsx';
import { usePageTitle } from '../components/use-page-title.ts';
import { t } from '../i18n/translate.ts';
import styles from './account.module.css';
import { AuthCard } from './auth-card.tsx';
import { passwordRefusal } from './field-rules.ts';
import { type NewAccount, NewAccountFields, newAccountRules } from './new-account-fields.tsx';

const isWrongToken = (error: unknown): boolean =>
  error instanceof ApiFailure && error.code === 'unauthorized';

/** Claims a new instance: checks the setup token and creates the first administrator. */
export function ClaimPage() {
  usePageTitle(t('Set up'));
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
    onError: (error) => {
      if (!isWrongToken(error)) return;
      form.setFieldError(
        'setupToken',
        t('This token is wrong. Every start of the server makes a new one, so read the token again.'),
      );
      form.getInputNode('setupToken')?.focus();
    },
  });
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { setupToken: '', email: '', username: '', password: '' },
    validate: {
      ...newAccountRules,
      setupToken: (value) =>
        /^[0-9a-f]{64}$/i.test(value.trim()) ? null : t('The token is 64 letters and digits long'),
    },
  });
  const isClaimed = claim.error instanceof ApiFailure && claim.error.code === 'setup_already_complete';
  return (
    <AuthCard
      title={t('Make this instance yours')}
      lead={t(
        'Nobody has claimed it yet. The first account becomes its administrator. To create it, you need a token that only people with access to the server can read.',
      )}
    >
      <form
        className={styles.form}
        onSubmit={form.onSubmit((values) => claim.mutate(values), focusFirstError)}
        noValidate
      >
        {claim.isError && !isWrongToken(claim.error) && passwordRefusal(claim.error) === null && (
          <Problem
            error={claim.error}
            action={
              isClaimed && (
                <Button size="xs" component="a" href="/login">
                  {t('Log in')}
                </Button>
              )
            }
          />
        )}
        <PasswordInput
          label={t('Setup token')}
          description={t(
            'On the machine of the server: ./scripts/up prints the command that shows the token. For an installed service, run sudo cat /run/service/setup-token. Every start makes a new token.',
          )}
          autoComplete="off"
          autoFocus
          key={form.key('setupToken')}
          {...form.getInputProps('setupToken')}
        />
        <NewAccountFields form={form} refused={claim.error} first={false} />
        <Button type="submit" variant="filled" size="md" loading={claim.isPending || claim.isSuccess}>
          {t('Claim this instance')}
        </Button>
      </form>
      <details className={styles.restore}>
        <summary>{t('I have a backup of an instance')}</summary>
        <p>
          {t(
            'Restore it instead of making an account: accounts, apps and settings come back with it. Stop the server, run one of these commands, and start it again. Pictures of apps and the certificate are separate files, which a backup does not contain.',
          )}
        </p>
        <p>{t('With the Debian package:')}</p>
        <CopyLine value="sudo footlight restore FILE" label={t('command that restores a backup')} />
        <p>{t('In the folder of the checkout:')}</p>
        <CopyLine value="./scripts/restore FILE" label={t('command that restores a backup')} />
      </details>
    </AuthCard>
  );
}
