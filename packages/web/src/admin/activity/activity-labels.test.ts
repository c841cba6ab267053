import { describe, expect, test } from 'vitest';
import { actionLabel, detailLabel } from './activity-labels.ts';

describe('the labels of an activity entry', () => {
  test('shows an unknown action as it is', () => {
    expect(actionLabel('user.deleted')).toBe('Deleted an account');
    expect(actionLabel('flux.capacitor.armed')).toBe('flux.capacitor.armed');
  });

  test.each([
    [{ name: 'Terminal' }, 'Terminal'],
    [{ keys: ['default_width', 'name'] }, 'default width, name'],
    [{ role: 'admin' }, 'role admin'],
    [{ entitlement_id: 'x', subject_type: 'all', subject_id: null }, 'subject type all'],
    [{ name: 'Steam', delete_derived: true }, 'Steam · delete derived'],
    [{ name: 'Steam', delete_derived: false }, 'Steam'],
    [
      { reason_source: 'agent', failure_code: 'app_crashed', reason: 'signal 11', state_detail: 'running' },
      'The app crashed.',
    ],
    [
      { reason_source: 'control_plane', failure_code: null, state_detail: 'start timed out' },
      'Start timed out',
    ],
    // A job's summary comes from its host, and a JSON object may overwrite its own methods.
    [{ name: { toString: 1 } }, '{"toString":1}'],
    [{ kept: [{ toString: 1, valueOf: 1 }] }, '{"toString":1,"valueOf":1}'],
    [{}, ''],
  ])('%j is “%s”', (details, label) => {
    expect(detailLabel({ details })).toBe(label);
  });
});
