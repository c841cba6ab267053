import { ManualClock } from '@footlight/platform/testing';
import type { AgentSignal } from '@footlight/protocol/agent';
import * as datachannel from 'node-datachannel';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OWNER } from '../input/page-rights.ts';
import { SessionInput } from '../input/session-input.ts';
import { testStream } from '../testing/stream.ts';
import { Peers } from './peers.ts';

const ALICE = '22222222-2222-4222-8222-222222222222';
const BOB = '33333333-3333-4333-8333-333333333333';

let peers: Peers;
let signals: { conn: number; msg: AgentSignal }[];
/** Functions that are called after each signal. */
const listeners = new Set<() => void>();
let events: string[];
let states: { from: unknown; to: unknown; pc: unknown }[];
let nextId: number;
let viewers: (() => void)[];
/** Clock of the peer connections. */
let clock: ManualClock;

const attach = (conn: number, clientId = ALICE, resume?: string) =>
  peers.attach({
    type: 'attach',
    conn,
    client_id: clientId,
    hello: {
      type: 'hello',
      protocol: 1,
      client_id: clientId,
      client: { kind: 'native' },
      codecs: ['h264'],
      ...(resume ? { resume: { pc_id: resume } } : {}),
    },
    ice_servers: [],
  });
const offers = () => signals.flatMap(({ msg }) => (msg.type === 'offer' ? [msg] : []));
const errors = () => signals.flatMap(({ msg }) => (msg.type === 'error' ? [msg.code] : []));
/** Waits for offers, because they are created on a thread of the native library. */
const untilOffers = async (count: number) => {
  while (offers().length < count) await new Promise((resolve) => setImmediate(resolve));
};

/**
 * Answers the newest offer on this socket from a connection in this process.
 * @param reachable whether the connection gets the candidates; without them it never connects
 * @param edit function that changes the answer before it is sent
 */
function answer(conn: number, { reachable = true, edit = (sdp: string) => sdp } = {}): void {
  const offer = offers().at(-1);
  const pc_id = offer?.pc_id ?? '';
  const connection = new datachannel.PeerConnection(`viewer ${pc_id}`, {
    iceServers: [],
    disableAutoNegotiation: true,
  });
  connection.onLocalDescription((sdp) => peers.onSignal(conn, { type: 'answer', pc_id, sdp: edit(sdp) }));
  connection.onTrack(() => undefined);
  connection.setRemoteDescription(offer?.sdp ?? '', 'offer');
  connection.setLocalDescription('answer');
  let told = 0;
  const tell = () => {
    for (const { msg } of signals.slice(told)) {
      told++;
      if (msg.type === 'candidate' && msg.pc_id === pc_id)
        connection.addRemoteCandidate(msg.candidate, 'video');
    }
  };
  if (reachable) {
    tell();
    listeners.add(tell);
  }
  viewers.push(() => {
    listeners.delete(tell);
    connection.close();
  });
}
/** Lets simulated and real time pass until a condition is true. */
const until = async (holds: () => boolean) => {
  const look = () => {
    if (holds()) return true;
    clock.advance(5);
    return false;
  };
  await expect.poll(look, { interval: 5, timeout: 10_000 }).toBe(true);
};

beforeEach(() => {
  viewers = [];
  clock = new ManualClock();
  signals = [];
  events = [];
  states = [];
  nextId = 0;
  peers = new Peers({
    stream: testStream({ audio: true }),
    addresses: null,
    ports: null,
    fallback: null,
    clock,
    uuid: () => `00000000-0000-4000-8000-${String(nextId++).padStart(12, '0')}`,
    random32: () => 0x1234_5678,
    resolver: { resolve: () => Promise.resolve(null), close: () => undefined },
    input: new SessionInput(clock, { width: 1280, height: 720 }, null),
    rights: OWNER,
    acceptsInput: () => true,
    maxFileMb: null,
    events: {
      signal: (conn, msg) => {
        signals.push({ conn, msg });
        for (const listener of listeners) listener();
      },
      event: (event, { kind, from, to, pc }) => {
        events.push(event);
        if (event === 'webrtc.state_changed' && kind === 'connection') states.push({ from, to, pc });
      },
      onViewer: (connected) => events.push(`viewer ${connected}`),
      onKeyframeWanted: () => undefined,
      onFilesChannel: () => undefined,
      onWindowUse: () => undefined,
      onClipboard: () => undefined,
      onViewerReady: () => undefined,
      onFirstOffer: () => events.push('first offer'),
      onMicPacket: () => undefined,
      onPointerDrawn: () => undefined,
      onPathChanged: () => undefined,
      path: { onPath: () => undefined, onDrained: () => undefined, onProbed: () => undefined },
    },
  });
});

