import type { LaunchProfile } from '@footlight/protocol/rest';
import { msg, plural, t } from '../../i18n/translate.ts';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule, textRule } from '../frame/bound-rules.ts';
import { ID_MESSAGES } from './profile-labels.ts';

/** A launch profile in form fields. */
export interface LaunchProfileForm {
  id: string;
  display_name: string;
  description: string;
  visibility: LaunchProfile['visibility'];
  sort_order: number | string;
  /** ids, best rung first */
  rungs: string[];
}

const STEP = 10;
const bounds = bodyBounds['launchProfiles.create'];

/** The form of a new launch profile, which becomes the last of the list. */
export function newLaunchProfile(existing: readonly Pick<LaunchProfile, 'sort_order'>[]): LaunchProfileForm {
  const last = Math.max(0, ...existing.map((profile) => profile.sort_order));
  return {
    id: '',
    display_name: '',
    description: '',
    visibility: 'user',
    sort_order: Math.min(last + STEP, bounds.sort_order.maximum ?? Infinity),
    rungs: [],
  };
}

/** The form of an existing launch profile. */
export function formOf(profile: LaunchProfile): LaunchProfileForm {
  const { id, display_name, description, visibility, sort_order } = profile;
  return { id, display_name, description, visibility, sort_order, rungs: chainOf(profile) };
}

/** The ids of the rungs, best first. */
export function chainOf(profile: Pick<LaunchProfile, 'rungs'>): string[] {
  return profile.rungs.map((rung) => rung.stream_profile.id);
}

/** Fields of a change, and of a create except the id. */
export function bodyOf(form: LaunchProfileForm) {
  return {
    display_name: form.display_name.trim(),
    description: form.description.trim(),
    visibility: form.visibility,
    sort_order: Number(form.sort_order),
    rungs: form.rungs,
  };
}

/** The rule of each field: describes its error. The server checks the chain. */
export const launchProfileRules = {
  id: textRule(bounds.id, ID_MESSAGES),
  display_name: textRule(bounds.display_name, { blank: msg('Give it a name') }),
  sort_order: numberRule(bounds.sort_order),
  rungs: (value: string[]) => (value.length === 0 ? t('Add at least one H.264 rung') : null),
};

/** The effects of the deletion of a launch profile, or the reason why it is refused, in numbers. Pure. */
export function deletionLabel({ rungs, used_by, allowed_by }: LaunchProfile): string {
  const kept = [
    used_by.apps.length > 0 && plural(used_by.apps.length, '{n} app', '{n} apps'),
    used_by.global_default && t('the instance'),
    used_by.user_preferences > 0 && plural(used_by.user_preferences, '{n} person', '{n} people'),
  ].filter((each) => each !== false);
  if (kept.length > 0)
    return t('It cannot be deleted while it is the default of {uses}.', { uses: kept.join(', ') });
  const stays = plural(rungs.length, 'Its {n} rung stays.', 'Its {n} rungs stay.');
  const { apps, alone } = allowed_by;
  if (apps === 0) return `${stays} ${t('No app is limited to it.')}`;
  const shortened = plural(
    apps,
    'It disappears from the list of {n} app that allows it.',
    'It disappears from the lists of {n} apps that allow it.',
  );
  if (alone === 0) return `${stays} ${shortened}`;
  const widened =
    apps === 1
      ? t('It allows nothing else, and can then be launched with any launch profile.')
      : plural(
          alone,
          '{n} of them allows nothing else, and can then be launched with any launch profile.',
          '{n} of them allow nothing else, and can then be launched with any launch profile.',
        );
  return `${stays} ${shortened} ${widened}`;
}
