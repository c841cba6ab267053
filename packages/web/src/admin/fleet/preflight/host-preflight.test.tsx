// @vitest-environment happy-dom

import type { PlannedPath } from '@footlight/protocol/rest';
import { NETWORK_PATHS } from '@footlight/protocol/telemetry';
import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { host } from '../../../../test/fixtures.ts';
import { answerBy, refusal, showPage } from '../../../../test/show-page.tsx';
import { HostPreflight } from './host-preflight.tsx';
import type { PathResult } from './preflight-model.ts';
import { type PeerTest, testPeer } from './preflight-peer.ts';

vi.mock('./preflight-peer.ts', () => ({ testPeer: vi.fn() }));

const ports = { media_ports: { first: 50_000, last: 50_255, configured: true }, fallback_port: null };

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.mocked(testPeer).mockReset();
});

const paths = (part: Partial<Record<PlannedPath['path'], Partial<PlannedPath>>> = {}): PlannedPath[] =>
  NETWORK_PATHS.map((path) => ({
    path,
    ice_servers: path.startsWith('turn') ? [{ urls: ['turn:turn.example.org:3478'] }] : [],
    missing: null,
    ...part[path],
  }));

function show(
  results: Partial<Record<PlannedPath['path'], PathResult>>,
  planned = paths(),
  tested = host(1),
) {
  vi.mocked(testPeer).mockImplementation(async ({ planned: { path } }: PeerTest) => {
    const result = results[path];
    if (result === undefined) throw new Error(`no result for ${path}`);
    return result;
  });
  const writes = answerBy({ 'preflight.start': () => ({ paths: planned }) });
  showPage(<HostPreflight host={tested} />);
  return writes;
}

const begin = async () => fireEvent.click(await screen.findByRole('button', { name: 'Test the connection' }));
const row = async (name: string) => {
  const title = await screen.findByText(name);
  return within(title.closest('li') as HTMLElement);
};

test('each path shows its result, and the page says which one people use', async () => {
  show({
    udp: { kind: 'works', rttMs: 0.84 },
    tcp: { kind: 'missing' },
    turn_udp: { kind: 'works', rttMs: 32.4 },
    turn_tcp: { kind: 'no_relay' },
    turn_tls: { kind: 'no_connection', ports },
  });
  await begin();
  await screen.findByText(/People in this network reach the host directly over UDP/);
  (await row('Direct, UDP')).getByText('Round trip 0.8 ms');
  (await row('TURN over UDP')).getByText('Round trip 32 ms');
  (await row('TURN over TCP')).getByText(/got no relay from turn\.example\.org:3478/);
  (await row('TURN over TLS')).getByText('Does not work');
  (await row('Direct, TCP')).getByText('Not set up');
  expect(vi.mocked(testPeer)).toHaveBeenCalledTimes(5);
  await screen.findByRole('button', { name: 'Test again' });
});

test('a blocked direct path shows the firewall lines to copy', async () => {
  show(
    {
      udp: { kind: 'no_connection', ports },
      tcp: { kind: 'missing' },
      turn_udp: { kind: 'works', rttMs: 20 },
    },
    paths({ turn_tcp: { missing: 'turn_server' }, turn_tls: { missing: 'turn_server' } }),
    { ...host(1), readiness: null },
  );
  await begin();
  await screen.findByText(/only through the TURN server/);
  await screen.findByDisplayValue('ufw allow 50000:50255/udp');
  screen.getByDisplayValue('nft insert rule inet filter input udp dport 50000-50255 accept');
});

test('a path that could not be tested says why, and the others are tested', async () => {
  show({
    tcp: { kind: 'missing' },
    turn_udp: { kind: 'works', rttMs: 20 },
    turn_tcp: { kind: 'no_relay' },
    turn_tls: { kind: 'no_relay' },
  });
  await begin();
  (await row('Direct, UDP')).getByText('This browser could not make the test.');
  await screen.findByText(/^TURN over UDP works\..* could not be tested: Direct, UDP\.$/);
});

test('an old agent must be updated', async () => {
  answerBy({ 'preflight.start': () => refusal(409, 'preflight_unsupported', 'too old') });
  showPage(<HostPreflight host={host(1)} />);
  await begin();
  await screen.findByText('Update the agent of this host');
});

test('a host that has just gone offline shows the error', async () => {
  answerBy({ 'preflight.start': () => refusal(409, 'conflict', 'gpu-01 is offline.') });
  showPage(<HostPreflight host={host(1)} />);
  await begin();
  await screen.findByText('gpu-01 is offline.');
});

test('an offline host cannot be tested, with the reason', async () => {
  answerBy({});
  showPage(<HostPreflight host={host(1, { status: 'offline' })} />);
  await screen.findByText('An offline host cannot be tested. Connect it first.');
  const button = screen.getByRole('button', { name: 'Test the connection' }) as HTMLButtonElement;
  expect(button.disabled).toBe(true);
});

test('leaving the page ends the test', async () => {
  let signal: AbortSignal | undefined;
  vi.mocked(testPeer).mockImplementation((begun) => {
    signal = begun.signal;
    return new Promise(() => {});
  });
  answerBy({ 'preflight.start': () => ({ paths: paths() }) });
  showPage(<HostPreflight host={host(1)} />);
  await begin();
  await screen.findByText('Testing');
  cleanup();
  expect(signal?.aborted).toBe(true);
});
