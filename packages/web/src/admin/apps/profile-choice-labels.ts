import type { InstanceProfilePolicy, LaunchProfile } from '@footlight/protocol/rest';

/** The three profile policies of an app, each with its current meaning. */
export function policyChoices(
  profiles: readonly Pick<LaunchProfile, 'id' | 'display_name'>[],
  instance: InstanceProfilePolicy,
) {
  const byDefault = profiles.find((profile) => profile.id === instance.global_default_profile_id);
  const inherited =
    byDefault === undefined
      ? 'The instance has no default profile, so the numbers below apply'
      : `The default of the instance, now ${byDefault.display_name}`;
  return [
    {
      value: 'inherit',
      label: 'Inherit',
      description: instance.user_overrides_allowed
        ? `${inherited}, unless the person chose a launch profile.`
        : `${inherited}. This instance does not let people choose.`,
    },
    {
      value: 'prefer',
      label: 'Prefer its own',
      description: instance.user_overrides_allowed
        ? 'The app’s own, unless the person chose a launch profile.'
        : 'The app’s own. This instance does not let people choose.',
    },
    { value: 'force', label: 'Force its own', description: 'Always the app’s own.' },
  ];
}
