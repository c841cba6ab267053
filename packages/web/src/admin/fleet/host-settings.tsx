import type { AdminSession, ConfigSetting, Host, HostSettings } from '@footlight/protocol/rest';
import { Button, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import { plural, t } from '../../i18n/translate.ts';
import pageStyles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { Disclosure } from '../frame/disclosure.tsx';
import { type RefusedField, refusedField } from '../frame/forms/refused-field.ts';
import { useRefusedFocus } from '../frame/forms/use-refusal.ts';
import { Section } from '../frame/page-head.tsx';
import { EndedSessions } from './ended-sessions.tsx';
import styles from './fleet.module.css';
import {
  fieldValue,
  groupSettings,
  hintOf,
  isSet,
  nameOfSetting,
  openChanges,
  type SettingsDraft,
  valueLabel,
  valueProblem,
  withChange,
} from './settings-model.ts';

/** Refresh interval: agents report every 5 s. */
const REFRESH_MS = 5_000;

/** Settings of a host: overrides, values in use, changes. */
export function HostSettingsSection({ host, sessions }: { host: Host; sessions: readonly AdminSession[] }) {
  const catalog = useQuery({
    queryKey: adminKeys.configCatalog,
    queryFn: ({ signal }) => call('configCatalog.read', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const settings = useQuery({
    queryKey: adminKeys.hostSettings(host.id),
    queryFn: ({ signal }) => call('hostSettings.read', { params: { id: host.id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  const failed = catalog.isError ? catalog : settings;
  return (
    <Section
      title={t('Settings')}
      busy={settings.isPending || catalog.isPending}
      actions={settings.data?.pending_restart && <StateChip tone="info">{t('Restarting')}</StateChip>}
    >
      {failed.isError && <Problem error={failed.error} retry={() => void failed.refetch()} />}
      {(settings.data === undefined || catalog.data === undefined) && !failed.isError && (
        <Skeleton height={160} radius={14} />
      )}
      {settings.data !== undefined && catalog.data !== undefined && (
        <Fields host={host} sessions={sessions} settings={settings.data} catalog={catalog.data.knobs} />
      )}
    </Section>
  );
}

function Fields(props: {
  host: Host;
  sessions: readonly AdminSession[];
  settings: HostSettings;
  catalog: readonly ConfigSetting[];
}) {
  const { host, settings, catalog } = props;
  const [edited, setDraft] = useState<SettingsDraft>({});
  const draft = openChanges(edited, settings);
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (confirmed: boolean) =>
      call('hostSettings.update', {
        params: { id: host.id },
        body: { overrides: draft, restart_confirm: confirmed },
      }),
    onSuccess: ({ restart_triggered }) => {
      setDraft({});
      const message = restart_triggered
        ? t('The settings were saved; the agent of {host} restarts', { host: host.node_name })
        : t('The settings of {host} were saved', { host: host.node_name });
      notifications.show({ message, autoClose: 4000 });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: adminKeys.hosts }),
  });
  const needsConfirm = save.error instanceof ApiFailure && save.error.code === 'restart_required';
  const live = needsConfirm ? ((save.error as ApiFailure).liveSessions ?? 0) : 0;
  const changes = Object.keys(draft).length;
  const wrong = catalog.filter(
    (setting) => valueProblem(setting, fieldValue(setting, settings, draft)) !== null,
  );
  const refused = refusedField(
    save.error,
    catalog.map(({ key }) => key),
  );
  useRefusedFocus(refused?.field, save.error);
  const change = (setting: ConfigSetting, value: ConfigSetting['default']) => {
    // Removes the server's refusal, because it was about the previous value.
    if (save.isError) save.reset();
    setDraft(withChange(draft, settings, setting.key, value));
  };

  return (
    <form
      className={pageStyles.sheet}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong.length > 0) {
          const faults = Object.fromEntries(wrong.map(({ key }) => [key, true]));
          focusFirstError(faults, null, event);
        } else if (changes > 0) save.mutate(false);
      }}
    >
      <div className={pageStyles.stack}>
        <p className={pageStyles.dim}>
          {t(
            'Values set here override the environment of the agent. Settings apply to sessions that start later; settings marked “Restart” restart the agent.',
          )}
        </p>
        {groupSettings(catalog).map((group) => {
          const set = group.settings.filter((setting) => isSet(setting, settings, draft)).length;
          return (
            <Disclosure
              key={group.title}
              label={set === 0 ? group.title : t('{group} ({n} set)', { group: group.title, n: set })}
              wrong={group.settings.some(
                (setting) => wrong.includes(setting) || setting.key === refused?.field,
              )}
            >
              <ul className={styles.settings}>
                {group.settings.map((setting) => (
                  <SettingRow
                    key={setting.key}
                    setting={setting}
                    settings={settings}
                    draft={draft}
                    refused={refused}
                    onChange={change}
                  />
                ))}
              </ul>
            </Disclosure>
          );
        })}
        {save.isError && !needsConfirm && refused === null && <Problem error={save.error} />}
        {changes > 0 && (
          <div className={pageStyles.filters}>
            <Button type="submit" variant="filled" loading={save.isPending}>
              {plural(changes, 'Save {n} change', 'Save {n} changes')}
            </Button>
            <Button
              onClick={() => {
                if (save.isError) save.reset();
                setDraft({});
              }}
            >
              {t('Discard')}
            </Button>
            {wrong.length > 0 && (
              <span className={pageStyles.dim}>
                {plural(wrong.length, '{n} value to correct first', '{n} values to correct first')}
              </span>
            )}
          </div>
        )}
      </div>
      <ConfirmDialog
        opened={needsConfirm}
        title={t('Restart the agent of {host}?', { host: host.node_name })}
        action={plural(
          live,
          'End {n} session and restart the agent of {host}',
          'End {n} sessions and restart the agent of {host}',
          {
            host: host.node_name,
          },
        )}
        pending={save.isPending}
        error={null}
        onConfirm={() => save.mutate(true)}
        onClose={() => save.reset()}
      >
        <p>
          {t('These settings apply when the agent starts. Restarting it ends the sessions on this host:')}
        </p>
        <EndedSessions sessions={props.sessions} count={live} />
      </ConfirmDialog>
    </form>
  );
}

function SettingRow(props: {
  setting: ConfigSetting;
  settings: HostSettings;
  draft: SettingsDraft;
  refused: RefusedField | null;
  onChange: (setting: ConfigSetting, value: ConfigSetting['default']) => void;
}) {
  const { setting, settings, draft, refused } = props;
  const value = fieldValue(setting, settings, draft);
  const set = isSet(setting, settings, draft);
  const inForce = settings.effective?.[setting.key];
  return (
    <li className={styles.setting} data-set={set}>
      <SettingField
        setting={setting}
        value={value}
        refused={refused?.field === setting.key ? refused.label : null}
        onChange={(next) => props.onChange(setting, next)}
      />
      <div className={styles.settingFacts}>
        <span className={pageStyles.mono}>{setting.key}</span>
        {setting.class === 'restart' && <StateChip tone="warning">{t('Restart')}</StateChip>}
        {inForce !== undefined && <span>{t('used now: {value}', { value: valueLabel(inForce) })}</span>}
        {set && (
          <Button
            size="compact-sm"
            variant="subtle"
            aria-label={t('Set {name} back to default', { name: nameOfSetting(setting) })}
            onClick={() => props.onChange(setting, null)}
          >
            {t('Back to default')}
          </Button>
        )}
      </div>
    </li>
  );
}

function SettingField(props: {
  setting: ConfigSetting;
  value: ConfigSetting['default'];
  /** the server's refusal; null: no refusal */
  refused: string | null;
  onChange: (value: ConfigSetting['default']) => void;
}) {
  const { setting, value, onChange } = props;
  const common = {
    label: nameOfSetting(setting),
    description: hintOf(setting),
    error: valueProblem(setting, value) ?? props.refused,
    'data-path': setting.key,
  };
  switch (setting.type) {
    case 'bool':
      return (
        <Switch
          {...common}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'enum':
      return (
        <NativeSelect
          {...common}
          data={setting.enum ?? []}
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    case 'string':
      return (
        <TextInput
          {...common}
          value={String(value ?? '')}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    default:
      return (
        <NumberInput
          {...common}
          allowDecimal={setting.type === 'float'}
          allowNegative={false}
          decimalScale={6}
          value={typeof value === 'number' ? value : ''}
          onChange={(next) => onChange(next === '' && setting.nullable ? null : next)}
        />
      );
  }
}
