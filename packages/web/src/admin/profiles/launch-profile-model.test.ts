import { describe, expect, test } from 'vitest';
import { launchProfile, rung } from '../../../test/fixtures.ts';
import { changesOf } from '../frame/changes.ts';
import {
  bodyOf,
  chainOf,
  deletionLabel,
  formOf,
  launchProfileRules,
  newLaunchProfile,
} from './launch-profile-model.ts';

describe('the launch profile form', () => {
  test('sends no unchanged values', () => {
    const stored = launchProfile('couch');
    const compared = { ...stored, rungs: chainOf(stored) };
    expect(changesOf(compared, bodyOf(formOf(stored)))).toEqual({});
    expect(changesOf(compared, bodyOf({ ...formOf(stored), sort_order: '7' }))).toEqual({ sort_order: 7 });
  });

  test('sends the whole chain if its order changed', () => {
    const stored = launchProfile('couch', { rungs: chain('x', 'y') });
    const form = { ...formOf(stored), rungs: ['y', 'x'] };
    expect(changesOf({ ...stored, rungs: chainOf(stored) }, bodyOf(form))).toEqual({ rungs: ['y', 'x'] });
  });

  test('places a new launch profile after all others', () => {
    expect(newLaunchProfile([]).sort_order).toBe(10);
    expect(newLaunchProfile([launchProfile('a', { sort_order: 80 })]).sort_order).toBe(90);
    expect(newLaunchProfile([launchProfile('a', { sort_order: 2_147_483_647 })]).sort_order).toBe(
      2_147_483_647,
    );
  });

  test('names each fault', () => {
    expect(launchProfileRules.display_name(' ')).not.toBeNull();
    expect(launchProfileRules.rungs([])).not.toBeNull();
    expect(launchProfileRules.sort_order(-5)).toBeNull();
    expect(launchProfileRules.sort_order('')).toBe('A whole number');
  });
});

describe('the question before a launch profile is deleted', () => {
  test.each([
    [0, 0, 'Its 1 rung stays. No app is limited to it.'],
    [1, 0, 'Its 1 rung stays. It disappears from the list of 1 app that allows it.'],
    [
      1,
      1,
      'Its 1 rung stays. It disappears from the list of 1 app that allows it. It allows nothing else, and can then be launched with any launch profile.',
    ],
    [
      3,
      1,
      'Its 1 rung stays. It disappears from the lists of 3 apps that allow it. 1 of them allows nothing else, and can then be launched with any launch profile.',
    ],
  ])('says that %i apps allow it, %i of them nothing else', (apps, alone, label) => {
    expect(deletionLabel(launchProfile('couch', { allowed_by: { apps, alone } }))).toBe(label);
  });

  test('names the uses that prevent it', () => {
    const used_by = { apps: [{ id: 'a', name: 'A' }], global_default: true, user_preferences: 2 };
    expect(deletionLabel(launchProfile('couch', { used_by }))).toBe(
      'It cannot be deleted while it is the default of 1 app, the instance, 2 people.',
    );
  });
});

function chain(...ids: string[]) {
  return ids.map((id, index) => ({ position: index + 1, stream_profile: rung(id) }));
}
