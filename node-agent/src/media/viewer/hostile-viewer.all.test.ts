import { createSocket, type Socket } from 'node:dgram';
import { CHANNELS, type ChannelName, encodeKey } from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { writePictureLoss } from '../testing/feedback.ts';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { ALICE, KEY_PRESS, KEY_RELEASE, BOB as MALLORY, TestHost } from '../testing/test-host.ts';
import { hostCandidate, lanAddress, listenUdp, UdpRelay } from '../testing/udp-relay.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const GARBAGE = LONG ? 200_000 : 3_000;
/** Twice the number of checks after which an earlier version of the agent killed the worker because of its log. */
const BROKEN_CHECKS = 20_000;
const DAMAGED_ANSWERS = LONG ? 500 : 15;

let host: TestHost;
const closers: (() => void)[] = [];

beforeAll(async () => {
  host = await TestHost.open();
});

afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await host.clear();
});

afterAll(() => host?.close());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Lets the event loop read all data that has arrived. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Pseudo-random numbers, the same in each run. Source: xorshift, Marsaglia 2003. */
function noise(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Sends a message; the agent may close the channel between the check of its state and the send. */
function sendUntilClosed(viewer: NativeViewer, channel: ChannelName, message: string | Uint8Array): void {
  try {
    viewer.send(channel, message);
  } catch (error) {
    if (!/closed|not open|Sending failed/i.test(String(error))) throw error;
  }
}

describe('a hostile viewer', () => {
  test(`sends ${GARBAGE} messages of garbage on each channel: it is disconnected, its keys are released, the neighbour loses no frame`, {
    timeout: 120_000,
  }, async () => {
    const [session, neighbour] = [await host.startSession(), await host.startSession()];
    const alice = await neighbour.watch(ALICE);
    const mallory = await session.watch(MALLORY);
    const { events: keys } = await host.openWindow();
    mallory.send('input', encodeKey({ seq: 1, t: 1, code: 30, down: true, locks: 0 }));
    await mallory.until('the press', () => keys.some(({ type }) => type === KEY_PRESS));
    const before = alice.markers;
    const began = performance.now();
    const below = noise(7);
    for (let count = 0; count < GARBAGE && mallory.state === 'connected'; count++) {
      for (const channel of Object.keys(CHANNELS) as ChannelName[]) {
        const size = 1 + below(Math.min(200, CHANNELS[channel].maxMessageBytes - 1));
        sendUntilClosed(
          mallory,
          channel,
          Uint8Array.from({ length: size }, () => below(256)),
        );
      }
      if (count % 200 === 0) await turn();
    }
    await mallory.until('it was disconnected', () => mallory.state !== 'connected');
    await mallory.until('the release', () => keys.at(-1)?.type === KEY_RELEASE);
    const tookMs = performance.now() - began;
    await alice.until('frames', () => alice.markers - before > (tookMs / 1000) * 30 * 0.8);
    expect(alice.gaps).toBe(0);
    // A key that is still pressed would repeat after 660 ms of real time (Xvfb): the display would report a release and
    // a press.
    const heard = keys.length;
    await pause(1_000);
    expect(keys.slice(heard)).toEqual([]);
    expect([...session.heard('failure'), ...neighbour.heard('failure')]).toEqual([]);
    // The next viewer must find the session unchanged.
    await session.watch(ALICE, 2);
  });

  test('floods the clipboard: it is disconnected, and the next viewer of the session gets its picture', async () => {
    const session = await host.startSession();
    const mallory = await session.watch(MALLORY);
    const text = JSON.stringify({ type: 'clipboard', text: 'é'.repeat(30_000) });
    for (let count = 0; count < 3_000 && mallory.state === 'connected'; count++) {
      sendUntilClosed(mallory, 'control', text);
      if (count % 20 === 0) await pause(10);
    }
    const alice = await session.watch(ALICE, 2);
    await alice.until('some frames', () => alice.markers > 10);
    const codes = mallory.control.flatMap((message) => (message.type === 'error' ? [message.code] : []));
    expect(codes).toEqual(['input_malformed']);
    expect(session.heard('failure')).toEqual([]);
  }, 60_000);

  test('shows another certificate than its answer names: never connected, no picture', async () => {
    const session = await host.startSession();
    const mallory = session.viewer(MALLORY);
    mallory.editAnswer = (sdp) =>
      sdp.replace(
        /(a=fingerprint:sha-256 )(\S\S)/g,
        (_all, start: string, first: string) => `${start}${first === 'AA' ? 'BB' : 'AA'}`,
      );
    mallory.attach();
    await mallory.until('refused', () => mallory.state === 'failed' || mallory.state === 'closed', 25_000);
    expect(mallory.video).toEqual([]);
    expect(session.heard('viewer').filter(({ connected }) => connected)).toEqual([]);
    await session.watch(ALICE, 2);
  });

  test('names addresses of the host and of the network: only STUN checks to 64 of them, none into the host', async () => {
    const session = await host.startSession();
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
    const mallory = session.viewer(MALLORY);
    // This viewer offers no candidates and sends no checks itself, so every received packet was caused by candidates
    // that it sent to the agent.
    mallory.editCandidate = () => null;
    mallory.editAnswer = (sdp) => `${sdp}${within.map((candidate) => `a=${candidate}\r\n`).join('')}`;
    mallory.attach();
    await mallory.until('its answer counts', () => session.told('sdp.answer_applied').length > 0);
    const name = (candidate: string) =>
      mallory.signal({ type: 'candidate', pc_id: mallory.pcId, candidate, mid: 'video' });
    for (const candidate of within) name(candidate);
    for (const socket of outside) name(hostCandidate(lan, socket.address().port));
    await mallory.until('checks', () => [...checked.values()].some((heard) => heard.length > 0));
    // The library checks one address per 50 ms of real time (RFC 8445, 14.2), so 64 addresses take 3.2 s.
    await pause(4_000);
    expect(inside).toEqual([]);
    const reached = [...checked.values()].filter((heard) => heard.length > 0);
    expect(reached.length).toBeGreaterThan(0);
    expect(reached.length).toBeLessThanOrEqual(64);
    for (const heard of reached) {
      expect(heard.length).toBeLessThan(20);
      // Every packet must be a binding request with the magic cookie (RFC 8489).
      expect(heard.every((data) => data.readUInt16BE(0) === 1 && data.readUInt32BE(4) === 0x2112a442)).toBe(
        true,
      );
    }
  });

  test('hides an address of the host from the filter behind a carriage return: nothing is sent there', async () => {
    const session = await host.startSession();
    const loopback = await listenUdp('127.0.0.1');
    const inside: Buffer[] = [];
    loopback.on('message', (data) => inside.push(data));
    closers.push(() => loopback.close());
    const candidate = hostCandidate('127.0.0.1', loopback.address().port);
    // The library splits lines at line feeds, but its ICE agent drops carriage returns within a line.
    const hidden = ['a=\rcandidate', 'a\r=candidate', 'a=cand\ridate'].map((start) =>
      candidate.replace('candidate', start),
    );
    const mallory = session.viewer(MALLORY);
    mallory.editCandidate = () => null;
    mallory.editAnswer = (sdp) => sdp.replace('t=0 0\r\n', `t=0 0\r\n${hidden.join('\r\n')}\r\n`);
    mallory.attach();
    await mallory.until(
      'its answer is refused',
      () => session.told('webrtc.remote_description_failed').length > 0,
    );
    // If the library accepted the address, it would check it at once, and repeat the check while there is no answer.
    await pause(1_000);
    expect(inside).toHaveLength(0);
  });

  test('a valid address is used as the 64th candidate, and never checked as the 65th', async () => {
    const lan = lanAddress();
    const checks = await Promise.all(
      [63, 64].map(async (refusedFirst, at) => {
        const session = await host.startSession();
        const target = await listenUdp(lan);
        closers.push(() => target.close());
        let heard = 0;
        target.on('message', () => heard++);
        const mallory = session.viewer(MALLORY, at + 1);
        mallory.editCandidate = () => null;
        const refused = hostCandidate('127.0.0.1', target.address().port);
        // Candidates within the answer must count like candidates that are sent separately.
        mallory.editAnswer = (sdp) => `${sdp}${`a=${refused}\r\n`.repeat(32)}`;
        mallory.attach();
        await mallory.until('its answer counts', () => session.told('sdp.answer_applied').length > 0);
        const name = (candidate: string) =>
          mallory.signal({ type: 'candidate', pc_id: mallory.pcId, candidate, mid: 'video' });
        for (let count = 32; count < refusedFirst; count++) name(refused);
        name(hostCandidate(lan, target.address().port));
        // The library would check other addresses in this time; only the allowed address may be checked.
        await pause(2_000);
        return heard > 0;
      }),
    );
    expect(checks).toEqual([true, false]);
  });

  test('sends damaged answers and candidates, which end only their own connection', async () => {
    const session = await host.startSession();
    const mallory = session.viewer(MALLORY);
    for (let run = 0; run < DAMAGED_ANSWERS; run++) {
      // Damages the answer in a deterministic way: a truncation, a duplicated part, or another character.
      mallory.editAnswer = (sdp) => {
        const at = (run * 7919) % sdp.length;
        const damage = [
          sdp.slice(0, at),
          sdp.slice(0, at) + sdp.slice(at / 2),
          `${sdp.slice(0, at)}\u0000ÿ${sdp.slice(at)}`,
        ];
        return damage[run % damage.length] ?? sdp;
      };
      const offers = () => mallory.signals.filter(({ type }) => type === 'offer').length;
      const before = offers();
      mallory.attach(run + 1);
      await mallory.until('an offer', () => offers() > before);
      for (const candidate of [
        'x',
        'candidate:1 1 udp 1 127.0.0.1 9 typ host',
        'candidate:'.padEnd(2000, '9'),
      ]) {
        mallory.signal({ type: 'candidate', pc_id: mallory.pcId, candidate, mid: 'video' });
      }
    }
    const alice = await session.watch(ALICE, 100_000);
    await alice.until('some frames', () => alice.markers > 10);
    expect(session.heard('failure')).toEqual([]);
  }, 60_000);

  test('sends answers that the library refuses: it gets answer_rejected', async () => {
    const session = await host.startSession();
    const mallory = session.viewer(MALLORY);
    const refusals = () =>
      mallory.signals.filter((m) => m.type === 'error' && m.code === 'answer_rejected').length;
    const after = (line: string, more: string) => (sdp: string) => sdp.replace(line, `${line}\r\n${more}`);
    // All of them pass the agent's own checks; the library then rejects them.
    const thrownOut: [string, (sdp: string) => string][] = [
      ['no fingerprint', (sdp) => sdp.replace(/a=fingerprint.*\r\n/g, '')],
      ['a fingerprint of another length', (sdp) => sdp.replace(/(a=fingerprint:sha-256 ).*/g, '$1AA:BB')],
      ['no password', (sdp) => sdp.replace(/a=ice-pwd.*\r\n/g, '')],
      ['both roles', (sdp) => sdp.replace(/a=setup:.*/g, 'a=setup:actpass')],
      ['an invalid number', after('a=mid:video', 'a=rtpmap:zz H264/90000')],
      ['an invalid port', (sdp) => sdp.replace(/m=application \d+/, 'm=application 99999')],
      ['an invalid extension id', after('a=mid:video', 'a=extmap:x y')],
    ];
    for (const [at, [what, edit]] of thrownOut.entries()) {
      mallory.editAnswer = edit;
      mallory.attach(at + 1);
      await mallory.until(what, () => refusals() === at + 1);
    }
    expect(session.heard('failure')).toEqual([]);
    expect(session.heard('log').map(({ event }) => event)).not.toContain('media.signal_failed');
  });

  test('opens additional channels: each is closed, because no code reads them', async () => {
    const session = await host.startSession();
    const mallory = await session.watch(MALLORY);
    for (let index = 0; index < 10; index++) {
      const more = mallory.openChannel(`more ${index}`);
      // Closed one after the other. If a stream's reset fails while another reset is running, the library
      // (SctpTransport::sendReset) drops it. The library then closes its own side, but does not notify the viewer.
      await mallory.until('it is closed', () => more.isClosed);
    }
    const shown = mallory.markers;
    await mallory.until('the picture goes on', () => mallory.markers > shown + 10);
    expect(session.heard('failure')).toEqual([]);
  });

  test('sends a candidate that the library refuses, which does not affect the later ones', async () => {
    const session = await host.startSession();
    const alice = session.viewer();
    const hostile = 'candidate:1 1 udp 9999999999 192.0.2.1 9 typ host';
    const say = (pc_id: string) =>
      alice.signal({ type: 'candidate', pc_id, candidate: hostile, mid: 'video' });
    // Sends one candidate before the answer, ahead of those that are needed to connect, and one after the answer.
    alice.editAnswer = (sdp) => {
      say(alice.pcId);
      return sdp;
    };
    alice.attach();
    await alice.until('connected', () => alice.state === 'connected');
    say(alice.pcId);
    await alice.until('some frames', () => alice.markers > 10);
    expect(session.heard('failure')).toEqual([]);
    expect(session.heard('log').map(({ event }) => event)).not.toContain('media.signal_failed');
  });
});

test('a stranger who endlessly sends malformed STUN: the picture continues', async () => {
  const session = await host.startSession();
  let port = 0;
  const alice = session.viewer(ALICE);
  alice.editCandidate = (candidate, to) => {
    if (to === 'viewer' && candidate.includes(lanAddress())) port = Number(candidate.split(' ')[5]);
    return candidate;
  };
  alice.attach();
  await alice.untilPlaying();
  let ended = false;
  void session.worker.exited.then(() => {
    ended = true;
  });
  const stranger = await listenUdp(lanAddress());
  closers.push(() => stranger.close());
  // A binding request (RFC 8489) with an attribute that is longer than the datagram.
  const broken = Buffer.alloc(28);
  broken.writeUInt16BE(1, 0);
  broken.writeUInt16BE(8, 2);
  broken.writeUInt32BE(0x2112a442, 4);
  broken.writeUInt32BE(0x0006_ffff, 20);
  for (let count = 0; count < BROKEN_CHECKS && !ended; count++) {
    stranger.send(broken, port, lanAddress());
    if (count % 20 === 0) await turn();
  }
  const shown = alice.markers;
  await alice.until('the picture goes on', () => ended || alice.markers > shown + 30);
  expect(ended).toBe(false);
  expect(session.heard('failure')).toEqual([]);
  const complaints = session.heard('log').filter(({ event }) => event === 'media.webrtc');
  expect(complaints.length).toBeGreaterThan(0);
});

describe('an attacker on the path', () => {
  test('replays a viewer’s packets and sends junk: no key twice, no keyframe, no frame lost', async () => {
    const session = await host.startSession();
    const relay = await UdpRelay.open();
    closers.push(() => relay.close());
    const alice = session.viewer(ALICE);
    relay.wire(alice);
    alice.attach();
    await alice.untilPlaying();
    const { events: keys } = await host.openWindow();
    for (const down of [true, false]) {
      alice.send('input', encodeKey({ seq: down ? 1 : 2, t: 1, code: 30, down, locks: 0 }));
    }
    await alice.until('one key', () => keys.length === 2);
    const before = alice.keyframes;
    alice.sendRtcp(writePictureLoss(alice.videoSsrc));
    await alice.until('a keyframe', () => alice.keyframes > before);
    // The start of a stream itself requests keyframes. With the limit of two a second, a third keyframe waits up to a
    // second.
    const playing = alice.markers;
    await alice.until('more than a second of frames after it', () => alice.markers > playing + 45);
    const [asked, shown] = [alice.keyframes, alice.markers];
    const captured = [...relay.recorded];
    expect(captured.length).toBeGreaterThan(10);
    for (let round = 0; round < 3; round++) {
      for (const datagram of captured) relay.sendToAgent(datagram);
      const seen = alice.markers;
      await alice.until('frames meanwhile', () => alice.markers > seen + 3);
    }
    const below = noise(11);
    // First bytes of STUN, DTLS and SRTP packets (RFC 7983), and other bytes.
    for (let count = 0; count < 3_000; count++) {
      const first = [0, 1, 22, 23, 63, 128, 144, 191, below(256)][count % 9] ?? 0;
      const junk = Buffer.from(Array.from({ length: 1 + below(300) }, () => below(256)));
      junk[0] = first;
      relay.sendToAgent(junk);
      if (count % 100 === 0) await turn();
    }
    await alice.until('the picture goes on', () => alice.markers > shown + 30);
    expect(keys).toHaveLength(2);
    expect(alice.keyframes).toBe(asked);
    expect(alice.gaps).toBe(0);
    expect(alice.state).toBe('connected');
    expect(session.heard('failure')).toEqual([]);

    // A stranger sends DTLS before and after a connectivity check has identified the viewer. The stranger must get no
    // answer, and the viewer must connect.
    const hello = captured.find((datagram) => datagram[0] === 22);
    if (!hello) throw new Error('no DTLS handshake was captured');
    const stranger = await listenUdp(lanAddress());
    closers.push(() => stranger.close());
    const answers: Buffer[] = [];
    stranger.on('message', (data) => answers.push(data));
    const next = session.viewer(ALICE, 2);
    let port = 0;
    next.editCandidate = (candidate, to) => {
      if (to === 'viewer' && candidate.includes(lanAddress())) port = Number(candidate.split(' ')[5]);
      return candidate;
    };
    next.attach();
    await next.until('the port', () => port > 0);
    await next.until('connected', () => {
      stranger.send(hello, port, lanAddress());
      return next.state === 'connected';
    });
    await next.untilPlaying();
    const keyframes = next.keyframes;
    stranger.send(hello, port, lanAddress());
    // Both packets arrive at the same socket of the agent. When the agent answers the viewer, it has already read the
    // stranger's packet.
    next.sendRtcp(writePictureLoss(next.videoSsrc));
    await next.until('the answer to the viewer', () => next.keyframes > keyframes);
    await turn();
    expect(answers).toEqual([]);
  });
});
