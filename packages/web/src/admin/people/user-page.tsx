import type { AdminUser } from '@footlight/protocol/rest';
import { Button, Checkbox, NativeSelect, NumberInput, Switch } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { readUser } from '../../api/auth-store.ts';
import { call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, plural, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule } from '../frame/bound-rules.ts';
import { DeletionEffects } from '../frame/deletion/deletion-effects.tsx';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { PageHead, Section } from '../frame/page-head.tsx';
import { AbsentRecord, DeleteRecord } from '../frame/record-page.tsx';
import { PersonalApps } from './personal-apps.tsx';
import { ResetLink } from './reset-link.tsx';
import { readAccount } from './user-lookup.ts';
import { UserChip } from './users-page.tsx';

const back = () => ({ to: '/admin/users', label: t('Users') }) as const;
const ROLES = [
  { value: 'user', label: msg('User') },
  { value: 'admin', label: msg('Administrator') },
];
export const rightsRules = {
  max_concurrent_sessions: numberRule(bodyBounds['users.update'].max_concurrent_sessions),
};

/** One account: rights, the apps of this account, deletion. */
export function UserPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: adminKeys.user(id),
    queryFn: ({ signal }) => readAccount(id, signal),
  });
  const user = query.data;
  usePageTitle(user?.username ?? t('User'));
  if (query.isError || user === undefined) {
    return <AbsentRecord label={t('User')} back={back()} query={query} />;
  }
  return <LoadedUser key={user.id} user={user} />;
}

function LoadedUser({ user }: { user: AdminUser }) {
  const own = readUser()?.id === user.id;
  return (
    <>
      <PageHead
        title={user.username}
        lead={user.email}
        back={back()}
        actions={own ? undefined : <DeleteUser user={user} />}
      />
      <div className={styles.sheet}>
        <dl className={styles.facts}>
          <dt>{t('State')}</dt>
          <dd>
            <UserChip user={user} />
          </dd>
          <dt>{t('Logs in with')}</dt>
          <dd>{loginLabel(user)}</dd>
          <dt>{t('Running now')}</dt>
          <dd>{plural(user.active_session_count, '{n} session', '{n} sessions')}</dd>
          <dt>{t('Last seen')}</dt>
          <dd>
            <RelativeTime at={user.last_seen_at} />
          </dd>
          <dt>{t('Joined')}</dt>
          <dd>
            <RelativeTime at={user.created_at} />
          </dd>
          <dt>{t('Look at')}</dt>
          <dd>
            <Link to="/admin/activity" search={{ who: user.id }}>
              {t('what they did')}
            </Link>
            ,{' '}
            <Link to="/admin/homes" search={{ user: user.id }}>
              {t('their files')}
            </Link>
          </dd>
          <dt>{t('Id')}</dt>
          <dd className={styles.mono}>{user.id}</dd>
        </dl>
      </div>
      <Section title={t('What the account may do')}>
        <Rights user={user} own={own} />
      </Section>
      {!own && (
        <Section title={t('Password')}>
          <ResetLink user={user} />
        </Section>
      )}
      <Section title={t('Apps given to this account')}>
        <PersonalApps user={user} />
      </Section>
    </>
  );
}

function loginLabel(user: AdminUser): string {
  // A replica of the release before does not send the methods.
  const methods = user.sign_in_methods ?? ['password'];
  const hasPassword = methods.includes('password');
  if (!methods.includes('oidc')) return hasPassword ? t('a password') : t('no password');
  return hasPassword ? t('single sign-on or a password') : t('single sign-on');
}

interface RightsValues {
  role: string;
  enabled: boolean;
  max_concurrent_sessions: number | string;
}

