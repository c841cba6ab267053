import { Button, Checkbox, NativeSelect, NumberInput, Switch, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ReactNode } from 'react';
import { Problem } from '../../components/problem.tsx';
import styles from '../frame/admin-parts.module.css';
import { type AppForm, appRules } from './app-form-model.ts';

const KINDS = [
  { value: 'game', label: 'Game' },
  { value: 'desktop', label: 'Desktop' },
  { value: 'launcher', label: 'Launcher' },
];

const checkbox = { type: 'checkbox' } as const;

/** The fields of an app, for making one and for changing one. */
export function AppFields(props: {
  initial: AppForm;
  act: string;
  pending: boolean;
  error: unknown;
  derived?: boolean;
  children?: ReactNode;
  onSubmit: (form: AppForm) => void;
}) {
  const { derived = false } = props;
  const { args: argsRule, ...otherRules } = appRules;
  const form = useForm<AppForm>({
    mode: 'uncontrolled',
    initialValues: props.initial,
    validate: derived ? otherRules : { ...otherRules, args: argsRule },
  });
  return (
    <form className={styles.form} onSubmit={form.onSubmit(props.onSubmit)} noValidate>
      {props.error !== null && props.error !== undefined && <Problem error={props.error} />}
      <fieldset className={styles.fieldset}>
        <legend>What people see</legend>
        <TextInput label="Name" required withAsterisk={false} {...form.getInputProps('name')} />
        <Textarea label="Description" rows={2} {...form.getInputProps('description')} />
        <div className={styles.pair}>
          <NativeSelect label="Kind" data={KINDS} {...form.getInputProps('kind')} />
          <TextInput
            label="Cover picture"
            description="A path on this server. Pictures elsewhere are not loaded."
            placeholder="/pictures/cover.webp"
            {...form.getInputProps('cover_url')}
          />
        </div>
        <Switch label="Enabled: people who may use it see it" {...form.getInputProps('enabled', checkbox)} />
      </fieldset>

      {derived ? (
        <p className={styles.dim}>This app is part of a launcher and runs the way that one does.</p>
      ) : (
        <fieldset className={styles.fieldset}>
          <legend>What runs</legend>
          <Textarea
            label="Command"
            description="The program first, then one argument per line."
            rows={3}
            classNames={{ input: styles.mono ?? '' }}
            {...form.getInputProps('args')}
          />
          <TextInput
            label="Container image"
            description="Empty: the command runs as a process of the host, where its agent allows that."
            classNames={{ input: styles.mono ?? '' }}
            {...form.getInputProps('image')}
          />
          <Textarea
            label="Environment"
            description="One NAME=value per line."
            rows={2}
            classNames={{ input: styles.mono ?? '' }}
            {...form.getInputProps('env')}
          />
          <Checkbox label="Needs the GPU" {...form.getInputProps('gpu', checkbox)} />
          <Checkbox
            label="Keeps a home of its own for each person"
            {...form.getInputProps('managed_home', checkbox)}
          />
        </fieldset>
      )}

      <fieldset className={styles.fieldset}>
        <legend>Picture and place</legend>
        <div className={styles.pair}>
          <NumberInput label="Width" suffix=" px" {...form.getInputProps('default_width')} />
          <NumberInput label="Height" suffix=" px" {...form.getInputProps('default_height')} />
          <NumberInput label="Frames per second" {...form.getInputProps('default_fps')} />
          <NumberInput label="Bitrate" suffix=" kbit/s" {...form.getInputProps('default_bitrate_kbps')} />
          <NumberInput label="Encode slots" {...form.getInputProps('default_encode_slots')} />
        </div>
      </fieldset>
      {props.children}
      <div>
        <Button type="submit" variant="filled" loading={props.pending}>
          {props.act}
        </Button>
      </div>
    </form>
  );
}
