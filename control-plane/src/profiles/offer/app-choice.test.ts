import { describe, expect, test } from 'vitest';
import { permits, profileWithoutChoice } from './app-choice.ts';

describe('the launch profile that applies without a choice', () => {
  test.each([
    ['inherit', null, null, null],
    ['inherit', 'own', null, null],
    ['inherit', null, 'global', 'global'],
    ['inherit', 'own', 'global', 'global'],
    ['prefer', 'own', 'global', 'own'],
    ['prefer', 'own', null, 'own'],
    ['prefer', null, 'global', 'global'],
    ['prefer', null, null, null],
    ['force', 'own', 'global', 'own'],
    ['force', null, 'global', 'global'],
    ['force', null, null, null],
  ] as const)('policy %s, own %j, global %j → %j', (profile_policy, default_profile_id, global, expected) =>
    expect(profileWithoutChoice({ profile_policy, default_profile_id }, global)).toBe(expected),
  );
});

describe('an app with a list admits', () => {
  test.each([
    ['inherit', null, [], 'any', true],
    ['inherit', null, ['a', 'b'], 'b', true],
    ['inherit', null, ['a'], 'b', false],
    ['inherit', 'own', ['a'], 'own', false],
    ['prefer', 'own', ['a'], 'own', true],
    ['prefer', 'own', ['a'], 'b', false],
    ['prefer', null, ['a'], 'b', false],
    ['force', 'own', ['a'], 'b', true],
  ] as const)(
    'policy %s, own %j, list %j: %s → %s',
    (profile_policy, default_profile_id, list, id, expected) =>
      expect(permits({ profile_policy, default_profile_id }, list, id)).toBe(expected),
  );
});
