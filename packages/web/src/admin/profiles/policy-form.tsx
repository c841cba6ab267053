import type { InstanceProfilePolicy, LaunchProfile } from '@footlight/protocol/rest';
import { Button, NativeSelect, Switch } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { focusFirstError } from '../../components/first-error.ts';
import { Problem } from '../../components/problem.tsx';
import { t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { adminKeys } from '../frame/admin-query-keys.ts';
import { changesOf } from '../frame/changes.ts';
import { useRefusal } from '../frame/forms/use-refusal.ts';
import { defaultOptions } from './profile-labels.ts';

/** The profile policy: the default launch profile, and whether people may choose another. */
export function PolicyForm(props: { policy: InstanceProfilePolicy; profiles: readonly LaunchProfile[] }) {
  const { policy } = props;
  const queryClient = useQueryClient();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: {
      global_default_profile_id: policy.global_default_profile_id ?? '',
      user_overrides_allowed: policy.user_overrides_allowed,
    },
  });
  const save = useMutation({
    mutationFn: (values: { global_default_profile_id: string; user_overrides_allowed: boolean }) =>
      call('profilePolicy.update', {
        body: changesOf(policy, {
          global_default_profile_id: values.global_default_profile_id || null,
          user_overrides_allowed: values.user_overrides_allowed,
        }),
      }),
    onSuccess: (answer) => {
      queryClient.setQueryData(adminKeys.profilePolicy, answer);
      notifications.show({ message: t('The policy was saved'), autoClose: 4000 });
      return queryClient.invalidateQueries({ queryKey: adminKeys.launchProfiles });
    },
  });
  const refusal = useRefusal(form, save.error);
  return (
    <form
      className={styles.form}
      onSubmit={form.onSubmit((values) => save.mutate(values), focusFirstError)}
      noValidate
    >
      <NativeSelect
        label={t('Default of the instance')}
        description={t('For every app without its own default, if the person chose none.')}
        data={defaultOptions(
          props.profiles,
          policy.global_default_profile_id,
          t('None: each app’s own values'),
        )}
        key={form.key('global_default_profile_id')}
        {...form.getInputProps('global_default_profile_id')}
      />
      <Switch
        label={t('People may choose a launch profile of their own')}
        key={form.key('user_overrides_allowed')}
        {...form.getInputProps('user_overrides_allowed', { type: 'checkbox' })}
      />
      {refusal !== null && <Problem error={refusal} />}
      <div>
        <Button type="submit" loading={save.isPending}>
          {t('Save policy')}
        </Button>
      </div>
    </form>
  );
}
