import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHANNELS, type ChannelName, encodeKey } from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import x11, { type XEvent } from 'x11';
import { XConnection } from '../display/x-connection.ts';
import { isKeyframe } from './keyframe.ts';
import { startTestDisplay, type TestDisplay } from './testing/display.ts';
import { NativeViewer } from './testing/native-viewer.ts';
import { prepareMessage } from './testing/prepare.ts';
import { hostCandidate, lanAddress, listenUdp, UdpRelay } from './testing/udp-relay.ts';
import type { WorkerMessage } from './worker-messages.ts';
import { createMediaWorkerPool, type MediaWorker, type MediaWorkerPool } from './worker-pool.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const GARBAGE = LONG ? 200_000 : 3_000;
const WIDTH = 320;
const HEIGHT = 240;
const ALICE = '22222222-2222-4222-8222-222222222222';
const MALLORY = '33333333-3333-4333-8333-333333333333';
const KEY_PRESS = 2;
const KEY_RELEASE = 3;

interface Session {
  worker: MediaWorker;
  said: WorkerMessage[];
}

let display: TestDisplay;
let desktop: XConnection;
let scratch: string;
let pool: MediaWorkerPool;
let sessions: Session[] = [];
let viewers: NativeViewer[] = [];
let closers: (() => void)[] = [];

beforeAll(async () => {
  display = await startTestDisplay(WIDTH, HEIGHT);
  scratch = mkdtempSync(join(tmpdir(), 'hostile-viewer-'));
  desktop = await XConnection.open(display.name, () => undefined);
  pool = createMediaWorkerPool({ size: 1 });
});

afterAll(async () => {
  await pool?.close();
  desktop?.close();
  await display?.close();
  rmSync(scratch, { recursive: true, force: true });
});

beforeEach(() => {
  [sessions, viewers, closers] = [[], [], []];
});

afterEach(async () => {
  for (const close of closers) close();
  for (const viewer of viewers) viewer.close();
  for (const { worker } of sessions) worker.kill();
  await Promise.all(sessions.map(({ worker }) => worker.exited));
});

async function startSession(): Promise<Session> {
  const worker = await pool.acquire();
  const session: Session = { worker, said: [] };
  sessions.push(session);
  const encoding = new Promise<void>((resolve) => void worker.on('encoding', () => resolve()));
  for (const type of ['viewer', 'event', 'failure'] as const) worker.on(type, (m) => session.said.push(m));
  // No keyframe comes by itself in these tests.
  const on = { display: display.name, scratch };
  worker.send(prepareMessage(on, { width: WIDTH, height: HEIGHT }, { settings: { gop: 100_000 } }));
  worker.send({ type: 'start' });
  await encoding;
  return session;
}

function viewer({ worker }: Session, clientId: string, conn = 1): NativeViewer {
  const made = new NativeViewer(worker, conn, clientId);
  viewers.push(made);
  return made;
}

async function connect(made: NativeViewer): Promise<NativeViewer> {
  made.attach();
  await made.until('a picture', () => made.state === 'connected' && made.video.some(({ marker }) => marker));
  await made.until('greeted', () => made.control.some(({ type }) => type === 'hello'));
  return made;
}

const frames = (from: NativeViewer) => from.video.filter(({ marker }) => marker).length;
const keyframes = (from: NativeViewer) => from.video.filter(({ data }) => isKeyframe('h264', [data])).length;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const gaps = (from: NativeViewer) =>
  from.video.filter(
    ({ sequence }, at) => at > 0 && ((sequence - (from.video[at - 1]?.sequence ?? 0)) & 0xffff) !== 1,
  ).length;

