import { describe, expect, test } from 'vitest';
import { checkOrigin, isLoopbackHost } from './origins.ts';

describe('the verdict on an origin', () => {
  const allowed = ['https://play.example'];
  test.each([
    ['no Origin header', undefined, 'host:8443', true],
    ['listed', 'https://PLAY.example:443', 'host:8443', true],
    ['same authority as Host', 'https://Host:8443', 'hOST:8443', true],
    ['same authority, default port written out', 'https://host', 'host:443', true],
    ['another port', 'https://host:9443', 'host:8443', false],
    ['another host', 'https://evil.example', 'host:8443', false],
    ['a trailing dot', 'https://host.:8443', 'host:8443', false],
    ['null', 'null', 'host:8443', false],
    ['no Host at all', 'https://host', undefined, false],
    ['a host that holds more than a host', 'https://host', 'host@evil', false],
  ])('%s', (_, origin, host, expected) => {
    expect(checkOrigin({ origin, host, allowed }).allowed).toBe(expected);
  });
});

test.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.8.9.1', true],
  ['[::1]', true],
  ['::ffff:127.0.0.1', true],
  ['localhost.evil.example', false],
  ['10.0.0.1', false],
  ['', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopbackHost(host)).toBe(expected);
});
