import type { AppListItem } from '@footlight/protocol/rest';

/** What an app says about launch profiles. */
export type AppChoice = Pick<AppListItem, 'default_profile_id' | 'profile_policy'>;

/**
 * The launch profile that applies to an app where nobody chooses: the app's own, where it prefers or forces one, else
 * the instance's default.
 * @returns null: none, and the app's own numbers apply
 */
export function profileWithoutChoice(app: AppChoice, globalDefaultId: string | null): string | null {
  const own = app.profile_policy === 'inherit' ? null : app.default_profile_id;
  return own ?? globalDefaultId;
}

/**
 * Whether an app may be launched with a profile.
 * @param allowList empty: no limit; an app that forces its profile has no use for one
 */
export function permits(app: AppChoice, allowList: readonly string[], profileId: string): boolean {
  if (app.profile_policy === 'force' || allowList.length === 0 || allowList.includes(profileId)) return true;
  return app.profile_policy === 'prefer' && app.default_profile_id === profileId;
}
