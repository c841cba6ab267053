import { describe, expect, test } from 'vitest';
import { launchProfile } from '../../../test/fixtures.ts';
import { policyChoices } from './profile-choice-labels.ts';

describe('the ways to a launch profile', () => {
  const profiles = [launchProfile('a', { display_name: 'Couch' })];

  test('name what inheriting means now', () => {
    const inherit = (globalDefault: string | null, allowed: boolean) =>
      policyChoices(profiles, {
        global_default_profile_id: globalDefault,
        user_overrides_allowed: allowed,
      })[0]?.description;
    expect(inherit('a', true)).toBe(
      'The default of the instance, now Couch, unless the person chose a launch profile.',
    );
    expect(inherit('a', false)).toBe(
      'The default of the instance, now Couch. This instance does not let people choose.',
    );
    expect(inherit(null, true)).toContain('the values below apply');
  });
});
