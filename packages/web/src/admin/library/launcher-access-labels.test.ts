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
      'It goes from the libraries of 4 people. What runs goes on.',
      'It goes from the libraries of 3 people. What runs goes on.',
    ],
    [
      [ALL, grantOf('me')],
      'Everybody may use it.',
      'It goes from the libraries of 5 people. What runs goes on.',
      'It goes from the libraries of 4 people. What runs goes on.',
    ],
    [
      [grantOf('me')],
      'You alone may use it.',
      'It goes from the library of 1 person. What runs goes on.',
      'Nobody loses it.',
    ],
    [
      [grantOf('bob')],
      '1 person may use it.',
      'It goes from the library of 1 person. What runs goes on.',
      'It goes from the library of 1 person. What runs goes on.',
    ],
    [
      [grantOf('bob'), grantOf('me')],
      '2 people may use it.',
      'It goes from the libraries of 2 people. What runs goes on.',
      'It goes from the library of 1 person. What runs goes on.',
    ],
  ])('%j: %s', (grants, words, takenFromAll, leftToMe) => {
    const access = accessOf(grants, 'me');
    // Four people have it by the grant for everybody only.
    const byAll = access.everybodyId === null ? 0 : 4;
    expect([accessLabel(access), lossLabel(access, byAll, false), lossLabel(access, byAll, true)]).toEqual([
      words,
      takenFromAll,
      leftToMe,
    ]);
  });
});
