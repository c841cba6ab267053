import { expect, test } from 'vitest';
import { parseChallenge } from './registry-hosts.ts';

const REALM = 'realm="https://auth.test/token",service="registry.test"';

test.each([
  [`Bearer ${REALM}`, { realm: 'https://auth.test/token', service: 'registry.test' }],
  [`bearer scope="a,b", ${REALM}`, { realm: 'https://auth.test/token', service: 'registry.test' }],
  [`Bearer realm="https://auth.test/token"`, { realm: 'https://auth.test/token', service: null }],
  ['Bearer service="registry.test"', null],
  [`Basic ${REALM}`, null],
  ['', null],
])('%s', (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});

test('a challenge that would take long to parse is refused', () => {
  expect(parseChallenge(`Bearer ${'a'.repeat(16_000)},${REALM}`)).toBeNull();
});
