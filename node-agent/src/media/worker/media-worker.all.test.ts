import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { displaySocket } from '../../display/display-number.ts';
import { isKeyframe } from '../rtp/keyframe.ts';
import { writePictureLoss } from '../testing/feedback.ts';
import { BOB, TestHost } from '../testing/test-host.ts';
import { VIDEO_CLOCK_HZ } from '../webrtc/sdp-offer.ts';

const SOUND_SERVER = 'pulseaudio';
/** Display numbers that no display server uses, because they are too high. */
const SILENT_DISPLAYS = 50_000;

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.open();
});

afterEach(() => host.clear());
afterAll(() => host?.close());

/** A NACK about packets that were never sent. Source: RFC 4585, 6.2.1. */
function oddNack(ssrc: number): Buffer {
  const packet = Buffer.alloc(16);
  packet.set([0x81, 205, 0, 3]);
  packet.writeUInt32BE(1, 4);
  packet.writeUInt32BE(ssrc, 8);
  packet.writeUInt32BE(0xffff_ffff, 12);
  return packet;
}

test('a viewer gets an offer before the display has answered', async () => {
  const number = SILENT_DISPLAYS + (process.pid % 10_000);
  const silent = createServer((client) => client.resume());
  await new Promise<void>((resolve) => silent.listen(displaySocket(number), resolve));
  try {
    const session = await host.session();
    const offered = new Promise((resolve) => session.worker.on('signal', ({ msg }) => resolve(msg)));
    session.prepare({}, { display: `:${number}` });
    session.viewer().attach();
    expect(await offered).toMatchObject({ type: 'offer', reason: 'first' });
    expect(session.heard('prepared')).toEqual([]);
    expect(session.heard('failure')).toEqual([]);
  } finally {
    await host.clear();
    await new Promise((resolve) => silent.close(resolve));
  }
});

describe('a picture reaches a viewer', () => {
  test('keyframe first, contiguous packets at the session’s rate, and events report the negotiated media', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    expect(isKeyframe('h264', [alice.video[0]?.data ?? Buffer.alloc(0)])).toBe(true);
    const before = alice.markers;
    await alice.until('30 more frames', () => alice.markers >= before + 30);
    expect(alice.gaps).toBe(0);
    const instants = [...new Set(alice.video.map(({ timestamp }) => timestamp))];
    const distances = instants.slice(1).map((at, n) => (at - (instants[n] ?? 0)) >>> 0);
    // Timestamps contain capture times. These depend on timers of a busy process, so they are exact only to 5 ms.
    const typical = distances.sort((a, b) => a - b)[15] ?? Number.NaN;
    expect(Math.abs(typical - VIDEO_CLOCK_HZ / 30)).toBeLessThan(VIDEO_CLOCK_HZ / 200);
    expect(session.heard('viewer').at(-1)).toMatchObject({ connected: true });
    const events = session.heard('event').map(({ event }) => event);
    for (const name of [
      'session.effective_media',
      'caps.negotiated',
      'sdp.answer_applied',
      'webrtc.state_changed',
    ]) {
      expect(events).toContain(name);
    }
    expect(alice.control.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['hello', 'display', 'app', 'cursor_use']),
    );
  });

  test('PLI causes a keyframe, and a NACK of unknown packets has no effect', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    await alice.until('some frames', () => alice.markers > 20);
    const before = alice.keyframes;
    for (let count = 0; count < 10; count++) alice.sendRtcp(writePictureLoss(alice.videoSsrc));
    await alice.until('a keyframe', () => alice.keyframes > before);
    alice.sendRtcp(oddNack(alice.videoSsrc));
    alice.sendRtcp(Buffer.from([0x81, 205, 0, 200, 1, 2, 3]));
    const shown = alice.markers;
    await alice.until('the picture goes on', () => alice.markers > shown + 10);
  });

  test('bitrate changes while it plays', async () => {
    const session = await host.session();
    await session.start({ bitrate_kbps: 2000 });
    session.worker.send({ type: 'tune', bitrate_kbps: 700, keyframe: true });
    // A lower bitrate is raised to the floor of 0.3 × launch bitrate.
    session.worker.send({ type: 'tune', bitrate_kbps: 100 });
    await expect.poll(() => session.told('abr.retarget').map(({ to_kbps }) => to_kbps)).toEqual([700, 600]);
    expect(session.heard('failure')).toEqual([]);
  });
});

describe('sound reaches a viewer', () => {
  test('10 ms packets of Opus, a hundred a second', async () => {
    const socket = join(host.scratch, 'sound.sock');
    const server = spawn(
      SOUND_SERVER,
      ['-n', '--daemonize=no', '--exit-idle-time=-1', '--disable-shm=yes', '--use-pid-file=no']
        .concat(['-L', 'module-null-sink sink_name=out'])
        .concat(['-L', `module-native-protocol-unix socket=${socket} auth-anonymous=1`]),
      { stdio: 'ignore', env: { ...process.env, HOME: host.scratch, XDG_RUNTIME_DIR: host.scratch } },
    );
    try {
      await expect.poll(() => existsSync(socket)).toBe(true);
      const session = await host.session();
      await session.start({ audio: true }, { pulse_server: `unix:${socket}` });
      const alice = await session.watch();
      await alice.until('a second of sound', () => alice.audio.length >= 100);
      const stamps = alice.audio.map(({ timestamp }) => timestamp);
      const steps = stamps.slice(1).map((stamp, index) => (stamp - (stamps[index] ?? 0)) >>> 0);
      // 480 samples at 48 kHz are 10 ms. A busy machine skips packets, and the capture's clock becomes stable only
      // after a second.
      expect(steps.filter((step) => step === 480).length).toBeGreaterThan(steps.length * 0.8);
      expect(session.told('audio.degraded')).toEqual([]);
    } finally {
      server.kill('SIGKILL');
    }
  });

  test('a session continues without a sound server, and reports it once', async () => {
    const session = await host.session();
    await session.start({ audio: true }, { pulse_server: `unix:${host.scratch}/nobody` });
    const alice = await session.watch();
    await alice.until('some frames', () => alice.markers > 20);
    expect(session.told('audio.degraded')).toHaveLength(1);
    expect(session.heard('failure')).toEqual([]);
  });
});

