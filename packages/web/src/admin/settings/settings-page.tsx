import type { Body, InstanceSettings } from '@footlight/protocol/rest';
import { Button, NativeSelect, Switch, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/client.ts';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { usePageTitle } from '../../components/use-page-title.ts';
import { msg, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { PageHead } from '../frame/page-head.tsx';
import { accessSentence } from '../setup/access-findings.ts';
import { originProblem } from './origin-problem.ts';
import { Secrets } from './secrets.tsx';
import { UpkeepFields, upkeepBody, upkeepRules, upkeepValues } from './upkeep-fields.tsx';

const REGISTRATION = [
  { value: 'closed', label: msg('Nobody: accounts exist already') },
  { value: 'invite_only', label: msg('People with an invite') },
  { value: 'open', label: msg('Everybody who reaches this page') },
];

/** Settings of the whole instance. */
export function SettingsPage() {
  usePageTitle(t('Settings'));
  const query = useQuery({
    queryKey: adminKeys.settings,
    queryFn: ({ signal }) => call('settings.read', { signal }),
  });
  const settings = query.data?.settings;
  return (
    <>
      <PageHead title={t('Settings')} lead={t('Every change takes effect at once, without a restart.')} />
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {settings === undefined && !query.isError && <Skeleton height={360} radius={14} />}
      {settings !== undefined && <Form key={settings.updated_at} settings={settings} />}
      {/* Below the form, which would push them down. */}
      {!query.isPending && <Secrets />}
    </>
  );
}

/** Only fields with another value are sent, because the activity log lists each field that was sent. */
const changesOf = (settings: InstanceSettings, body: Body<'settings.update'>): Body<'settings.update'> =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(settings[key as keyof InstanceSettings]),
    ),
  );

function Form({ settings }: { settings: InstanceSettings }) {
  const queryClient = useQueryClient();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: {
      registration_mode: settings.registration_mode as string,
      mic_capture_enabled: settings.mic_capture_enabled,
      guest_sharing_enabled: settings.guest_sharing_enabled,
      flight_recorder_enabled: settings.flight_recorder_enabled,
      origins: settings.allowed_origins.join('\n'),
      ...upkeepValues(settings),
    },
    validate: { ...upkeepRules, origins: (text) => originProblem(text.split('\n')) },
  });
  const access = useQuery({
    queryKey: adminKeys.accessCheck,
    queryFn: ({ signal }) => call('access.check', { signal }),
  });
  const save = useMutation({
    mutationFn: (values: ReturnType<typeof form.getValues>) =>
      call('settings.update', {
        body: changesOf(settings, {
          registration_mode: values.registration_mode as InstanceSettings['registration_mode'],
          mic_capture_enabled: values.mic_capture_enabled,
          guest_sharing_enabled: values.guest_sharing_enabled,
          flight_recorder_enabled: values.flight_recorder_enabled,
          allowed_origins: values.origins === '' ? [] : values.origins.split('\n'),
          ...upkeepBody(values),
        }),
      }),
    onMutate: () => notifications.clean(),
    onSuccess: (answer) => {
      queryClient.setQueryData(adminKeys.settings, answer);
      notifications.show({ message: t('The settings were saved'), autoClose: 4000 });
      return Promise.all(
        [adminKeys.accessCheck, adminKeys.libraryStatus].map((queryKey) =>
          queryClient.invalidateQueries({ queryKey }),
        ),
      );
    },
  });
  const refusal = useRefusal(form, save.error, { allowed_origins: 'origins' });
  const pinned = access.data?.origins.source === 'environment';
  const suggested = access.data?.origins.suggested_entry;
  return (
    <form
      className={styles.form}
      onSubmit={form.onSubmit((values) => save.mutate(values), focusFirstError)}
      noValidate
    >
      <fieldset className={styles.fieldset}>
        <legend>{t('Users')}</legend>
        <NativeSelect
          label={t('Who may register')}
          data={REGISTRATION.map(({ value, label }) => ({ value, label: t(label) }))}
          key={form.key('registration_mode')}
          {...form.getInputProps('registration_mode')}
        />
        <p className={styles.dim}>
          {rich('Invites are made under {link}.', {
            link: (
              <Link key="link" to="/admin/invites">
                {t('Users, Invite people')}
              </Link>
            ),
          })}
        </p>
      </fieldset>
      <fieldset className={styles.fieldset}>
        <legend>{t('Sessions')}</legend>
        <Switch
          label={t('Apps may hear the microphone of the person who uses them, when that person turns it on')}
          key={form.key('mic_capture_enabled')}
          {...form.getInputProps('mic_capture_enabled', { type: 'checkbox' })}
        />
        <Switch
          label={t('People may share their running apps with guests')}
          description={t(
            'A guest needs no account, only a link, and watches or controls one app for at most a day. When you switch this off, all guests are disconnected, and their links end.',
          )}
          key={form.key('guest_sharing_enabled')}
          {...form.getInputProps('guest_sharing_enabled', { type: 'checkbox' })}
        />
        <Switch
          label={t('Record the last minute of new sessions')}
          description={t(
            'Hosts keep the last 60 seconds of picture and sound in memory. Administrators can save them for a day, and hosts save them automatically when a session fails, when an administrator writes a note, or when the picture was bad. People see a mark as long as their session is recorded.',
          )}
          key={form.key('flight_recorder_enabled')}
          {...form.getInputProps('flight_recorder_enabled', { type: 'checkbox' })}
        />
      </fieldset>
      <UpkeepFields form={form} />
      <fieldset className={styles.fieldset}>
        <legend>{t('Other addresses of this service')}</legend>
        <Textarea
          label={t('Allowed origins')}
          description={t(
            'One per line, such as https://play.example. The address of this page needs no entry, except behind a proxy that changes the Host header.',
          )}
          rows={3}
          classNames={{ input: styles.mono ?? '' }}
          key={form.key('origins')}
          {...form.getInputProps('origins')}
        />
        {pinned && (
          <p className={styles.note}>
            {t(
              "{variable} of the server's environment replaces this list: {list}. The list that is stored here applies after this variable is removed.",
              {
                variable: 'SERVICE_ALLOWED_ORIGINS',
                list: access.data?.origins.allowed.join(', ') || t('no other origin'),
              },
            )}
          </p>
        )}
        {access.data?.request.advice !== undefined && (
          <p className={styles.note}>{accessSentence(access.data.request.advice)}</p>
        )}
        {suggested !== undefined && (
          <p className={styles.note}>
            {rich(
              'This page was opened as {address}, which is not allowed yet. Sessions cannot be opened from here until it is.',
              {
                address: (
                  <span key="address" className={styles.mono}>
                    {suggested}
                  </span>
                ),
              },
            )}
          </p>
        )}
      </fieldset>
      {refusal != null && <Problem error={refusal} />}
      <div className={styles.filters}>
        <Button type="submit" variant="filled" loading={save.isPending}>
          {t('Save settings')}
        </Button>
        <span className={styles.dim}>
          {rich('Last changed {time}', { time: <RelativeTime key="time" at={settings.updated_at} /> })}
        </span>
      </div>
    </form>
  );
}
