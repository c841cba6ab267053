import { expect, test } from 'vitest';
import { isTransportError } from './codes.ts';

test.each([
  ['the socket hung up', true],
  ['WebSocket closed with 1006', true],
  ['Connection reset by peer', true],
  ['lost the link', true],
  ['transport: broken pipe', true],
  ['the app crashed', false],
  ['a symlink of the home is broken', false],
  ['the app could not open its sockets', false],
  ['', false],
])('the error %j is about a broken link: %s', (error, expected) => {
  expect(isTransportError(error)).toBe(expected);
});
