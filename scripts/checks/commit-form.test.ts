import { expect, test } from 'vitest';
import { commitFaults } from './commit-form.ts';

test.each([
  ['media: skip the path timer\n\nIt fired while frames were sent.', []],
  ['control-plane, web: name the host\n\nTwo names confused people.', []],
  ['Skip the path timer\n\nIt fired.', ['the subject is not `area: imperative` in lower case']],
  ['media: Skip the path timer\n\nIt fired.', ['the subject is not `area: imperative` in lower case']],
  [`media: ${'a'.repeat(66)}\n\nIt fired.`, ['the subject has 73 characters, more than 72']],
  ['media: skip it\nIt fired.\nAgain.', ['the second line is not empty']],
  ['media: skip it', ['the body does not give the reason']],
  ['media: skip it\n\n \n', ['the body does not give the reason']],
])('the faults of the message %j', (message, faults) => {
  expect(commitFaults(message)).toEqual(faults);
});
