import { expect, test } from 'vitest';
import type { RegistrationFacts } from './registration.ts';
import { parts } from './registrations.ts';

const facts = (kind: 'known' | 'enrolled', sessions = 0) =>
  ({ identity: { kind }, message: { sessions: Array.from({ length: sessions }) } }) as RegistrationFacts;
const sizes = (all: readonly RegistrationFacts[]) => parts(all).map((part) => part.length);

test('known agents register together, an enrolling one alone and in its place', () => {
  expect(sizes([facts('known'), facts('known'), facts('enrolled'), facts('known')])).toEqual([2, 1, 1]);
  expect(sizes([facts('enrolled'), facts('enrolled')])).toEqual([1, 1]);
  expect(sizes([])).toEqual([]);
});

test('agents that list many sessions are cut into parts that fit a statement', () => {
  const many = Array.from({ length: 128 }, () => facts('known', 1_000));
  expect(sizes(many)).toEqual(Array.from({ length: 16 }, () => 8));
  expect(sizes([facts('known', 8_192), facts('known')])).toEqual([2]);
  expect(sizes([facts('known', 8_192), facts('known', 1)])).toEqual([1, 1]);
});
