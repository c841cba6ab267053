import { DEFAULT_HOME_PATH } from '@footlight/protocol/app-defaults';
import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { envProblem } from '../frame/text-lines.ts';
import { NETWORKS, type PresetForm, presetRules } from './preset-model.ts';

/** The fields of a runtime preset, for a new and for an existing one. */
export function PresetFields(props: {
  initial: PresetForm;
  action: string;
  pending: boolean;
  error: unknown;
  onSubmit: (form: PresetForm) => void;
}) {
  const { initial } = props;
  const form = useForm<PresetForm>({
    mode: 'uncontrolled',
    initialValues: initial,
    validate: {
      ...presetRules,
      env: (value) => (value === initial.env ? null : envProblem(value)),
    },
  });
  const mono = { classNames: { input: styles.mono ?? '' } };
  const refusal = useRefusal(form, props.error);
  return (
    <form className={styles.form} onSubmit={form.onSubmit(props.onSubmit, focusFirstError)} noValidate>
      <TextInput label={t('Name')} key={form.key('name')} {...form.getInputProps('name')} />
      <Textarea
        label={t('Description')}
        description={t('Only administrators see it.')}
        rows={2}
        key={form.key('description')}
        {...form.getInputProps('description')}
      />
      <fieldset className={styles.fieldset}>
        <legend>{t('Start settings of the apps')}</legend>
        <TextInput
          label={t('Container image')}
          description={t('For apps that do not name their own.')}
          placeholder="registry.example/name:tag"
          {...mono}
          key={form.key('image')}
          {...form.getInputProps('image')}
        />
        <Textarea
          label={t('Arguments')}
          description={t('One per line. They are put before the app’s own.')}
          rows={2}
          {...mono}
          key={form.key('args')}
          {...form.getInputProps('args')}
        />
        <Textarea
          label={t('Environment')}
          description={t('One NAME=value per line. If the app sets the same variable, its value is used.')}
          rows={2}
          {...mono}
          key={form.key('env')}
          {...form.getInputProps('env')}
        />
        <Textarea
          label={t('Mounts')}
          description={t(
            'One per line, as /on/the/host:/in/the/app or with :ro at the end. The host may refuse each of them.',
          )}
          rows={2}
          {...mono}
          key={form.key('mounts')}
          {...form.getInputProps('mounts')}
        />
        <NativeSelect
          label={t('Network')}
          description={t('For apps that do not name their own.')}
          data={NETWORKS.map((option) => ({ ...option, label: t(option.label) }))}
          key={form.key('network')}
          {...form.getInputProps('network')}
        />
      </fieldset>
      <fieldset className={styles.fieldset}>
        <legend>{t('Home')}</legend>
        <Checkbox
          label={t('Its apps keep a home of their own for each person')}
          key={form.key('managed_home')}
          {...form.getInputProps('managed_home', { type: 'checkbox' })}
        />
        <TextInput
          label={t('Where the home appears inside the app')}
          description={t('An app with another path overrides this.')}
          placeholder={DEFAULT_HOME_PATH}
          {...mono}
          key={form.key('home_container_path')}
          {...form.getInputProps('home_container_path')}
        />
      </fieldset>
      {refusal !== null && refusal !== undefined && <Problem error={refusal} />}
      <div>
        <Button type="submit" variant="filled" loading={props.pending}>
          {props.action}
        </Button>
      </div>
    </form>
  );
}
