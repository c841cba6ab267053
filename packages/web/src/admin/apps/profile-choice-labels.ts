import type { InstanceProfilePolicy, LaunchProfile } from '@footlight/protocol/rest';
import { t } from '../../i18n/translate.ts';

/** The three profile policies of an app, each with its current meaning. */
export function policyChoices(
  profiles: readonly Pick<LaunchProfile, 'id' | 'display_name'>[],
  instance: InstanceProfilePolicy,
) {
  const byDefault = profiles.find((profile) => profile.id === instance.global_default_profile_id);
  return [
    {
      value: 'inherit',
      label: t('Inherit'),
      description: inheritedLabel(byDefault?.display_name, instance.user_overrides_allowed),
    },
    {
      value: 'prefer',
      label: t('Prefer its own'),
      description: instance.user_overrides_allowed
        ? t('The app’s own, unless the person chose a launch profile.')
        : t('The app’s own. This instance does not let people choose.'),
    },
    { value: 'force', label: t('Force its own'), description: t('Always the app’s own.') },
  ];
}

/** @param profile name of the instance's default launch profile; undefined: there is no default */
function inheritedLabel(profile: string | undefined, mayChoose: boolean): string {
  if (profile === undefined)
    return mayChoose
      ? t(
          'The instance has no default profile, so the values below apply, unless the person chose a launch profile.',
        )
      : t(
          'The instance has no default profile, so the values below apply. This instance does not let people choose.',
        );
  return mayChoose
    ? t('The default of the instance, now {profile}, unless the person chose a launch profile.', { profile })
    : t('The default of the instance, now {profile}. This instance does not let people choose.', { profile });
}
