import type { AdminSession, Host, HostConsole } from '@footlight/protocol/rest';
import { Button, Input, NativeSelect, Switch } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { plural, t } from '../../i18n/translate.ts';
import { pickApps } from '../apps/app-lookup.ts';
import pageStyles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { refusedField } from '../frame/forms/refused-field.ts';
import { useRefusedFocus } from '../frame/forms/use-refusal.ts';
import { PickDialog } from '../frame/lists/pick-dialog.tsx';
import { Section } from '../frame/page-head.tsx';
import { pickUsers, readAccount } from '../people/user-lookup.ts';
import {
  type ConsoleConfig,
  type ConsoleDraft,
  consoleProblem,
  displayChoices,
  displayOf,
  realChanges,
  shownLabel,
  valueOfDisplay,
  withDraft,
} from './console-model.ts';
import styles from './fleet.module.css';

const COMPOSITORS = [
  { value: 'weston', label: 'Weston' },
  { value: 'cage', label: 'Cage' },
];

/**
 * The console of a host.
 * @param shown the session on the console; undefined: no session, or unknown
 */
export function HostConsoleSection({ host, shown }: { host: Host; shown: AdminSession | undefined }) {
  const query = useQuery({
    queryKey: adminKeys.hostConsole(host.id),
    queryFn: ({ signal }) => call('hostConsole.read', { params: { id: host.id }, signal }),
  });
  return (
    <Section title={t('Display on the host')} busy={query.isPending}>
      {query.isError && <Problem error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={96} radius={14} />}
      {shown !== undefined && <p className={pageStyles.dim}>{shownLabel(shown)}</p>}
      {query.data !== undefined && <Fields host={host} reported={query.data} />}
    </Section>
  );
}

function Fields({ host, reported }: { host: Host; reported: HostConsole }) {
  const [draft, setDraft] = useState<ConsoleDraft>({});
  const queryClient = useQueryClient();
  const changes = realChanges(reported.config, draft);
  const config = withDraft(reported.config, changes);
  const problem = consoleProblem(config);
  const count = Object.keys(changes).length;
  const save = useMutation({
    mutationFn: () => call('hostConsole.update', { params: { id: host.id }, body: changes }),
    onSuccess: (answer) => {
      setDraft({});
      queryClient.setQueryData(adminKeys.hostConsole(host.id), answer);
      notifications.show({
        message: t('The display of {host} was saved', { host: host.node_name }),
        autoClose: 4000,
      });
    },
  });
  const refused = refusedField(save.error, REFUSABLE, ALIASES);
  useRefusedFocus(refused?.field, save.error);
  const errorOf: FieldProps['errorOf'] = (field) =>
    field === 'default_user' && problem !== null ? problem : refused?.field === field ? refused.label : null;
  const put = (next: ConsoleDraft) => {
    // Removes the server's refusal, because it was about the previous values.
    if (save.isError) save.reset();
    setDraft(next);
  };
  const set = (change: ConsoleDraft) => put({ ...draft, ...change });
  return (
    <form
      className={pageStyles.sheet}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (problem !== null) focusFirstError({ default_user: problem }, null, event);
        else if (count > 0) save.mutate();
      }}
    >
      <div className={pageStyles.stack}>
        <Toggle
          name="enabled"
          label={t('Show apps on a display that is plugged into this host')}
          config={config}
          set={set}
        />
        <Disclosure
          label={t('Display, stream and automatic start')}
          wrong={problem !== null || refused !== null}
        >
          <div className={styles.settings}>
            <NativeSelect
              label={t('Display and mode')}
              data={displayChoices(reported)}
              value={valueOfDisplay(config)}
              error={errorOf('output_id')}
              data-path="output_id"
              onChange={(event) => set(displayOf(event.currentTarget.value))}
            />
            <NativeSelect
              label={t('Connector')}
              description={t('Used if no display is chosen.')}
              data={[
                { value: 'auto', label: t('Any') },
                ...others(reported.capabilities.connectors, config.connector),
              ]}
              value={config.connector}
              error={errorOf('connector')}
              data-path="connector"
              onChange={(event) => set({ connector: event.currentTarget.value })}
            />
            <NativeSelect
              label={t('Drawn by')}
              data={COMPOSITORS}
              value={config.compositor}
              onChange={(event) =>
                set({ compositor: event.currentTarget.value as ConsoleConfig['compositor'] })
              }
            />
          </div>
          <div className={pageStyles.choices}>
            <Toggle name="stream" label={t('Also stream it to the browser')} config={config} set={set} />
            <Toggle name="stream_audio" label={t('Also stream its sound')} config={config} set={set} />
          </div>
          <AutoStart config={config} set={set} errorOf={errorOf} />
        </Disclosure>
        {save.isError && refused === null && <Problem error={save.error} />}
        {count > 0 && (
          <div className={pageStyles.filters}>
            <Button type="submit" variant="filled" loading={save.isPending}>
              {plural(count, 'Save {n} change', 'Save {n} changes')}
            </Button>
            <Button onClick={() => put({})}>{t('Discard')}</Button>
          </div>
        )}
      </div>
    </form>
  );
}