describe('viewers come and go', () => {
  test('a lost socket resumes, another client takes over, and the older one is informed', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    session.worker.send({ type: 'detach', conn: 1, reason: 'closed' });
    const pcId = alice.pcId;
    alice.attach(2, true);
    await alice.until('resumed', () => alice.signals.some((m) => m.type === 'resumed' && m.pc_id === pcId));
    const bob = await session.watch(BOB, 3);
    expect(bob.signals.find(({ type }) => type === 'offer')).toMatchObject({ reason: 'takeover' });
    await alice.until('told', () => alice.control.some((m) => m.type === 'bye' && m.reason === 'taken_over'));
    await alice.until('closed', () => alice.state !== 'connected');
    expect(bob.state).toBe('connected');
    // The worker ignores this message, because the socket was replaced.
    session.worker.send({ type: 'signal', conn: 2, msg: { type: 'bye' } });
    const before = bob.markers;
    await bob.until('the picture goes on', () => bob.markers > before + 5);
  });

  test('a renegotiation connects the new connection before it closes the old one', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const first = alice.pcId;
    alice.signal({ type: 'renegotiate', pc_id: first, reason: 'user' });
    alice.signal({ type: 'renegotiate', pc_id: first, reason: 'user' });
    await alice.until('a second connection', () => alice.pcId !== first && alice.state === 'connected');
    // After a failed handshake, a new offer is made automatically. It does not count as a third renegotiation.
    const failed = session.told('transport.peer_disconnected').map(({ pc }) => pc);
    const offered = alice.signals.flatMap((msg) => (msg.type === 'offer' ? [msg.pc_id] : []));
    expect(offered.filter((pcId) => !failed.includes(pcId))).toEqual([first, alice.pcId]);
    expect(session.heard('viewer').filter(({ connected }) => !connected)).toEqual([]);
  });

  test.each([
    ['video_rejected', (sdp: string) => sdp.replace(/m=video \d+/, 'm=video 0')],
    ['answer_rejected', () => 'v=0\r\nnonsense'],
  ])('%s', async (code, edit) => {
    const session = await host.startSession();
    const alice = session.viewer();
    alice.editAnswer = edit;
    alice.attach();
    await alice.until('the refusal', () => alice.signals.some((m) => m.type === 'error' && m.code === code));
    expect(session.heard('failure')).toEqual([]);
  });
});

describe('the end', () => {
  test.runIf(process.getuid?.() === 0)('as root the worker gives its rights up for good', async () => {
    const own = mkdtempSync(join(tmpdir(), 'media-uid-'));
    chownSync(own, 71_613, 71_613);
    const session = await host.session();
    await session.start({}, { uid: 71_613, gid: 71_613, scratch_dir: own });
    const status = readFileSync(`/proc/${session.worker.pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\s+71613\s+71613\s+71613\s+71613$/m);
    expect(status).toMatch(/^Gid:\s+71613\s+71613\s+71613\s+71613$/m);
    expect(status).toMatch(/^Groups:\s+71613\s*$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    // All threads are checked, because capabilities and filters belong to a thread.
    const threads = readdirSync(`/proc/${session.worker.pid}/task`).map((thread) =>
      readFileSync(`/proc/${session.worker.pid}/task/${thread}/status`, 'utf8'),
    );
    expect(threads.length).toBeGreaterThan(10);
    expect(threads.filter((thread) => !/^Seccomp:\s+2$/m.test(thread))).toEqual([]);
    expect(threads.filter((thread) => !/^NoNewPrivs:\s+1$/m.test(thread))).toEqual([]);
    rmSync(own, { recursive: true, force: true });
  });

  test('a worker does not outlive its channel', async () => {
    const session = await host.startSession();
    session.worker.disconnect();
    await session.worker.exited;
  });

  test('stop informs the viewer, answers and exits 0', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    session.worker.send({ type: 'stop', reason: 'idle_timeout', grace_ms: 0 });
    expect(await session.worker.exited).toEqual({ code: 0, signal: null });
    expect(session.heard('stopped')).toHaveLength(1);
    expect(alice.control.at(-1)).toEqual({ type: 'bye', reason: 'idle_timeout' });
    expect(alice.signals.at(-1)).toEqual({ type: 'bye', reason: 'session_ended' });
  });

  test('a missing display gives a typed failure', async () => {
    const session = await host.session();
    session.prepare({}, { display: ':65000' });
    expect(await session.first('failure')).toMatchObject({
      failure_code: 'display_failed',
      error: expect.stringContaining(':65000'),
    });
  });
});
