import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createClientAddresses } from './client-address.ts';

function ask(trusted: string[], peer: string, forwarded?: string) {
  const request = {
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  };
  return createClientAddresses(trusted).of(request);
}

describe('the client address', () => {
  test.each([
    ['the peer without trusted proxies', [], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the peer when it is no trusted proxy', ['10.0.0.0/8'], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [
      'the right-most hop that is not trusted',
      ['10.0.0.0/8'],
      '10.0.0.1',
      '1.1.1.1, 198.51.100.1, 10.9.9.9',
      '198.51.100.1',
    ],
    ['the peer when every hop is trusted', ['10.0.0.0/8'], '10.0.0.1', '10.1.1.1,10.2.2.2', '10.0.0.1'],
    ['the peer at an unreadable hop', ['10.0.0.0/8'], '10.0.0.1', '198.51.100.1, nonsense', '10.0.0.1'],
    ['the peer at an empty hop', ['10.0.0.0/8'], '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
    ['the peer for an empty header', ['10.0.0.0/8'], '10.0.0.1', '', '10.0.0.1'],
    [
      'the client although an unreadable hop stands left of it',
      ['10.0.0.1'],
      '10.0.0.1',
      'x, 198.51.100.1',
      '198.51.100.1',
    ],
    [
      'an IPv4 address for a mapped one',
      ['::ffff:10.0.0.1'],
      '::ffff:10.0.0.1',
      '::ffff:198.51.100.1',
      '198.51.100.1',
    ],
    ['never an octal or shortened address', ['10.0.0.1'], '10.0.0.1', '0177.0.0.1', '10.0.0.1'],
    ['an IPv6 client', ['fd00::/8'], 'fd00::1', '2001:DB8:0:1:2::3', '2001:db8:0:1:2::3'],
  ])('is %s', (_, trusted, peer, header, expected) => {
    expect(ask(trusted, peer, header).address).toBe(expected);
  });

  test('walks at most 32 hops', () => {
    const hops = (count: number) => ['198.51.100.1', ...Array(count - 1).fill('10.1.1.1')].join(',');
    expect(ask(['10.0.0.0/8'], '10.0.0.1', hops(32)).address).toBe('198.51.100.1');
    expect(ask(['10.0.0.0/8'], '10.0.0.1', hops(33)).address).toBe('10.0.0.1');
  });

  test('keys IPv6 by its /64 and IPv4 by the whole address', () => {
    const a = ask([], '2001:db8:1:2:3::4').addressKey;
    expect(ask([], '2001:db8:1:2:ffff::9').addressKey).toBe(a);
    expect(ask([], '2001:db8:1:3::4').addressKey).not.toBe(a);
    expect(ask([], '203.0.113.9').addressKey).toBe('203.0.113.9');
  });

  test('keys IPv4 clients behind a translator by their own addresses, and trusts none of them by it', () => {
    expect(ask([], '64:ff9b::203.0.113.9').addressKey).toBe('203.0.113.9');
    expect(ask([], '64:ff9b::203.0.113.10').addressKey).toBe('203.0.113.10');
    expect(ask([], '64:ff9b:0:0:1::cb00:7109').addressKey).toBe('64:ff9b::/64');
    const forged = ask(['203.0.113.9'], '64:ff9b::203.0.113.9', '192.0.2.7');
    expect(forged.addressKey).toBe('203.0.113.9');
  });

  test('does not depend on hops that a client adds to the left of the last untrusted hop', () => {
    const hop = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constant(''));
    fc.assert(
      fc.property(
        fc.array(hop, { maxLength: 20 }),
        fc.array(fc.constant('10.3.3.3'), { maxLength: 5 }),
        (forged, own) => {
          const left = forged.map((text) => text.replaceAll(',', '')).slice(0, 20);
          const header = [...left, '198.51.100.7', ...own].join(',');
          expect(ask(['10.0.0.0/8'], '10.0.0.1', header).address).toBe('198.51.100.7');
        },
      ),
    );
  });

  const peer = '10.0.0.1';
  /** Texts of hops, each with its meaning: a client's canonical address, a proxy, or no address. */
  const hop: fc.Arbitrary<[string, string | 'proxy' | 'odd']> = fc.constantFrom(
    ['198.51.100.7', '198.51.100.7'],
    [' 203.0.113.9 ', '203.0.113.9'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['2001:DB8:0:1:2::3', '2001:db8:0:1:2::3'],
    ['10.1.2.3', 'proxy'],
    ['::FFFF:10.1.2.3', 'proxy'],
    ['fd00::9', 'proxy'],
    ['', 'odd'],
    ['unknown', 'odd'],
    ['0177.0.0.1', 'odd'],
    ['198.51.100.7:443', 'odd'],
    ['[2001:db8::1]', 'odd'],
  );

  test('is the right-most hop that is no proxy, for any list of hops', () => {
    fc.assert(
      fc.property(fc.array(hop, { minLength: 1, maxLength: 40 }), (hops) => {
        const header = hops.map(([text]) => text).join(',');
        const rightMost = hops.map(([, meaning]) => meaning).findLast((meaning) => meaning !== 'proxy');
        const found = rightMost === undefined || rightMost === 'odd' || hops.length > 32 ? peer : rightMost;
        expect(ask(['10.0.0.0/8', 'fd00::/8'], peer, header).address).toBe(found);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is a peer that is no proxy, with any list of hops', () => {
    fc.assert(
      fc.property(fc.array(hop), fc.constantFrom('203.0.113.1', '2001:db8::1'), (hops, stranger) => {
        const header = hops.map(([text]) => text).join(',');
        expect(ask(['10.0.0.0/8', 'fd00::/8'], stranger, header).address).toBe(stranger);
        expect(ask([], peer, header).address).toBe(peer);
      }),
    );
  });

  test('is the peer or a hop of the header, for any header', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (header) => {
        const { address } = ask(['10.0.0.0/8'], '10.0.0.1', header);
        expect(address === '10.0.0.1' || /^[0-9a-f.:]+$/.test(address)).toBe(true);
      }),
    );
  });
});
