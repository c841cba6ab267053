import { expect, test } from 'vitest';
import { below, read } from './modules.ts';

/** Lowest user id that is checked. Lower ids are plain test data, or users of real hosts, which start at 70000. */
const FIRST_USER = 71_000;
const TESTS = ['node-agent/src', 'test-harness/e2e'];
const RANGE = /\b(7\d_\d{3}), (7\d_\d{3})\b/g;
const USER = /\b7\d_\d{3}\b/g;

interface Users {
  file: string;
  first: number;
  last: number;
}

const uid = (text: string): number => Number(text.replace('_', ''));

/** User ids in a test, as ranges. Pure. */
function usersOf(file: string, text: string): Users[] {
  const ranges = [...text.matchAll(RANGE)].map(
    ([, first = '', last = '']) => [uid(first), uid(last)] as const,
  );
  const single = [...text.replaceAll(RANGE, '').matchAll(USER)].map(([one]) => [uid(one), uid(one)] as const);
  return [...ranges, ...single]
    .filter(([first]) => first >= FIRST_USER)
    .map(([first, last]) => ({ file, first, last }));
}

/** Pairs of files that use the same user. Pure. */
function shared(users: readonly Users[]): string[] {
  const pairs = users.flatMap((one) =>
    users
      .filter((other) => one.file < other.file && one.first <= other.last && other.first <= one.last)
      .map((other) => `${one.file} and ${other.file}: ${Math.max(one.first, other.first)}`),
  );
  return [...new Set(pairs)].sort();
}

test('two tests with the same user are found', () => {
  const users = [
    ...usersOf('a', 'const UIDS = [71_010, 71_019]; const pure = 70_000;'),
    ...usersOf('b', 'const USER = { uid: 71_012, gid: 71_012 };'),
    ...usersOf('c', 'const pure = 70_000; const uid = 71_020;'),
  ];
  expect(shared(users)).toEqual(['a and b: 71012']);
});

// Needed because test files run at the same time, and an agent removes files that its users own in /tmp, even if
// another test created them.
test('each user of a session belongs to one test file', () => {
  const files = TESTS.flatMap(below).filter((file) => /\.(?:test|e2e)\.ts$/.test(file));
  const users = files.flatMap((file) => usersOf(file, read(file)));
  expect(users.length).toBeGreaterThan(30);
  expect(shared(users)).toEqual([]);
});
