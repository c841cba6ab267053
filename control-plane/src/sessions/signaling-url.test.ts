import { expect, test } from 'vitest';
import { signalingUrl } from './signaling-url.ts';

const PUBLIC = new URL('https://play.example.org');

test.each([
  ['plain', { host: 'box:8080' }, false, null, 'ws://box:8080/v1/signal'],
  ['over TLS', { host: 'box:8443' }, true, null, 'wss://box:8443/v1/signal'],
  [
    'TLS ends at the proxy',
    { host: 'inner', 'x-forwarded-proto': 'https' },
    false,
    null,
    'wss://inner/v1/signal',
  ],
  [
    'the left-most forwarded host',
    { host: 'inner', 'x-forwarded-host': 'outer.example, mid', 'x-forwarded-proto': 'https' },
    false,
    null,
    'wss://outer.example/v1/signal',
  ],
  [
    'the public address behind a proxy',
    { host: 'inner', 'x-forwarded-for': '10.0.0.1' },
    false,
    PUBLIC,
    'wss://play.example.org/v1/signal',
  ],
  [
    'the public address is not used without a proxy',
    { host: 'box:8443' },
    true,
    PUBLIC,
    'wss://box:8443/v1/signal',
  ],
] as const)('%s', (_what, headers, overTls, base, url) => {
  expect(signalingUrl(headers, overTls, base)).toBe(url);
});
