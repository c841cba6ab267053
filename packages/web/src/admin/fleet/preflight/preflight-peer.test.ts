import { ManualClock } from '@footlight/platform/testing';
import { MAX_PREFLIGHT_SDP } from '@footlight/protocol/preflight';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import { expect, test, vi } from 'vitest';
import { testPeer } from './preflight-peer.ts';

const PORTS = { media_ports: { first: 50_000, last: 50_255, configured: true }, fallback_port: 8444 };
const HOST = 'v=0\r\na=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\n';
const RELAY = 'v=0\r\na=candidate:1 1 udp 1 203.0.113.1 5000 typ relay\r\n';

/** A data channel whose messages the host echoes after ten milliseconds. */
class FakeChannel extends EventTarget {
  readyState = 'connecting';
  readonly sent: string[] = [];
  echoes = true;
  constructor(readonly clock: ManualClock) {
    super();
  }
  send(text: string): void {
    this.sent.push(text);
    if (this.echoes) this.clock.setTimeout(() => this.dispatchEvent(new Event('message')), 10);
  }
  open(): void {
    this.readyState = 'open';
    this.dispatchEvent(new Event('open'));
  }
}

class FakePeer extends EventTarget {
  iceGatheringState = 'gathering';
  localDescription: { sdp: string } | null = null;
  remote: string | null = null;
  closed = false;
  readonly channel: FakeChannel;
  constructor(
    clock: ManualClock,
    readonly configuration: RTCConfiguration,
    private readonly sdp: string,
  ) {
    super();
    this.channel = new FakeChannel(clock);
  }
  createDataChannel = () => this.channel;
  setLocalDescription = async () => {
    this.localDescription = { sdp: this.sdp };
  };
  setRemoteDescription = async ({ sdp }: { sdp: string }) => {
    this.remote = sdp;
  };
  gathered(): void {
    this.iceGatheringState = 'complete';
    this.dispatchEvent(new Event('icegatheringstatechange'));
  }
  close = () => {
    this.closed = true;
  };
}

function begin(path: NetworkPath = 'udp', sdp = HOST) {
  const clock = new ManualClock();
  const ending = new AbortController();
  const peers: FakePeer[] = [];
  const exchange = vi.fn(
    async (_offer: string): Promise<{ answer: string | null } & typeof PORTS> => ({
      answer: 'the answer',
      ...PORTS,
    }),
  );
  const result = testPeer({
    planned: { path, ice_servers: [{ urls: ['turn:turn.example.org'], username: 'u', credential: 'c' }] },
    clock,
    signal: ending.signal,
    exchange,
    connect: (configuration) => {
      const made = new FakePeer(clock, configuration, sdp);
      peers.push(made);
      return made as unknown as RTCPeerConnection;
    },
  });
  const peer = peers[0] as FakePeer;
  /** Lets pending promises continue. */
  const turn = async () => {
    for (let count = 0; count < 10; count += 1) await Promise.resolve();
  };
  const pass = async (ms: number) => {
    await turn();
    await clock.advance(ms);
    await turn();
  };
  return { clock, ending, exchange, result, peer, turn, pass };
}

test('a path works: the offer has all candidates, and the round trip is measured', async () => {
  const { exchange, result, peer, turn, pass } = begin();
  await turn();
  expect(exchange).not.toHaveBeenCalled();
  peer.gathered();
  await turn();
  expect(exchange).toHaveBeenCalledWith(HOST);
  expect(peer.remote).toBe('the answer');
  peer.channel.open();
  for (let count = 0; count < 5; count += 1) await pass(10);
  expect(await result).toEqual({ kind: 'works', rttMs: 10 });
  expect(peer.channel.sent).toEqual(['0', '1', '2', '3', '4']);
  expect(peer.closed).toBe(true);
});

test.each([
  ['udp', 'all'],
  ['tcp', 'all'],
  ['turn_tls', 'relay'],
] as const)('the browser uses for %s only paths of this kind', async (path, policy) => {
  const { ending, result, peer } = begin(path);
  expect(peer.configuration.iceTransportPolicy).toBe(policy);
  ending.abort();
  await expect(result).rejects.toThrow();
});

test('without a relay the host is not asked', async () => {
  const { exchange, result, peer, pass } = begin('turn_udp');
  await pass(5_000);
  expect(await result).toEqual({ kind: 'no_relay' });
  expect(exchange).not.toHaveBeenCalled();
  expect(peer.closed).toBe(true);
});

test('a path that does not connect in time does not work', async () => {
  const { result, peer, pass } = begin('turn_udp', RELAY);
  await pass(5_000);
  await pass(8_000);
  expect(await result).toEqual({ kind: 'no_connection', ports: PORTS });
  expect(peer.closed).toBe(true);
});

test('a host that does not echo does not work', async () => {
  const { result, peer, pass, turn } = begin();
  peer.channel.echoes = false;
  await turn();
  peer.gathered();
  await turn();
  peer.channel.open();
  await pass(4_000);
  expect(await result).toMatchObject({ kind: 'no_connection' });
});

test('a host without a fallback port has no path over TCP', async () => {
  const { exchange, result, peer, turn } = begin('tcp');
  exchange.mockResolvedValue({ ...PORTS, answer: null, fallback_port: null } as never);
  await turn();
  peer.gathered();
  expect(await result).toEqual({ kind: 'missing' });
  expect(peer.closed).toBe(true);
});

test('a refusal of the host ends the test', async () => {
  const { exchange, result, peer, turn } = begin();
  exchange.mockRejectedValue(new Error('offline'));
  await turn();
  peer.gathered();
  await expect(result).rejects.toThrow('offline');
  expect(peer.closed).toBe(true);
});

test('an offer that the service would refuse is not sent', async () => {
  const { exchange, result, peer, turn } = begin('udp', 'v'.repeat(MAX_PREFLIGHT_SDP + 1));
  await turn();
  peer.gathered();
  await expect(result).rejects.toThrow('too long');
  expect(exchange).not.toHaveBeenCalled();
});

test('leaving the page closes the connection', async () => {
  const { ending, result, peer, turn } = begin();
  await turn();
  peer.gathered();
  await turn();
  ending.abort();
  await expect(result).rejects.toThrow();
  expect(peer.closed).toBe(true);
});
