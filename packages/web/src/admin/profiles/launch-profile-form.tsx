import type { StreamProfile } from '@footlight/protocol/rest';
import { Button, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { ChainEditor } from './chain-editor.tsx';
import { type LaunchProfileForm, launchProfileRules } from './launch-profile-model.ts';
import { VISIBILITIES, VISIBILITY_NOTE } from './profile-labels.ts';

/**
 * The fields of a launch profile, for a new and for an existing one.
 * @param props.made whether the launch profile already exists, because then its id cannot be changed
 */
export function LaunchProfileFields(props: {
  initial: LaunchProfileForm;
  rungs: readonly StreamProfile[];
  made: boolean;
  action: string;
  pending: boolean;
  error: unknown;
  onSubmit: (form: LaunchProfileForm) => void;
}) {
  const { id: idRule, ...otherRules } = launchProfileRules;
  const form = useForm<LaunchProfileForm>({
    mode: 'controlled',
    initialValues: props.initial,
    validate: props.made ? otherRules : { ...otherRules, id: idRule },
  });
  const refusal = useRefusal(form, props.error);
  return (
    <form className={styles.form} onSubmit={form.onSubmit(props.onSubmit, focusFirstError)} noValidate>
      <TextInput label={t('Name')} {...form.getInputProps('display_name')} />
      {!props.made && (
        <TextInput
          label={t('Id')}
          description={t('Its name in addresses and settings. You cannot change it later.')}
          placeholder="1080p60"
          classNames={{ input: styles.mono ?? '' }}
          {...form.getInputProps('id')}
        />
      )}
      <Textarea label={t('Description')} rows={2} {...form.getInputProps('description')} />
      <div className={styles.pair}>
        <NativeSelect
          label={t('Who it is for')}
          description={t(VISIBILITY_NOTE)}
          data={VISIBILITIES.map((option) => ({ ...option, label: t(option.label) }))}
          {...form.getInputProps('visibility')}
        />
        <NumberInput
          label={t('Place in lists')}
          description={t('A smaller number is higher in the list.')}
          {...form.getInputProps('sort_order')}
        />
      </div>
      <ChainEditor
        rungs={props.rungs}
        value={form.values.rungs}
        error={form.errors.rungs}
        onChange={(ids) => form.setFieldValue('rungs', ids)}
      />
      {refusal !== null && refusal !== undefined && <Problem error={refusal} />}
      <div>
        <Button type="submit" variant="filled" loading={props.pending}>
          {props.action}
        </Button>
      </div>
    </form>
  );
}