function Rights({ user, own }: { user: AdminUser; own: boolean }) {
  const queryClient = useQueryClient();
  /** Values to save after the person confirms that the account is disabled; null: the dialog is closed. */
  const [confirming, setConfirming] = useState<RightsValues | null>(null);
  const form = useForm<RightsValues>({
    mode: 'uncontrolled',
    initialValues: {
      role: user.role,
      enabled: !user.disabled,
      max_concurrent_sessions: user.max_concurrent_sessions,
    },
    validate: rightsRules,
  });
  const save = useMutation({
    mutationFn: ({ values, endSessions }: { values: RightsValues; endSessions: boolean }) => {
      const wanted = {
        role: values.role as AdminUser['role'],
        disabled: !values.enabled,
        max_concurrent_sessions: Number(values.max_concurrent_sessions),
      };
      // Sends only changed fields, because the server logs each sent field.
      const changes = Object.fromEntries(
        Object.entries(wanted).filter(([key, value]) => user[key as keyof typeof wanted] !== value),
      );
      return call('users.update', {
        params: { id: user.id },
        body: endSessions ? { ...changes, end_sessions: true } : changes,
      });
    },
    onSuccess: (answer) => {
      setConfirming(null);
      queryClient.setQueryData(adminKeys.user(user.id), answer.user);
      notifications.show({ message: t('{name} was saved', { name: answer.user.username }), autoClose: 4000 });
      return queryClient.invalidateQueries({ queryKey: adminKeys.users });
    },
  });
  const refusal = useRefusal(form, confirming === null ? save.error : null, { disabled: 'enabled' });
  const submit = (values: RightsValues) => {
    if (!values.enabled && !user.disabled) setConfirming(values);
    else save.mutate({ values, endSessions: false });
  };
  return (
    <form className={styles.form} onSubmit={form.onSubmit(submit, focusFirstError)} noValidate>
      <DisableUser
        user={user}
        opened={confirming !== null}
        pending={save.isPending}
        error={save.error}
        onConfirm={(endSessions) => confirming !== null && save.mutate({ values: confirming, endSessions })}
        onClose={() => {
          setConfirming(null);
          save.reset();
        }}
      />
      <div className={styles.pair}>
        <NativeSelect
          label={t('Role')}
          description={own ? t('This is your own account.') : t('Takes effect with their next click.')}
          data={ROLES.map((option) => ({ ...option, label: t(option.label) }))}
          key={form.key('role')}
          {...form.getInputProps('role')}
        />
        <NumberInput
          label={t('Sessions at once')}
          description={t('With 0, this person cannot launch anything.')}
          min={0}
          allowDecimal={false}
          key={form.key('max_concurrent_sessions')}
          {...form.getInputProps('max_concurrent_sessions')}
        />
      </div>
      <Switch
        label={t('Enabled: may log in')}
        key={form.key('enabled')}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
      />
      {refusal !== null && confirming === null && <Problem error={refusal} />}
      <div>
        <Button type="submit" variant="filled" loading={save.isPending}>
          {t('Save changes')}
        </Button>
      </div>
    </form>
  );
}

/** Asks for confirmation before an account is disabled, and whether its sessions should end too. */
export function DisableUser(props: {
  user: AdminUser;
  opened: boolean;
  pending: boolean;
  error: unknown;
  onConfirm: (endSessions: boolean) => void;
  onClose: () => void;
}) {
  const { user } = props;
  const count = user.active_session_count;
  const [endSessions, setEndSessions] = useState(false);
  return (
    <ConfirmDialog
      opened={props.opened}
      title={t('Disable {name}?', { name: user.username })}
      action={
        endSessions && count > 0
          ? plural(count, 'Disable and end {n} session', 'Disable and end {n} sessions')
          : t('Disable the account')
      }
      pending={props.pending}
      error={props.error}
      onConfirm={() => props.onConfirm(endSessions && count > 0)}
      onClose={props.onClose}
    >
      <p>{t('They are logged out everywhere and cannot log in until the account is enabled again.')}</p>
      {count > 0 && (
        <Checkbox
          label={
            count === 1
              ? t('End the session that runs now')
              : plural(count, 'End the {n} session that runs now', 'End the {n} sessions that run now')
          }
          description={t('If not ticked, running sessions continue until they are stopped.')}
          checked={endSessions}
          onChange={(event) => setEndSessions(event.currentTarget.checked)}
        />
      )}
    </ConfirmDialog>
  );
}

function DeleteUser({ user }: { user: AdminUser }) {
  return (
    <DeleteRecord
      name={user.username}
      back={back()}
      remove={() => call('users.delete', { params: { id: user.id } })}
      stale={[adminKeys.users]}
    >
      <p>{t('What they did stays in the activity.')}</p>
      <DeletionEffects id={user.id} />
      {user.active_session_count > 0 && (
        <p>
          {plural(
            user.active_session_count,
            '{n} session of theirs must have ended first.',
            '{n} sessions of theirs must have ended first.',
          )}
        </p>
      )}
    </DeleteRecord>
  );
}
