import { describe, expect, test } from 'vitest';
import { accessLabel, accessOf, lossLabel } from './launcher-access-labels.ts';

const ALL = { id: 'everybody', subject_type: 'all', subject_id: null } as const;
const grantOf = (subject_id: string) =>
  ({ id: `of ${subject_id}`, subject_type: 'user', subject_id }) as const;

describe('who may use a launcher', () => {
  test.each([
    [[], 'Nobody may use it, administrators included.', 'Nobody loses it.', 'Nobody loses it.'],
    [
      [ALL],
      'Everybody may use it.',
      'It disappears from the libraries of 4 people. Running sessions continue.',
      'It disappears from the libraries of 3 people. Running sessions continue.',
    ],
    [
      [ALL, grantOf('me')],
      'Everybody may use it.',
      'It disappears from the libraries of 5 people. Running sessions continue.',
      'It disappears from the libraries of 4 people. Running sessions continue.',
    ],
    [
      [grantOf('me')],
      'You alone may use it.',
      'It disappears from the library of 1 person. Running sessions continue.',
      'Nobody loses it.',
    ],
    [
      [grantOf('bob')],
      '1 person may use it.',
      'It disappears from the library of 1 person. Running sessions continue.',
      'It disappears from the library of 1 person. Running sessions continue.',
    ],
    [
      [grantOf('bob'), grantOf('me')],
      '2 people may use it.',
      'It disappears from the libraries of 2 people. Running sessions continue.',
      'It disappears from the library of 1 person. Running sessions continue.',
    ],
  ])('%j: %s', (grants, label, takenFromAll, leftToMe) => {
    const access = accessOf(grants, 'me');
    // Four people have it only by the grant for everybody.
    const byAll = access.everybodyId === null ? 0 : 4;
    expect([accessLabel(access), lossLabel(access, byAll, false), lossLabel(access, byAll, true)]).toEqual([
      label,
      takenFromAll,
      leftToMe,
    ]);
  });
});
