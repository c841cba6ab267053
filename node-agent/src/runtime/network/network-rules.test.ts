import { expect, test } from 'vitest';
import { appResolvConf, networkSetup } from './network-rules.ts';

test('the addresses of the host are blocked, each once', () => {
  const { setup4, setup6 } = networkSetup(['192.0.2.1', '192.0.2.1', '2001:db8::1', '100.100.100.200']);
  const lines = setup4.split('\n');
  expect(lines[0]).toBe('link set lo up');
  expect(lines.filter((line) => line.includes(' 192.0.2.1/32 '))).toEqual([
    'xfrm policy add dst 192.0.2.1/32 dir out action block',
  ]);
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines).toContain('xfrm policy add dst 169.254.0.0/16 dir out action block');
  expect(setup6.split('\n')).toEqual(
    expect.arrayContaining([
      'rule add pref 1 to fe80::/10 prohibit',
      'rule add pref 1 to fd00:ec2::/32 prohibit',
      'rule add pref 1 to 2001:db8::1/128 prohibit',
    ]),
  );
});

test('the number of a host’s own addresses in the command line is limited', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
  expect(networkSetup(many).setup4.length).toBeLessThan(24_000);
});

test.each([
  [
    'a resolver on the loopback',
    'nameserver 127.0.0.53\noptions edns0\nsearch lan\n',
    ['192.0.0.8'],
    ['options edns0', 'search lan'],
  ],
  ['resolvers of both families', 'nameserver 9.9.9.9\nnameserver 2620:fe::fe', ['192.0.0.8', '100::8'], []],
  ['IPv6 alone', '# none\nnameserver fd00::1', ['100::8'], []],
  ['no resolver', '', ['192.0.0.8'], []],
])('%s: replaced by pasta, and search options are kept', (_words, host, servers, kept) => {
  const expected = [...servers.map((server) => `nameserver ${server}`), ...kept, ''];
  expect(appResolvConf(host).split('\n')).toEqual(expected);
});
