import type { Host, PlannedPath } from '@footlight/protocol/rest';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import { describe, expect, test } from 'vitest';
import { adviceFor, type HostPorts, type PathState, pathSentence } from './preflight-model.ts';

const range: HostPorts = {
  media_ports: { first: 50_000, last: 50_255, configured: true },
  fallback_port: 8444,
};
const ephemeral: HostPorts = {
  media_ports: { first: 32_768, last: 60_999, configured: false },
  fallback_port: null,
};
const planned = (path: NetworkPath, part: Partial<PlannedPath> = {}): PlannedPath => ({
  path,
  ice_servers: [],
  missing: null,
  ...part,
});
const closed: Host['readiness'] = [
  {
    id: 'media_reachability',
    status: 'fail',
    summary: 'A firewall closes ports.',
    remediation: ['ufw allow 50000:50255/udp'],
  },
];
const advice = (one: PlannedPath, state: PathState, readiness: Host['readiness'] = []) =>
  adviceFor({ planned: one, readiness }, state);
const works: PathState = { kind: 'works', rttMs: 3 };
const failed: PathState = { kind: 'failed', error: new Error('offline') };
const blocked: PathState = { kind: 'no_connection', ports: range };

describe('the path that people will use', () => {
  const shown = (...states: [NetworkPath, PathState][]) =>
    pathSentence(states.map(([path, state]) => ({ path, state })));

  test.each<[string, [NetworkPath, PathState][], RegExp]>([
    [
      'direct',
      [
        ['udp', works],
        ['turn_udp', works],
      ],
      /directly over UDP.*costs nothing/,
    ],
    [
      'direct over TCP',
      [
        ['udp', blocked],
        ['tcp', works],
      ],
      /only over TCP/,
    ],
    [
      'TURN',
      [
        ['udp', blocked],
        ['tcp', { kind: 'missing' }],
        ['turn_udp', works],
      ],
      /only through the TURN server/,
    ],
    [
      'TURN over TLS',
      [
        ['udp', blocked],
        ['turn_tcp', { kind: 'no_relay' }],
        ['turn_tls', works],
      ],
      /and TLS/,
    ],
  ])('is the first that works: %s', (name, states, text) => {
    const tone = name === 'direct' ? 'success' : 'warning';
    expect(shown(...states)).toEqual({ tone, text: expect.stringMatching(text) });
  });

  test('is none, when no path works', () => {
    expect(shown(['udp', blocked], ['turn_udp', { kind: 'missing' }])).toMatchObject({ tone: 'danger' });
  });

  test('is not known if a better path could not be tested, which the sentence names', () => {
    const states: [NetworkPath, PathState][] = [
      ['udp', failed],
      ['tcp', blocked],
      ['turn_udp', works],
    ];
    expect(shown(...states)).toEqual({
      tone: 'info',
      text: expect.stringMatching(/^TURN over UDP works\. .*: Direct, UDP\.$/),
    });
    const text = shown(['udp', works], ['tcp', failed])?.text;
    expect(text).toMatch(/directly over UDP/);
  });

  test('is not known if no tested path works, but another could not be tested', () => {
    const sentence = shown(['udp', blocked], ['tcp', failed], ['turn_udp', failed]);
    expect(sentence).toEqual({
      tone: 'info',
      text: expect.stringMatching(/^No path that was tested works\..*: Direct, TCP; TURN over UDP\.$/),
    });
  });

  test('is not known if all tests failed, and no line below is promised', () => {
    const sentence = shown(['udp', failed], ['tcp', { kind: 'missing' }], ['turn_udp', failed]);
    expect(sentence).toEqual({ tone: 'info', text: expect.stringMatching(/^No path could be tested\./) });
    expect(sentence?.text).not.toContain('below');
  });

  test('is not known while a better path is not tested', () => {
    expect(shown(['udp', { kind: 'testing' }], ['turn_udp', { kind: 'waiting' }])).toBeNull();
    expect(shown(['udp', blocked], ['turn_udp', { kind: 'waiting' }])).toBeNull();
    expect(shown(['udp', works], ['turn_udp', { kind: 'waiting' }])).toMatchObject({ tone: 'success' });
  });
});