/** Fields that the server may refuse, each with the field at which the refusal is shown. */
const REFUSABLE = ['output_id', 'connector', 'default_app', 'default_user'] as const;
const ALIASES = { mode: 'output_id', auto_start_on_display: 'default_user' };

interface FieldProps {
  config: ConsoleConfig;
  set: (change: ConsoleDraft) => void;
  /** describes the error of a field; null: no error */
  errorOf: (field: (typeof REFUSABLE)[number]) => string | null;
}

type Switches = {
  [Key in keyof ConsoleConfig]: ConsoleConfig[Key] extends boolean ? Key : never;
}[keyof ConsoleConfig];

function Toggle(props: Pick<FieldProps, 'config' | 'set'> & { name: Switches; label: string }) {
  const { name, label, config, set } = props;
  return (
    <Switch
      label={label}
      checked={config[name]}
      onChange={(event) => set({ [name]: event.currentTarget.checked })}
    />
  );
}

/** Reported names, and the stored name even if the host does not report it. */
function others(reported: readonly string[], stored: string): string[] {
  return stored === 'auto' || reported.includes(stored) ? [...reported] : [stored, ...reported];
}

function AutoStart({ config, set, errorOf }: FieldProps) {
  const errorId = useId();
  const appError = errorOf('default_app');
  const userError = errorOf('default_user');
  const describedby = { 'aria-describedby': `${errorId}-error` };
  const [picking, setPicking] = useState<'app' | 'user' | null>(null);
  const { default_app, default_user } = config;
  const app = useQuery({
    queryKey: keys.app(default_app ?? ''),
    queryFn: ({ signal }) => call('apps.read', { params: { id: default_app ?? '' }, signal }),
    enabled: default_app !== null,
  });
  const user = useQuery({
    queryKey: adminKeys.user(default_user ?? ''),
    queryFn: ({ signal }) => readAccount(default_user ?? '', signal),
    enabled: default_user !== null,
  });
  const appName = default_app === null ? t('no app') : (app.data?.app.name ?? t('an app'));
  const userName = default_user === null ? t('no account') : (user.data?.username ?? t('an account'));
  const picked = (change: ConsoleDraft) => {
    set(change);
    setPicking(null);
  };
  return (
    <div className={pageStyles.choices}>
      <Toggle
        name="auto_start_on_display"
        label={t('Start an app automatically whenever a display is connected')}
        config={config}
        set={set}
      />
      <div className={pageStyles.filters}>
        <span>{t('Starts {app} for {user}.', { app: appName, user: userName })}</span>
        <Button
          size="compact-sm"
          data-path="default_app"
          {...(appError !== null && describedby)}
          onClick={() => setPicking('app')}
        >
          {t('Choose app')}
        </Button>
        <Button
          size="compact-sm"
          data-path="default_user"
          {...(userError !== null && describedby)}
          onClick={() => setPicking('user')}
        >
          {t('Choose account')}
        </Button>
      </div>
      {(appError ?? userError) !== null && (
        <Input.Error id={`${errorId}-error`} role="alert">
          {appError ?? userError}
        </Input.Error>
      )}
      <PickDialog
        opened={picking === 'app'}
        title={t('Which app starts automatically')}
        label={t('Name of the app')}
        kind="apps"
        action={t('Start')}
        find={pickApps}
        taken={new Set(default_app === null ? [] : [default_app])}
        pending={undefined}
        error={null}
        onPick={(id) => picked({ default_app: id })}
        onClose={() => setPicking(null)}
      />
      <PickDialog
        opened={picking === 'user'}
        title={t('For whom it starts')}
        label={t('Name or email')}
        kind="users"
        action={t('Start for')}
        find={pickUsers}
        taken={new Set(default_user === null ? [] : [default_user])}
        pending={undefined}
        error={null}
        onPick={(id) => picked({ default_user: id })}
        onClose={() => setPicking(null)}
      />
    </div>
  );
}
