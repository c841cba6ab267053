import type { InstanceProfilePolicy, LaunchProfile, RuntimePreset } from '@footlight/protocol/rest';
import { usePresets } from '../presets/use-presets.ts';
import { useLaunchProfiles, useProfilePolicy } from '../profiles/use-profiles.ts';

/** Choices that the form of an app offers. */
export interface AppChoices {
  presets: readonly RuntimePreset[];
  profiles: readonly LaunchProfile[];
  instance: InstanceProfilePolicy;
}

/** Loads the choices for the form of an app; `choices` is undefined until all are loaded. */
export function useAppChoices() {
  const presets = usePresets();
  const profiles = useLaunchProfiles();
  const policy = useProfilePolicy();
  const queries = [presets, profiles, policy];
  const choices: AppChoices | undefined =
    presets.data && profiles.data && policy.data
      ? { presets: presets.data.items, profiles: profiles.data.items, instance: policy.data }
      : undefined;
  return {
    choices,
    error: queries.find((query) => query.isError)?.error ?? null,
    retry: () => {
      for (const query of queries) if (query.isError) void query.refetch();
    },
  };
}