describe('a blocked direct path', () => {
  test('names the firewall lines for the ports of the host', () => {
    const lines = advice(planned('udp'), blocked);
    expect(lines).toContain('ufw allow 50000:50255/udp');
    expect(lines).toContain('nft insert rule inet filter input udp dport 50000-50255 accept');
    expect(lines.join()).toContain('forward or open the UDP ports 50000-50255 there too');
    expect(lines.at(-1)).toContain('only the fallback port 8444');
  });

  test('uses the command of the host, if its own check found the ports closed', () => {
    const lines = advice(planned('udp'), blocked, closed);
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^The firewall of the host closes/),
      'ufw allow 50000:50255/udp',
    ]);
    expect(lines.join()).not.toContain('nft');
  });

  test.each([
    ['udp', 'UDP ports 50000-50255'],
    ['tcp', 'TCP port 8444'],
  ] as const)('is not the fault of a host without firewall rules: %s', (path, ports) => {
    const open = ['media_reachability', 'media_fallback'].map((id) => ({
      ...{ id, status: 'pass' as const },
      ...{ summary: '', remediation: [] },
    }));
    const lines = advice(planned(path), blocked, open);
    expect(lines[0]).toContain('look beyond the host');
    expect(lines[1]).toContain(`forward or open the ${ports} there too`);
    expect(lines[1]).toContain('SERVICE_ICE_SERVERS of the control plane');
    expect(lines.join()).not.toMatch(/ufw|nft/);
  });

  test('of a host without an address says so, and names no firewall', () => {
    const summary = 'This host has no address besides loopback, so no viewer can receive its picture.';
    const remedy = 'Connect a network interface, or set SERVICE_MEDIA_ADDRESSES to an address of this host.';
    const check = { id: 'media_reachability', status: 'fail' as const, summary, remediation: [remedy] };
    expect(advice(planned('udp'), blocked, [check])).toEqual([summary, remedy]);
  });

  test('says for ephemeral ports how to make the range smaller', () => {
    const lines = advice(planned('udp'), { kind: 'no_connection', ports: ephemeral });
    expect(lines).toContain('ufw allow 32768:60999/udp');
    expect(lines.at(-1)).toBe('SERVICE_MEDIA_PORTS=50000-50255 footlight-agent install');
  });

  test('of one port names this port', () => {
    const ports = { ...range, media_ports: { first: 50_000, last: 50_000, configured: true } };
    expect(advice(planned('udp'), { kind: 'no_connection', ports })).toContain('ufw allow 50000/udp');
  });
});

describe('a TURN server', () => {
  const server = (...urls: string[]) => ({ ice_servers: [{ urls, username: 'u', credential: 'c' }] });

  test.each<[NetworkPath, string, RegExp]>([
    ['turn_udp', 'turn:turn.example.org', /turn\.example\.org:3478\. Open this UDP port/],
    ['turn_tcp', 'turn:turn.example.org:3479?transport=tcp', /turn\.example\.org:3479\. Open this TCP port/],
    ['turn_tls', 'turns:turn.example.org', /turn\.example\.org:5349\. Open this TCP port/],
    ['turn_udp', 'turn:[2001:db8::1]:3478', /\[2001:db8::1\]:3478/],
  ])('that gives no relay is named with its port: %s %s', (path, url, text) => {
    expect(advice(planned(path, server(url)), { kind: 'no_relay' })[0]).toMatch(text);
  });

  test.each([
    ['turn_udp', range, /UDP ports 50000-50255 and 8444 of the host/, false],
    ['turn_udp', ephemeral, /UDP ports 32768-60999 of the host/, false],
    ['turn_tls', range, /UDP ports 50000-50255 and 8444 of the host/, false],
    ['turn_tls', ephemeral, /UDP ports 32768-60999 of the host/, true],
  ] as const)('that does not reach the host needs the ports of the host: %s', (path, ports, text, names) => {
    const lines = advice(planned(path, server('turn:turn.example.org')), { kind: 'no_connection', ports });
    expect(lines[0]).toMatch(text);
    expect(lines.join().includes('Chrome and Edge')).toBe(names);
  });

  test.each([
    ['turn_udp', 'transport=udp'],
    ['turn_tcp', 'transport=tcp'],
    ['turn_tls', 'turns:'],
  ] as const)('that is not configured names the variable, with a URL for %s', (path, url) => {
    const [line] = advice(planned(path, { missing: 'turn_server' }), { kind: 'missing' });
    expect(line).toContain('SERVICE_TURN_URLS');
    expect(line).toContain(url);
  });
});

test('a closed fallback port has its own firewall lines', () => {
  const lines = advice(planned('tcp'), blocked);
  expect(lines).toContain('ufw allow 8444/tcp');
  expect(lines).toContain('nft insert rule inet filter input tcp dport 8444 accept');
});

describe('a closed fallback port, if a check of the host found closed ports', () => {
  const check = (command: string) => ({
    id: 'media_fallback',
    status: 'fail' as const,
    summary: 'A firewall closes the fallback port.',
    remediation: [command],
  });

  test('uses the command of the check of this port, not of the media ports', () => {
    const own = 'ufw allow 8444/tcp && ufw allow 8444/udp';
    const lines = advice(planned('tcp'), blocked, [...closed, check(own)]);
    expect(lines.slice(0, 2)).toEqual([expect.stringMatching(/closes its fallback port/), own]);
    expect(advice(planned('udp'), blocked, [check(own)]).join()).not.toContain(own);
  });

  test('uses no command that opens the port only for UDP', () => {
    const lines = advice(planned('tcp'), blocked, [check('ufw allow 8444/udp')]);
    expect(lines).toContain('nft insert rule inet filter input tcp dport 8444 accept');
    expect(lines).not.toContain('ufw allow 8444/udp');
  });
});

test('a host without a fallback port gets the command that sets one', () => {
  const lines = advice(planned('tcp'), { kind: 'missing' });
  expect(lines).toContain('SERVICE_MEDIA_FALLBACK_PORT=8444 footlight-agent install');
});

test('a path that works, or is not tested yet, needs no advice', () => {
  for (const state of [works, { kind: 'waiting' }, { kind: 'testing' }] as const)
    expect(advice(planned('udp'), state)).toEqual([]);
});
