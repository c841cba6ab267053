import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import { Button, Checkbox, NativeSelect, NumberInput, Switch, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { msg, rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { Disclosure } from '../frame/disclosure.tsx';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { type AppForm, appRules } from './app-form-model.ts';
import { CommandHint } from './command-hint.tsx';
import { ProfileChoice } from './profile-choice.tsx';
import { type AppChoices, useAppChoices } from './use-app-choices.ts';

const KINDS = [
  { value: 'game', label: msg('Game') },
  { value: 'desktop', label: msg('Desktop') },
  { value: 'launcher', label: msg('Launcher') },
];

const checkbox = { type: 'checkbox' } as const;

interface AppFieldsProps {
  initial: AppForm;
  action: string;
  pending: boolean;
  error: unknown;
  /** the tile's parent, whose name is undefined while unknown; missing: the app is no tile */
  parent?: { id: string; name: string | undefined };
  children?: ReactNode;
  onSubmit: (form: AppForm) => void;
}

/** The fields of an app, for a new and for an existing one. Shown after the choices are loaded. */
export function AppFields(props: AppFieldsProps) {
  const { choices, error, retry } = useAppChoices();
  if (choices !== undefined) return <Fields {...props} choices={choices} />;
  return error === null ? <Skeleton height={720} radius={14} /> : <Problem error={error} retry={retry} />;
}

function Fields(props: AppFieldsProps & { choices: AppChoices }) {
  const { initial, parent, choices } = props;
  const {
    args: argsRule,
    env: envRule,
    home_container_path: homeRule,
    home_base: baseRule,
    ...otherRules
  } = appRules;
  const form = useForm<AppForm>({
    mode: 'uncontrolled',
    initialValues: initial,
    validate:
      parent !== undefined
        ? otherRules
        : {
            ...otherRules,
            args: argsRule,
            home_container_path: homeRule,
            home_base: baseRule,
            // A stored value may contain a line break, which the field cannot express, so an unchanged field is
            // accepted.
            env: (value) => (value === initial.env ? null : envRule(value)),
          },
  });
  const refusal = useRefusal(form, props.error);
  return (
    <form className={styles.form} onSubmit={form.onSubmit(props.onSubmit, focusFirstError)} noValidate>
      <fieldset className={styles.fieldset}>
        <legend>{t('What people see')}</legend>
        <TextInput label={t('Name')} required withAsterisk={false} {...form.getInputProps('name')} />
        <Textarea label={t('Description')} rows={2} {...form.getInputProps('description')} />
        <NativeSelect
          label={t('Kind')}
          data={KINDS.map((option) => ({ ...option, label: t(option.label) }))}
          {...form.getInputProps('kind')}
        />
        <TextInput
          label={t('Cover picture')}
          description={t('A path on this server. Leave it empty to upload a picture after adding the app.')}
          placeholder="/pictures/cover.webp"
          {...form.getInputProps('cover_url')}
        />
        <Switch
          label={t('Enabled: shown to the people who may use it')}
          {...form.getInputProps('enabled', checkbox)}
        />
      </fieldset>

      {parent !== undefined ? (
        <p className={styles.note}>
          {rich(
            'This app is part of {launcher} and runs in the same way: command, image, preset, home and encode slots are set there.',
            {
              launcher: (
                <Link key="launcher" to="/admin/apps/$id" params={{ id: parent.id }}>
                  {parent.name ?? t('a launcher')}
                </Link>
              ),
            },
          )}
        </p>
      ) : (
        <fieldset className={styles.fieldset}>
          <legend>{t('What runs')}</legend>
          <NativeSelect
            label={t('Preset')}
            description={rich(
              'Settings that several apps share. The fields below add to them or override them. Presets are managed under {presets}.',
              {
                presets: (
                  <Link key="presets" to="/admin/presets">
                    {t('Presets')}
                  </Link>
                ),
              },
            )}
            data={[
              { value: '', label: t('No preset') },
              ...choices.presets.map((preset) => ({ value: preset.id, label: preset.name })),
            ]}
            {...form.getInputProps('runtime_preset_id')}
          />
          <Textarea
            label={t('Command')}
            description={t('The program first, then one argument per line, without quotes.')}
            placeholder={'/usr/bin/xterm\n-e\ntop'}
            rows={3}
            classNames={{ input: styles.mono ?? '' }}
            key={form.key('args')}
            {...form.getInputProps('args')}
          />
          <CommandHint form={form} />
          <TextInput
            label={t('Container image')}
            description={t(
              'Leave it empty, here and in the preset, to run the command as a process of the host.',
            )}
            placeholder="registry.example/name:tag"
            classNames={{ input: styles.mono ?? '' }}
            {...form.getInputProps('image')}
          />
          <Textarea
            label={t('Environment')}
            description={t('One NAME=value per line.')}
            rows={2}
            classNames={{ input: styles.mono ?? '' }}
            {...form.getInputProps('env')}
          />
          <Checkbox label={t('Needs the GPU')} {...form.getInputProps('gpu', checkbox)} />
          <Checkbox
            label={t('Keeps a home of its own for each person')}
            {...form.getInputProps('managed_home', checkbox)}
          />
          <Disclosure
            label={t('More')}
            wrong={(form.errors.home_container_path ?? form.errors.home_base) !== undefined}
          >
            <TextInput
              label={t('Where the home appears inside the app')}
              description={t('{path} stands for the path of the preset.', { path: DEFAULT_HOME_PATH })}
              placeholder={DEFAULT_HOME_PATH}
              classNames={{ input: styles.mono ?? '' }}
              {...form.getInputProps('home_container_path')}
            />
            <TextInput
              label={t('Base of the homes')}
              description={t(
                'A folder on the hosts, for instance with installed games. People see its files in their homes, and change only their own copies.',
              )}
              placeholder="/srv/games/base"
              classNames={{ input: styles.mono ?? '' }}
              {...form.getInputProps('home_base')}
            />
          </Disclosure>
        </fieldset>
      )}

      <ProfileChoice form={form} initial={initial} profiles={choices.profiles} instance={choices.instance} />

      <fieldset className={styles.fieldset}>
        <legend>{t('Picture without a launch profile')}</legend>
        <div className={styles.pair}>
          <NumberInput label={t('Width')} suffix=" px" {...form.getInputProps('default_width')} />
          <NumberInput label={t('Height')} suffix=" px" {...form.getInputProps('default_height')} />
          <NumberInput label={t('Frames per second')} {...form.getInputProps('default_fps')} />
          <NumberInput
            label={t('Bitrate')}
            suffix=" kbit/s"
            {...form.getInputProps('default_bitrate_kbps')}
          />
        </div>
        {parent === undefined && (
          <NumberInput
            label={t('Encode slots')}
            description={t("How many of a host's slots one session takes; 1 for most apps.")}
            {...form.getInputProps('default_encode_slots')}
          />
        )}
      </fieldset>
      {props.children}
      {refusal !== null && refusal !== undefined && <Problem error={refusal} />}
      <div>
        <Button type="submit" variant="filled" loading={props.pending}>
          {props.action}
        </Button>
      </div>
    </form>
  );
}
