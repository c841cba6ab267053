import { expect, test } from 'vitest';
import { parseCandidate } from '../webrtc/candidates.ts';
import { fallbackCandidates, hostPort, iceCredentials } from './offered-candidates.ts';

const host = 'a=candidate:1 1 UDP 2122317823 10.0.0.5 46154 typ host';

test('a host candidate gets one by UDP and one by TCP, each less preferred than the one before', () => {
  const offered = fallbackCandidates(host, 8444);
  expect(offered.map((line) => line.replace(/ \d+ 10/, ' N 10'))).toEqual([
    'candidate:1fu 1 UDP N 10.0.0.5 8444 typ host',
    'candidate:1ft 1 TCP N 10.0.0.5 8444 typ host tcptype passive',
  ]);
  const priorities = [host, ...offered].map((line) => parseCandidate(line)?.priority ?? 0);
  expect(priorities).toEqual([...priorities].sort((a, b) => b - a));
  expect(new Set(priorities).size).toBe(3);
});

test('the public address of a router gets both too, and a relay none', () => {
  const router = host.replace('typ host', 'typ srflx raddr 0.0.0.0 rport 0');
  expect(fallbackCandidates(router, 8444).map((line) => line.replace(/ \d+ 10/, ' N 10'))).toEqual([
    'candidate:1fu 1 UDP N 10.0.0.5 8444 typ srflx raddr 0.0.0.0 rport 0',
    'candidate:1ft 1 TCP N 10.0.0.5 8444 typ srflx raddr 0.0.0.0 rport 0 tcptype passive',
  ]);
  expect(fallbackCandidates(host.replace('typ host', 'typ relay raddr 1.2.3.4 rport 5'), 8444)).toEqual([]);
});

test('the port of the connection is that of its host candidates', () => {
  expect(hostPort(host)).toBe(46_154);
  expect(hostPort(host.replace('typ host', 'typ srflx raddr 0.0.0.0 rport 0'))).toBeNull();
});

test('fragment and password are those of the session description', () => {
  const sdp = 'v=0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n';
  expect(iceCredentials(sdp)).toEqual({ ufrag: 'abcd', pwd: '0123456789012345678901' });
  expect(iceCredentials('v=0\r\na=ice-ufrag:abcd\r\n')).toBeNull();
});
