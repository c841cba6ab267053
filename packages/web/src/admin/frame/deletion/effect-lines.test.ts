import { expect, test } from 'vitest';
import { effectLines, revokedLabel } from './effect-lines.ts';

const none = {
  ...{ sessions: 0, homes: 0, home_bytes: 0, entitlements: 0 },
  ...{ favourites: 0, tiles: 0, devices: 0, invites: 0, people: 0, running: 0 },
};

test('a line for each kind of deleted thing, with numbers', () => {
  const effect = {
    ...none,
    kind: 'app' as const,
    sessions: 128,
    homes: 3,
    home_bytes: 73_400_320,
    entitlements: 4,
    tiles: 1,
  };
  expect(effectLines(effect)).toEqual([
    '1 tile of titles inside it',
    '128 sessions with their measurements',
    '4 grants that let people use it',
    '3 homes with 73.4 MB of files, which their hosts delete a day later',
  ]);
});

test('the files of a host stay on its machine', () => {
  expect(effectLines({ ...none, kind: 'host', homes: 1, home_bytes: 2_000_000_000 })).toEqual([
    '1 home with 2.0 GB of files, which stay on the machine and are no longer listed',
  ]);
});

test('an account has devices, invites and apps of its own', () => {
  const effect = {
    ...none,
    kind: 'user' as const,
    sessions: 1,
    entitlements: 1,
    devices: 2,
    invites: 1,
    favourites: 5,
  };
  expect(effectLines(effect)).toEqual([
    '1 session with its measurements',
    '1 app given to them alone',
    '5 favourites',
    '2 devices that are logged out',
    '1 invite that they made',
  ]);
});

test('a thing that was never used has no lines', () => {
  expect(effectLines({ ...none, kind: 'app' })).toEqual([]);
});

test.each([
  [0, 0, 'Nobody loses it, because another grant still allows it.'],
  [1, 0, 'It disappears from the library of 1 person.'],
  [12, 1, 'It disappears from the libraries of 12 people. 1 running session continues.'],
  [2, 3, 'It disappears from the libraries of 2 people. 3 running sessions continue.'],
])('a grant of %i people with %i sessions: %s', (people, running, label) => {
  expect(revokedLabel({ people, running })).toBe(label);
});
