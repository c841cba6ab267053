import type { InstanceProfilePolicy, LaunchProfile } from '@footlight/protocol/rest';
import { Checkbox, NativeSelect, Radio } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { rich, t } from '../../i18n/translate.ts';
import styles from '../frame/admin-pages.module.css';
import { defaultOptions } from '../profiles/profile-labels.ts';
import type { AppForm } from './app-form-model.ts';
import { policyChoices } from './profile-choice-labels.ts';

/** An app's launch profile, and the profiles that people may choose. */
export function ProfileChoice(props: {
  form: UseFormReturnType<AppForm>;
  initial: AppForm;
  profiles: readonly LaunchProfile[];
  instance: InstanceProfilePolicy;
}) {
  const { form, initial, profiles, instance } = props;
  const [policy, setPolicy] = useState(initial.profile_policy);
  form.watch('profile_policy', ({ value }) => setPolicy(value));
  return (
    <fieldset className={styles.fieldset}>
      <legend>{t('Picture quality')}</legend>
      <Radio.Group
        label={t('Launch profile')}
        description={rich('Managed under {profiles}.', {
          profiles: (
            <Link key="profiles" to="/admin/profiles">
              {t('Profiles')}
            </Link>
          ),
        })}
        key={form.key('profile_policy')}
        {...form.getInputProps('profile_policy')}
      >
        <div className={styles.choices}>
          {policyChoices(profiles, instance).map((choice) => (
            <Radio
              key={choice.value}
              value={choice.value}
              label={choice.label}
              description={choice.description}
            />
          ))}
        </div>
      </Radio.Group>
      <NativeSelect
        label={t('The app’s own launch profile')}
        description={
          policy === 'inherit' ? t('Stored, but without effect while the app uses the default.') : undefined
        }
        data={defaultOptions(profiles, initial.default_profile_id || null, t('None: the instance’s default'))}
        key={form.key('default_profile_id')}
        {...form.getInputProps('default_profile_id')}
      />
      {policy !== 'force' && profiles.length > 0 && (
        <Checkbox.Group
          label={t('Launch profiles that people may use with it')}
          description={t('None ticked: all of them.')}
          key={form.key('launchable_profile_ids')}
          {...form.getInputProps('launchable_profile_ids')}
        >
          <div className={styles.checkColumns}>
            {profiles.map((profile) => (
              <Checkbox key={profile.id} value={profile.id} label={offerLabel(profile)} />
            ))}
          </div>
        </Checkbox.Group>
      )}
    </fieldset>
  );
}

function offerLabel({ visibility, display_name: name }: LaunchProfile): string {
  if (visibility === 'user') return name;
  return visibility === 'debug' ? t('{name} (debug)', { name }) : t('{name} (internal)', { name });
}
