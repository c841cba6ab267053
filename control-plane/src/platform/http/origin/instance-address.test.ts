import { describe, expect, test } from 'vitest';
import { instanceAddress, linkAddress } from './instance-address.ts';

describe('the address for new hosts', () => {
  const base = new URL('https://play.example.org/footlight/');
  test.each([
    ['PUBLIC_BASE_URL counts first', base, 'inside:8443', true, 'https://play.example.org/footlight'],
    ['else https and the Host', null, '192.0.2.7:8443', true, 'https://192.0.2.7:8443'],
    ['an IPv6 literal keeps its brackets', null, '[2001:db8::7]:8443', true, 'https://[2001:db8::7]:8443'],
    ['http where SERVICE_TLS is off', null, 'play.lan:8080', false, 'http://play.lan:8080'],
  ])('%s', (_words, publicBaseUrl, host, tls, address) => {
    expect(instanceAddress({ publicBaseUrl, host, tls })).toBe(address);
  });

  test.each([
    ...[undefined, '', 'a b', 'x;reboot', '$(reboot)', "a'b", 'user@host', 'host:port', 'a/b'],
    ...['host:99999', '1.2.3.4.5', '[:::1]', '0x100000000'],
  ])('a Host of %j is refused', (host) => {
    expect(() => instanceAddress({ publicBaseUrl: null, host, tls: true })).toThrow('PUBLIC_BASE_URL');
  });
});

describe('the address of a link for another person', () => {
  const base = new URL('https://play.example.org/footlight/');
  const own = ['fd00::5', '192.0.2.9'];
  test.each([
    [
      'PUBLIC_BASE_URL counts first',
      base,
      'localhost:8443',
      own,
      'https://play.example.org/footlight',
      'configured',
    ],
    ['else the address of the request', null, 'play.lan:8443', own, 'https://play.lan:8443', 'request'],
    ['never localhost', null, 'localhost:8443', own, 'https://192.0.2.9:9443', 'machine'],
    ['nor 127.0.0.1', null, '127.0.0.1:8443', own, 'https://192.0.2.9:9443', 'machine'],
    ['nor ::1', null, '[::1]:8443', ['fd00::5'], 'https://[fd00::5]:9443', 'machine'],
    ['unless the machine has no other', null, 'localhost:8443', [], 'https://localhost:8443', 'request'],
  ] as const)('%s', (_words, publicBaseUrl, host, addresses, address, source) => {
    expect(linkAddress({ publicBaseUrl, host, tls: true }, addresses, 9443)).toEqual({ address, source });
  });

  test('is http where SERVICE_TLS is off', () => {
    expect(
      linkAddress({ publicBaseUrl: null, host: 'localhost', tls: false }, ['192.0.2.9'], 8080).address,
    ).toBe('http://192.0.2.9:8080');
  });
});
