import { NETWORK_PATHS } from '@footlight/protocol/telemetry';
import { describe, expect, test } from 'vitest';
import { answeredCandidates, usesCandidate } from './path-candidates.ts';

const line = (address: string, type: string, transport = 'UDP') =>
  `candidate:1 1 ${transport} 2122260223 ${address} 50000 typ ${type}`;
const host = line('192.0.2.7', 'host');
const reflexive = line('198.51.100.1', 'srflx raddr 0.0.0.0 rport 0');
const relay = line('203.0.113.5', 'relay raddr 0.0.0.0 rport 0');
const local = line('0f3a1c52-1111-4222-8333-444455556666.local', 'host');

describe('the host offers', () => {
  // The fallback port is also offered with the public address of a router, which may forward it.
  const udpFallback = [
    expect.stringMatching(/ UDP \d+ 192\.0\.2\.7 8444 typ host$/),
    expect.stringMatching(/ UDP \d+ 198\.51\.100\.1 8444 typ srflx /),
  ];
  const tcpFallback = [
    expect.stringMatching(/ TCP \d+ 192\.0\.2\.7 8444 typ host tcptype passive$/),
    expect.stringMatching(/ TCP \d+ 198\.51\.100\.1 8444 typ srflx .*tcptype passive$/),
  ];

  test.each([
    ['udp', [host, reflexive], udpFallback],
    ['tcp', [], tcpFallback],
    ['turn_udp', [host, reflexive, relay], udpFallback],
    ['turn_tcp', [host, reflexive, relay], udpFallback],
    ['turn_tls', [host, reflexive, relay], udpFallback],
  ] as const)('for the path %s', (path, own, fallback) => {
    const found = [host, reflexive, relay];
    expect(answeredCandidates(path, found, null)).toEqual(own);
    expect(answeredCandidates(path, found, 8444)).toEqual([...own, ...fallback]);
  });
});

test('a path other than the tested one gets no candidate of the browser', () => {
  const used = (path: (typeof NETWORK_PATHS)[number]) =>
    [host, local, reflexive, relay].filter((candidate) => usesCandidate(path, candidate));
  expect(NETWORK_PATHS.map((path) => [path, used(path).length])).toEqual([
    ['udp', 3],
    ['tcp', 0],
    ['turn_udp', 1],
    ['turn_tcp', 1],
    ['turn_tls', 1],
  ]);
  expect(used('turn_tls')).toEqual([relay]);
});
