import type { AgentSignal } from '@footlight/protocol/agent';
import * as datachannel from 'node-datachannel';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SessionInput } from '../input/session-input.ts';
import { systemMediaClock } from '../session/media-clock.ts';
import { Peers } from './peers.ts';

const ALICE = '22222222-2222-4222-8222-222222222222';
const BOB = '33333333-3333-4333-8333-333333333333';

let peers: Peers;
let signals: { conn: number; msg: AgentSignal }[];
let events: string[];
/** Of the peer connections themselves. */
let states: { from: unknown; to: unknown; pc: unknown }[];
let nextId: number;
let viewers: (() => void)[];
const realSetTimeout = setTimeout;
const realPause = (ms: number) => new Promise((resolve) => realSetTimeout(resolve, ms));

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
/** Offers come out of the native library's own thread. */
const untilOffers = async (count: number) => {
  while (offers().length < count) await new Promise((resolve) => setImmediate(resolve));
};

/**
 * Answers the newest offer on this socket from a connection in this process.
 * @param reachable whether it gets the candidates, without which it never connects
 * @param edit changes the answer before it is sent
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
  const tell = setInterval(() => {
    for (const { msg } of signals.slice(told)) {
      told++;
      if (msg.type === 'candidate' && msg.pc_id === pc_id)
        connection.addRemoteCandidate(msg.candidate, 'video');
    }
  }, 5);
  if (!reachable) clearInterval(tell);
  viewers.push(() => {
    clearInterval(tell);
    connection.close();
  });
}
/** Lets fake and real time pass together until something holds. */
const until = async (holds: () => boolean) => {
  for (let count = 0; count < 1000 && !holds(); count++) {
    vi.advanceTimersByTime(5);
    await new Promise((resolve) => setImmediate(resolve));
    await realPause(5);
  }
  expect(holds()).toBe(true);
};

beforeEach(() => {
  viewers = [];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  signals = [];
  events = [];
  states = [];
  nextId = 0;
  peers = new Peers({
    stream: {
      width: 1280,
      height: 720,
      fps: 60,
      bitrate_kbps: 8000,
      abr_floor_kbps: 0,
      codec: 'h264',
      h264_profile: 'constrained-baseline',
      playout0_ms: 50,
      audio: true,
      mic: false,
      rungs: [],
    },
    addresses: null,
    ports: null,
    clock: systemMediaClock,
    uuid: () => `00000000-0000-4000-8000-${String(nextId++).padStart(12, '0')}`,
    random32: () => 0x1234_5678,
    resolver: { resolve: () => Promise.resolve(null), close: () => undefined },
    input: new SessionInput({ width: 1280, height: 720 }, null),
    events: {
      signal: (conn, msg) => signals.push({ conn, msg }),
      event: (event, { kind, from, to, pc }) => {
        events.push(event);
        if (event === 'webrtc.state_changed' && kind === 'connection') states.push({ from, to, pc });
      },
      onViewer: (connected) => events.push(`viewer ${connected}`),
      onKeyframeWanted: () => undefined,
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
  vi.advanceTimersByTime(1000);
  await closed;
  vi.useRealTimers();
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

  test('no answer for 20 s drops it with ice_timeout', async () => {
    attach(1);
    await untilOffers(1);
    vi.advanceTimersByTime(19_999);
    expect(errors()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(signals.findLast(({ msg }) => msg.type === 'error')).toMatchObject({
      conn: 1,
      msg: { type: 'error', code: 'ice_timeout', fatal: false },
    });
  });

  test('reasons: first, renegotiate, takeover; an older socket counts for nothing', async () => {
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

  test('after a detach a lower number counts: the clock of the control plane may have been set back', async () => {
    attach(1_000);
    await untilOffers(1);
    peers.detach(1_000);
    attach(7);
    await untilOffers(2);
    expect(signals.at(-1)?.conn).toBe(7);
  });

  test('what is not connected is not resumed', async () => {
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

  test('of a hundred more answers to one offer the first is told of', async () => {
    attach(1);
    await untilOffers(1);
    const pc_id = offers()[0]?.pc_id ?? '';
    let sdp = '';
    answer(1, { edit: (real) => (sdp = real) });
    await until(() => sdp !== '');
    for (let count = 0; count < 100; count++) peers.onSignal(1, { type: 'answer', pc_id, sdp });
    expect(events.filter((event) => event === 'webrtc.remote_description_failed')).toHaveLength(1);
  });

  test('a viewer who leaves: its connection was connected and is closed, as the events tell', async () => {
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

  test('after detach nothing is said any more, and nothing is heard', async () => {
    attach(1);
    await untilOffers(1);
    peers.detach(1);
    const said = signals.length;
    peers.onSignal(1, { type: 'renegotiate', pc_id: offers()[0]?.pc_id ?? '', reason: 'user' });
    vi.advanceTimersByTime(30_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(signals).toHaveLength(said);
  });
});

describe('candidates of ours', () => {
  const candidatesOf = (pcId?: string) =>
    signals.filter(({ msg }) => msg.type === 'candidate' && msg.pc_id === pcId).length;
  /** The library finds the addresses of this machine on a thread of its own. */
  const untilGathered = () => realPause(100);

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
    vi.advanceTimersByTime(39);
    await new Promise((resolve) => setImmediate(resolve));
    expect(candidatesOf(offers()[0]?.pc_id)).toBe(0);
    vi.advanceTimersByTime(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(candidatesOf(offers()[0]?.pc_id)).toBeGreaterThan(0);
  });

  test('wait for the answer to a later offer however long it takes', async () => {
    attach(1);
    await untilOffers(1);
    peers.onSignal(1, { type: 'renegotiate', pc_id: offers()[0]?.pc_id ?? '', reason: 'ice_failed' });
    await untilOffers(2);
    await untilGathered();
    vi.advanceTimersByTime(15_000);
    expect(candidatesOf(offers()[1]?.pc_id)).toBe(0);
    answer(1);
    await until(() => events.includes('viewer true'));
  });
});

describe('time limits of a negotiation', () => {
  test('not connected 20 s after the answer drops it with ice_timeout', async () => {
    attach(1);
    await untilOffers(1);
    vi.advanceTimersByTime(10_000);
    answer(1, { reachable: false });
    await until(() => events.includes('sdp.answer_applied'));
    vi.advanceTimersByTime(19_900);
    expect(errors()).toEqual([]);
    vi.advanceTimersByTime(100);
    expect(errors()).toEqual(['ice_timeout']);
  });

  test('a new connection that is not up after 10 s goes, and the one that plays stays', async () => {
    attach(1);
    await untilOffers(1);
    answer(1);
    await until(() => events.includes('viewer true'));
    const playing = peers.active;
    attach(2);
    await untilOffers(2);
    vi.advanceTimersByTime(9_900);
    expect(errors()).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(errors()).toEqual(['ice_timeout']);
    expect(peers.active).toBe(playing);
    expect(playing?.state).toBe('connected');
  });

  test('a renegotiation of a connection that was replaced already makes no third offer', async () => {
    attach(1);
    await untilOffers(1);
    const first = offers()[0]?.pc_id ?? '';
    attach(2);
    await untilOffers(2);
    peers.onSignal(2, { type: 'renegotiate', pc_id: first, reason: 'ice_failed' });
    await realPause(20);
    expect(offers()).toHaveLength(2);
  });
});

describe('the answer decides whether there is a picture, not which codec it has', () => {
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

describe('a viewer that takes messages of one byte', () => {
  test('gets none, and its session goes on', async () => {
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
  test('gets a second offer, since the library can be too early with its verdict, and no third', async () => {
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
