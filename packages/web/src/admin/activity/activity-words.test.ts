import { describe, expect, test } from 'vitest';
import { actionWords, detailWords } from './activity-words.ts';

describe('an entry of the activity in words', () => {
  test('shows an unknown action as it is', () => {
    expect(actionWords('user.deleted')).toBe('Deleted an account');
    expect(actionWords('flux.capacitor.armed')).toBe('flux.capacitor.armed');
  });

  test.each([
    [{ name: 'Terminal' }, 'Terminal'],
    [{ keys: ['default_width', 'name'] }, 'default width, name'],
    [{ role: 'admin' }, 'role admin'],
    [{ entitlement_id: 'x', subject_type: 'all', subject_id: null }, 'subject type all'],
    [{ name: 'Steam', delete_derived: true }, 'Steam · delete derived'],
    [{ name: 'Steam', delete_derived: false }, 'Steam'],
    [{}, ''],
  ])('%j is “%s”', (details, words) => {
    expect(detailWords({ details })).toBe(words);
  });
});
