import type { LaunchProfile } from '@footlight/protocol/rest';
import { bodyBounds } from '../frame/body-bounds.ts';
import { numberRule, textRule } from '../frame/bound-rules.ts';
import { ID_WORDS } from './profile-words.ts';

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

/** The form of a new launch profile, in the last place. */
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

/** Fault of each field; the server checks the chain. */
export const launchProfileRules = {
  id: textRule(bounds.id, ID_WORDS),
  display_name: textRule(bounds.display_name, { blank: 'Give it a name' }),
  sort_order: numberRule(bounds.sort_order),
  rungs: (value: string[]) => (value.length === 0 ? 'Add at least one rung, one of them H.264' : null),
};