/** Numbers that look random and are the same in each run. Source: xorshift, Marsaglia 2003. */
function noise(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** A window that hears every key. */
async function openWindow(): Promise<XEvent[]> {
  const { client, root } = desktop;
  const window = client.AllocID();
  client.CreateWindow(window, root, 0, 0, WIDTH, HEIGHT, 0, 0, 1, 0, {
    eventMask: x11.eventMask.KeyPress | x11.eventMask.KeyRelease,
  });
  client.MapWindow(window);
  client.SetInputFocus(window, 0);
  await desktop.settle();
  const events: XEvent[] = [];
  const listener = (event: XEvent) => {
    if (event.type === KEY_PRESS || event.type === KEY_RELEASE) events.push(event);
  };
  client.on('event', listener);
  closers.push(() => {
    client.removeListener('event', listener);
    client.DestroyWindow(window);
  });
  return events;
}

describe('a hostile viewer', () => {
  test(`sends ${GARBAGE} messages of garbage on each channel: it goes, its keys are let go, the neighbour keeps every frame`, {
    timeout: 120_000,
  }, async () => {
    const [session, neighbour] = [await startSession(), await startSession()];
    const alice = await connect(viewer(neighbour, ALICE));
    const mallory = await connect(viewer(session, MALLORY));
    const keys = await openWindow();
    mallory.send('input', encodeKey({ seq: 1, t: 1, code: 30, down: true, locks: 0 }));
    await mallory.until('the press', () => keys.some(({ type }) => type === KEY_PRESS));
    const before = frames(alice);
    const began = performance.now();
    const below = noise(7);
    for (let count = 0; count < GARBAGE && mallory.state === 'connected'; count++) {
      for (const channel of Object.keys(CHANNELS) as ChannelName[]) {
        const size = 1 + below(Math.min(200, CHANNELS[channel].maxMessageBytes - 1));
        try {
          mallory.send(
            channel,
            Uint8Array.from({ length: size }, () => below(256)),
          );
        } catch {
          // The agent has closed the channel meanwhile, which is what it should do.
        }
      }
      if (count % 200 === 0) await pause(1);
    }
    await mallory.until('it was thrown out', () => mallory.state !== 'connected');
    await mallory.until('the release', () => keys.at(-1)?.type === KEY_RELEASE);
    const tookMs = performance.now() - began;
    await alice.until('frames', () => frames(alice) - before > (tookMs / 1000) * 30 * 0.8);
    expect(gaps(alice)).toBe(0);
    // A key that is still held would repeat itself: release and press, over and over.
    const heard = keys.length;
    await pause(1_000);
    expect(keys.slice(heard)).toEqual([]);
    expect([...session.said, ...neighbour.said].filter(({ type }) => type === 'failure')).toEqual([]);
    // The next one finds the session as if nothing had been.
    await connect(viewer(session, ALICE, 2));
  });

  test('shows another certificate than its answer names: never connected, no picture', async () => {
    const session = await startSession();
    const mallory = viewer(session, MALLORY);
    mallory.editAnswer = (sdp) =>
      sdp.replace(
        /(a=fingerprint:sha-256 )(\S\S)/g,
        (_all, start: string, first: string) => `${start}${first === 'AA' ? 'BB' : 'AA'}`,
      );
    mallory.attach();
    await mallory.until('refused', () => mallory.state === 'failed' || mallory.state === 'closed', 25_000);
    expect(mallory.video).toEqual([]);
    expect(session.said.filter((message) => message.type === 'viewer' && message.connected)).toEqual([]);
    await connect(viewer(session, ALICE, 2));
  });

  test('names addresses of the host and of the network: only STUN checks to 64 of them, none into the host', async () => {
    const session = await startSession();
    const lan = lanAddress();
    const [loopback, everywhere] = [await listenUdp('127.0.0.1'), await listenUdp('0.0.0.0')];
    const many = createSocket({ type: 'udp4', reuseAddr: true });
    await new Promise<void>((resolve) => many.bind(0, '239.255.7.7', resolve));
    many.addMembership('239.255.7.7', lan);
    const inside: Buffer[] = [];
    for (const socket of [loopback, many]) socket.on('message', (data) => inside.push(data));
    const outside = await Promise.all(Array.from({ length: 100 }, () => listenUdp(lan)));
    const checked = new Map<Socket, Buffer[]>(outside.map((socket) => [socket, []]));
    for (const [socket, heard] of checked) socket.on('message', (data) => heard.push(data));
    closers.push(() => {
      for (const socket of [loopback, everywhere, many, ...outside]) socket.close();
    });
    const within = [
      hostCandidate('127.0.0.1', loopback.address().port),
      hostCandidate('127.0.0.2', everywhere.address().port),
      hostCandidate('::ffff:127.0.0.1', loopback.address().port),
      hostCandidate('0.0.0.0', loopback.address().port),
      hostCandidate('239.255.7.7', many.address().port),
      hostCandidate('localhost', loopback.address().port),
    ];
    everywhere.on('message', (data, { address }) => {
      if (address.startsWith('127.')) inside.push(data);
    });
    const mallory = viewer(session, MALLORY);
    // It checks nothing itself: whatever arrives was sent because of what it named.
    mallory.editCandidate = () => null;
    mallory.editAnswer = (sdp) => `${sdp}${within.map((candidate) => `a=${candidate}\r\n`).join('')}`;
    mallory.attach();
    await mallory.until('an offer', () => mallory.pcId !== '');
    await pause(300);
    const name = (candidate: string) =>
      mallory.signal({ type: 'candidate', pc_id: mallory.pcId, candidate, mid: 'video' });
    for (const candidate of within) name(candidate);
    for (const socket of outside) name(hostCandidate(lan, socket.address().port));
    await mallory.until('checks', () => [...checked.values()].some((heard) => heard.length > 0));
    await pause(4_000);
    expect(inside).toEqual([]);
    const reached = [...checked.values()].filter((heard) => heard.length > 0);
    expect(reached.length).toBeGreaterThan(0);
    expect(reached.length).toBeLessThanOrEqual(64);
    for (const heard of reached) {
      expect(heard.length).toBeLessThan(20);
      // A binding request with the magic cookie (RFC 8489), and nothing else.
      expect(heard.every((data) => data.readUInt16BE(0) === 1 && data.readUInt32BE(4) === 0x2112a442)).toBe(
        true,
      );
    }
  });

  test('a good address counts as the 64th it names, and as the 65th is never checked', async () => {
    const lan = lanAddress();
    const checks = await Promise.all(
      [63, 64].map(async (refusedFirst, at) => {
        const session = await startSession();
        const target = await listenUdp(lan);
        closers.push(() => target.close());
        let heard = 0;
        target.on('message', () => heard++);
        const mallory = viewer(session, MALLORY, at + 1);
        mallory.editCandidate = () => null;
        const refused = hostCandidate('127.0.0.1', target.address().port);
        // Those within the answer count as those that come alone.
        mallory.editAnswer = (sdp) => `${sdp}${`a=${refused}\r\n`.repeat(32)}`;
        mallory.attach();
        await mallory.until('an offer', () => mallory.pcId !== '');
        await pause(300);
        const name = (candidate: string) =>
          mallory.signal({ type: 'candidate', pc_id: mallory.pcId, candidate, mid: 'video' });
        for (let count = 32; count < refusedFirst; count++) name(refused);
        name(hostCandidate(lan, target.address().port));
        await pause(2_000);
        return heard > 0;
      }),
    );
    expect(checks).toEqual([true, false]);
  });
});

describe('somebody on the way', () => {
  test('says again what a viewer said, and junk: no key twice, no keyframe, no frame lost', async () => {
    const session = await startSession();
    const relay = await UdpRelay.open();
    closers.push(() => relay.close());
    const alice = viewer(session, ALICE);
    relay.wire(alice);
    await connect(alice);
    const keys = await openWindow();
    for (const down of [true, false]) {
      alice.send('input', encodeKey({ seq: down ? 1 : 2, t: 1, code: 30, down, locks: 0 }));
    }
    await alice.until('one key', () => keys.length === 2);
    const before = keyframes(alice);
    alice.sendRtcp(pictureLoss(alice.videoSsrc));
    await alice.until('a keyframe', () => keyframes(alice) > before);
    await pause(500);
    const [asked, shown] = [keyframes(alice), frames(alice)];
    const captured = [...relay.recorded];
    expect(captured.length).toBeGreaterThan(10);
    for (let round = 0; round < 3; round++) {
      for (const datagram of captured) relay.sendToAgent(datagram);
      await pause(100);
    }
    const below = noise(11);
    // First bytes of STUN, DTLS and SRTP (RFC 7983), and any other.
    for (let count = 0; count < 3_000; count++) {
      const first = [0, 1, 22, 23, 63, 128, 144, 191, below(256)][count % 9] ?? 0;
      const junk = Buffer.from(Array.from({ length: 1 + below(300) }, () => below(256)));
      junk[0] = first;
      relay.sendToAgent(junk);
      if (count % 100 === 0) await pause(1);
    }
    await alice.until('the picture goes on', () => frames(alice) > shown + 30);
    expect(keys).toHaveLength(2);
    expect(keyframes(alice)).toBe(asked);
    expect(gaps(alice)).toBe(0);
    expect(alice.state).toBe('connected');
    expect(session.said.filter(({ type }) => type === 'failure')).toEqual([]);

    // A stranger speaks DTLS before and after a check has shown who the viewer is: no answer, and the viewer gets in.
    const hello = captured.find((datagram) => datagram[0] === 22);
    if (!hello) throw new Error('no DTLS handshake was captured');
    const stranger = await listenUdp(lanAddress());
    closers.push(() => stranger.close());
    const answers: Buffer[] = [];
    stranger.on('message', (data) => answers.push(data));
    const next = viewer(session, ALICE, 2);
    let port = 0;
    next.editCandidate = (candidate, to) => {
      if (to === 'viewer' && candidate.includes(lanAddress())) port = Number(candidate.split(' ')[5]);
      return candidate;
    };
    next.attach();
    await next.until('the port', () => port > 0);
    for (let count = 0; count < 20; count++) {
      stranger.send(hello, port, lanAddress());
      await pause(20);
    }
    await next.until('connected', () => next.state === 'connected');
    stranger.send(hello, port, lanAddress());
    await pause(300);
    expect(answers).toEqual([]);
  });
});

/** PLI. Source: RFC 4585, 6.3.1. */
function pictureLoss(ssrc: number): Buffer {
  const packet = Buffer.alloc(12);
  packet.set([0x81, 206, 0, 2]);
  packet.writeUInt32BE(1, 4);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
}
