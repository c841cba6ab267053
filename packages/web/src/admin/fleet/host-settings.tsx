import type { AdminSession, ConfigKnob, Host, HostSettings } from '@footlight/protocol/rest';
import { Button, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { StateChip } from '../../components/state-chip.tsx';
import parts from '../frame/admin-parts.module.css';
import { countWords, Folded, Section } from '../frame/parts.tsx';
import { EndedSessions } from './ended-sessions.tsx';
import styles from './fleet.module.css';
import {
  fieldValue,
  groupKnobs,
  hintOf,
  isSet,
  nameOfKnob,
  openChanges,
  type SettingsDraft,
  valueProblem,
  valueWords,
  withChange,
} from './settings-model.ts';

const REFRESH_MS = 5_000;

/** Settings of a host: overrides, values in force, changes. */
export function HostSettingsSection({ host, sessions }: { host: Host; sessions: readonly AdminSession[] }) {
  const catalog = useQuery({
    queryKey: keys.configCatalog,
    queryFn: ({ signal }) => call('configCatalog.read', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const settings = useQuery({
    queryKey: keys.hostSettings(host.id),
    queryFn: ({ signal }) => call('hostSettings.read', { params: { id: host.id }, signal }),
    refetchInterval: REFRESH_MS,
  });
  const failed = catalog.isError ? catalog : settings;
  return (
    <Section
      title="Settings"
      busy={settings.isPending || catalog.isPending}
      acts={settings.data?.pending_restart && <StateChip tone="info">Restarting</StateChip>}
    >
      {failed.isError && <Problem error={failed.error} retry={() => void failed.refetch()} />}
      {(settings.data === undefined || catalog.data === undefined) && !failed.isError && (
        <Skeleton height={160} radius={14} />
      )}
      {settings.data !== undefined && catalog.data !== undefined && (
        <Fields host={host} sessions={sessions} settings={settings.data} knobs={catalog.data.knobs} />
      )}
    </Section>
  );
}

function Fields(props: {
  host: Host;
  sessions: readonly AdminSession[];
  settings: HostSettings;
  knobs: readonly ConfigKnob[];
}) {
  const { host, settings, knobs } = props;
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
        ? `The settings were saved; ${host.node_name} restarts`
        : `The settings of ${host.node_name} were saved`;
      notifications.show({ message, autoClose: 4000 });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: keys.hosts }),
  });
  const asks = save.error instanceof ApiFailure && save.error.code === 'restart_required';
  const live = asks ? ((save.error as ApiFailure).liveSessions ?? 0) : 0;
  const changes = Object.keys(draft).length;
  const wrong = knobs.filter((knob) => valueProblem(knob, fieldValue(knob, settings, draft)) !== null);
  const change = (knob: ConfigKnob, value: ConfigKnob['default']) =>
    setDraft(withChange(draft, settings, knob.key, value));

  return (
    <form
      className={parts.sheet}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (changes > 0 && wrong.length === 0) save.mutate(false);
      }}
    >
      <div className={parts.stack}>
        <p className={parts.dim}>
          What is set here comes before the environment of the agent. Settings count for sessions that start
          later; those marked “Restart” restart the agent.
        </p>
        {groupKnobs(knobs).map((group) => {
          const set = group.knobs.filter((knob) => isSet(knob, settings, draft)).length;
          return (
            <Folded
              key={group.title}
              words={set === 0 ? group.title : `${group.title} (${set} set)`}
              wrong={group.knobs.some((knob) => wrong.includes(knob))}
            >
              <ul className={styles.knobs}>
                {group.knobs.map((knob) => (
                  <KnobRow key={knob.key} knob={knob} settings={settings} draft={draft} onChange={change} />
                ))}
              </ul>
            </Folded>
          );
        })}
        {save.isError && !asks && <Problem error={save.error} />}
        {changes > 0 && (
          <div className={parts.filters}>
            <Button
              type="submit"
              variant="filled"
              loading={save.isPending}
              disabled={wrong.length > 0}
            >{`Save ${countWords(changes, 'change')}`}</Button>
            <Button onClick={() => setDraft({})}>Discard</Button>
            {wrong.length > 0 && (
              <span className={parts.dim}>{`${countWords(wrong.length, 'value')} to put right first`}</span>
            )}
          </div>
        )}
      </div>
      <ConfirmDialog
        opened={asks}
        title={`Restart ${host.node_name}?`}
        act={`End ${countWords(live, 'session')} and restart ${host.node_name}`}
        pending={save.isPending}
        error={null}
        onConfirm={() => save.mutate(true)}
        onClose={() => save.reset()}
      >
        <p>These settings count when the agent starts. Restarting it ends what runs on this host:</p>
        <EndedSessions sessions={props.sessions} count={live} />
      </ConfirmDialog>
    </form>
  );
}

function KnobRow(props: {
  knob: ConfigKnob;
  settings: HostSettings;
  draft: SettingsDraft;
  onChange: (knob: ConfigKnob, value: ConfigKnob['default']) => void;
}) {
  const { knob, settings, draft } = props;
  const value = fieldValue(knob, settings, draft);
  const set = isSet(knob, settings, draft);
  const inForce = settings.effective?.[knob.key];
  return (
    <li className={styles.knob} data-set={set}>
      <KnobField knob={knob} value={value} onChange={(next) => props.onChange(knob, next)} />
      <div className={styles.knobFacts}>
        <span className={parts.mono}>{knob.key}</span>
        {knob.class === 'restart' && <StateChip tone="warning">Restart</StateChip>}
        {inForce !== undefined && <span>in force: {valueWords(inForce)}</span>}
        {set && (
          <Button
            size="compact-sm"
            variant="subtle"
            aria-label={`Take back what is set for ${nameOfKnob(knob)}`}
            onClick={() => props.onChange(knob, null)}
          >
            Back to default
          </Button>
        )}
      </div>
    </li>
  );
}

function KnobField(props: {
  knob: ConfigKnob;
  value: ConfigKnob['default'];
  onChange: (value: ConfigKnob['default']) => void;
}) {
  const { knob, value, onChange } = props;
  const common = { label: nameOfKnob(knob), description: hintOf(knob), error: valueProblem(knob, value) };
  switch (knob.type) {
    case 'bool':
      return (
        <Switch
          label={common.label}
          description={common.description}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'enum':
      return (
        <NativeSelect
          {...common}
          data={knob.enum ?? []}
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
          allowDecimal={knob.type === 'float'}
          allowNegative={false}
          decimalScale={6}
          value={typeof value === 'number' ? value : ''}
          onChange={(next) => onChange(next === '' && knob.nullable ? null : next)}
        />
      );
  }
}