afterEach(async () => {
  for (const close of viewers) close();
  const closed = peers.close('session_ended');
  clock.advance(1000);
  await closed;
});

describe('one negotiation per peer connection', () => {
  test('the offer names the lines, feedback and extensions', async () => {
    attach(1);
    await untilOffers(1);
    const [offer] = offers();
    expect(offer).toMatchObject({ pc_id: '00000000-0000-4000-8000-000000000000', reason: 'first' });
    for (const line of [
      'a=group:BUNDLE video audio data',
      'a=mid:video',
      'a=mid:audio',
      'a=mid:data',
      'a=setup:actpass',
      'a=rtcp-mux',
      'a=rtcp-fb:96 nack pli',
      'a=rtcp-fb:96 ccm fir',
      'a=rtcp-fb:96 goog-remb',
      'a=rtcp-fb:96 transport-cc',
      'profile-level-id=42e020',
      'stereo=1;sprop-stereo=1;useinbandfec=1',
    ]) {
      expect(offer?.sdp).toContain(line);
    }
    expect(offer?.sdp).not.toContain('a=candidate');
    expect(events).toContain('first offer');
  });

  test('without an answer for 20 s it is dropped with ice_timeout', async () => {
    attach(1);
    await untilOffers(1);
    clock.advance(19_999);
    expect(errors()).toEqual([]);
    clock.advance(1);
    expect(signals.findLast(({ msg }) => msg.type === 'error')).toMatchObject({
      conn: 1,
      msg: { type: 'error', code: 'ice_timeout', fatal: false },
    });
  });

  test('reasons: first, renegotiate, takeover; messages of an older socket are ignored', async () => {
    attach(5);
    await untilOffers(1);
    attach(6);
    await untilOffers(2);
    attach(7, BOB);
    attach(4);
    await untilOffers(3);
    expect(offers().map(({ reason }) => reason)).toEqual(['first', 'renegotiate', 'takeover']);
    expect(signals.every(({ conn }) => conn !== 4)).toBe(true);
  });

  test('after a detach a lower socket number is accepted: the control plane’s clock may have been set back', async () => {
    attach(1_000);
    await untilOffers(1);
    peers.detach(1_000);
    attach(7);
    await untilOffers(2);
    expect(signals.at(-1)?.conn).toBe(7);
  });

  test('a connection that is not connected is not resumed', async () => {
    attach(1);
    await untilOffers(1);
    attach(2, ALICE, offers()[0]?.pc_id);
    await untilOffers(2);
    expect(signals.some(({ msg }) => msg.type === 'resumed')).toBe(false);
  });

  test('one renegotiation in three seconds', async () => {
    attach(1);
    await untilOffers(1);
    const pc_id = offers()[0]?.pc_id ?? '';
    for (let count = 0; count < 5; count++) peers.onSignal(1, { type: 'renegotiate', pc_id, reason: 'user' });
    await untilOffers(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(offers()).toHaveLength(2);
  });

  test('of a hundred further answers to one offer, only the first is reported', async () => {
    attach(1);
    await untilOffers(1);
    const pc_id = offers()[0]?.pc_id ?? '';
    let sdp = '';
    answer(1, { edit: (real) => (sdp = real) });
    await until(() => sdp !== '');
    for (let count = 0; count < 100; count++) peers.onSignal(1, { type: 'answer', pc_id, sdp });
    expect(events.filter((event) => event === 'webrtc.remote_description_failed')).toHaveLength(1);
  });

  test('when a viewer leaves, events report its connection as connected and then closed', async () => {
    attach(1);
    await untilOffers(1);
    const pc = offers()[0]?.pc_id ?? '';
    answer(1);
    await until(() => events.includes('viewer true'));
    expect(states.at(-1)).toMatchObject({ to: 'connected', pc });
    peers.onSignal(1, { type: 'bye', reason: 'left' });
    expect(events).toContain('viewer false');
    expect(states.at(-1)).toEqual({ from: 'connected', to: 'closed', pc });
  });

  test('after detach nothing is sent, and messages are ignored', async () => {
    attach(1);
    await untilOffers(1);
    peers.detach(1);
    const sent = signals.length;
    peers.onSignal(1, { type: 'renegotiate', pc_id: offers()[0]?.pc_id ?? '', reason: 'user' });
    clock.advance(30_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(signals).toHaveLength(sent);
  });
});

describe('candidates of the host', () => {
  const candidatesOf = (pcId?: string) =>
    signals.filter(({ msg }) => msg.type === 'candidate' && msg.pc_id === pcId).length;
  /**
   * The library searches for the addresses of this machine on its own threads. If a search that began later has ended,
   * the earlier ones have ended too.
   */
  const untilGathered = async () => {
    const later = new datachannel.PeerConnection('gathers', { iceServers: [] });
    const found: string[] = [];
    later.onGatheringStateChange((state) => found.push(state));
    later.createDataChannel('any');
    await expect.poll(() => found).toContain('complete');
    later.close();
  };

  test('follow the answer, so that no check of the viewer waits when the answer is stored', async () => {
    attach(1);
    await untilOffers(1);
    await untilGathered();
    expect(candidatesOf(offers()[0]?.pc_id)).toBe(0);
    answer(1);
    await until(() => events.includes('sdp.answer_applied'));
    await until(() => candidatesOf(offers()[0]?.pc_id) > 0);
    await until(() => events.includes('viewer true'));
  });

  test('wait 40 ms for the first answer of a socket', async () => {
    attach(1);
    await untilOffers(1);
    await untilGathered();
    clock.advance(39);
    await new Promise((resolve) => setImmediate(resolve));
    expect(candidatesOf(offers()[0]?.pc_id)).toBe(0);
    clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(candidatesOf(offers()[0]?.pc_id)).toBeGreaterThan(0);
  });

  test('wait for the answer to a later offer without a time limit', async () => {
    attach(1);
    await untilOffers(1);
    peers.onSignal(1, { type: 'renegotiate', pc_id: offers()[0]?.pc_id ?? '', reason: 'ice_failed' });
    await untilOffers(2);
    await untilGathered();
    clock.advance(15_000);
    expect(candidatesOf(offers()[1]?.pc_id)).toBe(0);
    answer(1);
    await until(() => events.includes('viewer true'));
  });
});

describe('time limits of a negotiation', () => {
  test('not connected 20 s after the answer drops it with ice_timeout', async () => {
    attach(1);
    await untilOffers(1);
    clock.advance(10_000);
    answer(1, { reachable: false });
    await until(() => events.includes('sdp.answer_applied'));
    clock.advance(19_900);
    expect(errors()).toEqual([]);
    clock.advance(100);
    expect(errors()).toEqual(['ice_timeout']);
  });

  test('a new connection that is not connected after 10 s is closed, and the playing one stays', async () => {
    attach(1);
    await untilOffers(1);
    answer(1);
    await until(() => events.includes('viewer true'));
    const playing = peers.active;
    attach(2);
    await untilOffers(2);
    clock.advance(9_900);
    expect(errors()).toEqual([]);
    clock.advance(200);
    expect(errors()).toEqual(['ice_timeout']);
    expect(peers.active).toBe(playing);
    expect(playing?.state).toBe('connected');
  });

  test('a new connection whose answer was refused is reported once, and the playing one stays', async () => {
    attach(1);
    await untilOffers(1);
    answer(1);
    await until(() => events.includes('viewer true'));
    const playing = peers.active;
    attach(2);
    await untilOffers(2);
    answer(2, { edit: (sdp) => sdp.replace('H264/90000', 'VP8/90000') });
    await until(() => errors().length > 0);
    clock.advance(11_000);
    expect(errors()).toEqual(['answer_rejected']);
    expect(playing?.state).toBe('connected');
  });

  test('a renegotiation of an already replaced connection causes no third offer', async () => {
    attach(1);
    await untilOffers(1);
    const first = offers()[0]?.pc_id ?? '';
    attach(2);
    await untilOffers(2);
    peers.onSignal(2, { type: 'renegotiate', pc_id: first, reason: 'ice_failed' });
    // The library creates another offer only after all its earlier events.
    attach(3);
    await untilOffers(3);
    expect(signals.flatMap(({ conn, msg }) => (msg.type === 'offer' ? [conn] : []))).toEqual([1, 2, 3]);
  });
});

/** Creates a viewer with two connections: the former one is about to be closed, but still connected. */
async function replacedConnection() {
  attach(1);
  await untilOffers(1);
  answer(1);
  await until(() => events.includes('viewer true'));
  const former = peers.active;
  attach(2);
  await untilOffers(2);
  answer(2);
  await until(() => peers.active !== former);
  expect(former?.state).toBe('connected');
  return former;
}

test('a leaving connection is not resumed', async () => {
  const former = await replacedConnection();
  attach(3, ALICE, former?.pcId);
  expect(signals.some(({ msg }) => msg.type === 'resumed')).toBe(false);
  await untilOffers(3);
});

test('a viewer who leaves while the former connection is leaving leaves no timer', async () => {
  const former = await replacedConnection();
  peers.onSignal(2, { type: 'bye', reason: 'left' });
  expect(former?.state).toBe('closed');
  expect(clock.pendingTimers).toBe(0);
});

describe('the answer decides whether there is a picture, but not its codec', () => {
  test('another codec than the offered one is answer_rejected', async () => {
    attach(1);
    await untilOffers(1);
    answer(1, { edit: (sdp) => sdp.replace('H264/90000', 'VP8/90000') });
    await until(() => errors().length > 0);
    expect(errors()).toEqual(['answer_rejected']);
    expect(events).not.toContain('sdp.answer_applied');
  });

  test('video with port 0 is video_rejected', async () => {
    attach(1);
    await untilOffers(1);
    answer(1, { edit: (sdp) => sdp.replace(/^m=video \d+/m, 'm=video 0') });
    await until(() => errors().length > 0);
    expect(errors()).toEqual(['video_rejected']);
  });
});

describe('a viewer that accepts only messages of one byte', () => {
  test('gets none, and its session continues', async () => {
    let sent = 0;
    attach(1);
    await untilOffers(1);
    answer(1, { edit: (sdp) => sdp.replace(/^a=max-message-size:\d+/m, 'a=max-message-size:1') });
    await until(() => events.includes('viewer true'));
    await until(() => {
      peers.forEach((channels) => {
        channels.clipboard('a text of the session');
        sent++;
      });
      return sent > 20;
    });
    expect(peers.active?.send('control', 'xx', 0)).toBe('refused');
    expect(peers.active?.send('control', 'x', 0)).toBe('sent');
    expect(events).not.toContain('viewer false');
  });
});

describe('a viewer whose certificate is not the one of its answer', () => {
  test('gets a second offer, because the library may judge too early, but no third', async () => {
    const forged = (sdp: string) =>
      sdp.replace(/^a=fingerprint:sha-256 (..)/m, (_line, first) => {
        return `a=fingerprint:sha-256 ${first === '00' ? 'FF' : '00'}`;
      });
    attach(1);
    await untilOffers(1);
    answer(1, { edit: forged });
    await until(() => offers().length === 2);
    answer(1, { edit: forged });
    const failures = () => events.filter((event) => event === 'transport.peer_disconnected').length;
    await until(() => failures() === 2);
    expect(offers().map(({ reason }) => reason)).toEqual(['first', 'first']);
    expect(events).not.toContain('viewer true');
  });
});
