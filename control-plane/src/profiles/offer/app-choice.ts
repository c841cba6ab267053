import type { AppListItem } from '@footlight/protocol/rest';

/** Profile settings of an app. */
export type AppChoice = Pick<AppListItem, 'default_profile_id' | 'profile_policy'>;

/**
 * The launch profile of an app when the person made no choice: the app's own profile if the app prefers or forces one,
 * otherwise the instance's default.
 * @returns null: there is no profile, so the app's own size, frame rate and bitrate apply
 */
export function profileWithoutChoice(app: AppChoice, globalDefaultId: string | null): string | null {
  const own = app.profile_policy === 'inherit' ? null : app.default_profile_id;
  return own ?? globalDefaultId;
}

/**
 * Whether an app permits a profile.
 * @param allowList empty: all profiles are permitted; ignored for an app that forces its profile
 */
export function permits(app: AppChoice, allowList: readonly string[], profileId: string): boolean {
  if (app.profile_policy === 'force' || allowList.length === 0 || allowList.includes(profileId)) return true;
  return app.profile_policy === 'prefer' && app.default_profile_id === profileId;
}
