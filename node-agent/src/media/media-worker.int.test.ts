import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  decodeInput,
  encodeButton,
  encodeKey,
  encodePing,
  encodePointerAbs,
  encodePointerRel,
  encodeReleaseAll,
  encodeText,
  encodeTouch,
} from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import x11, { type XEvent } from 'x11';
import { XClipboard } from '../display/x-clipboard.ts';
import { XConnection } from '../display/x-connection.ts';
import { isKeyframe } from './keyframe.ts';
import { startTestDisplay, type TestDisplay } from './testing/display.ts';
import { NativeViewer } from './testing/native-viewer.ts';
import { prepareMessage } from './testing/prepare.ts';
import type { PrepareMessage, WorkerMessage } from './worker-messages.ts';
import { createMediaWorkerPool, type MediaWorker, type MediaWorkerPool } from './worker-pool.ts';

const SOUND_SERVER = 'pulseaudio';
const WIDTH = 640;
const HEIGHT = 480;
const ALICE = '22222222-2222-4222-8222-222222222222';
const BOB = '33333333-3333-4333-8333-333333333333';
const KEY_PRESS = 2;
const KEY_RELEASE = 3;
const BUTTON_PRESS = 4;
const BUTTON_RELEASE = 5;

let display: TestDisplay;
let desktop: XConnection;
let scratch: string;
let pool: MediaWorkerPool;
let worker: MediaWorker;
let said: WorkerMessage[];
const viewers: NativeViewer[] = [];

beforeAll(async () => {
  display = await startTestDisplay(WIDTH, HEIGHT);
  scratch = mkdtempSync(join(tmpdir(), 'media-worker-'));
  desktop = await XConnection.open(display.name, () => undefined);
  pool = createMediaWorkerPool({ size: 1 });
});

afterAll(async () => {
  await pool?.close();
  desktop?.close();
  await display?.close();
  rmSync(scratch, { recursive: true, force: true });
});

beforeEach(async () => {
  worker = await pool.acquire();
  said = [];
  for (const type of [
    'prepared',
    'encoding',
    'app_presented',
    'viewer',
    'event',
    'failure',
    'stopped',
    'metrics',
    'display_done',
    'log',
  ] as const) {
    worker.on(type, (message) => said.push(message));
  }
});

afterEach(async () => {
  for (const viewer of viewers.splice(0)) viewer.close();
  worker.kill();
  await worker.exited;
});

/** No keyframe comes by itself in these tests. */
const prepare = (over: Partial<Omit<PrepareMessage, 'stream'>> = {}): PrepareMessage =>
  prepareMessage(
    { display: display.name, scratch },
    { width: WIDTH, height: HEIGHT, bitrate_kbps: 2000 },
    { settings: { gop: 100_000 }, ...over },
  );

function heard<T extends WorkerMessage['type']>(type: T): Extract<WorkerMessage, { type: T }>[] {
  return said.filter((message): message is Extract<WorkerMessage, { type: T }> => message.type === type);
}

async function waitFor<T extends WorkerMessage['type']>(type: T, limitMs = 10_000): Promise<void> {
  const started = performance.now();
  while (heard(type).length === 0) {
    if (performance.now() - started > limitMs) throw new Error(`the worker did not say ${type}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function startSession(): Promise<void> {
  worker.send(prepare());
  worker.send({ type: 'start' });
  await waitFor('encoding');
}

function viewer(clientId: string, conn: number): NativeViewer {
  const made = new NativeViewer(worker, conn, clientId);
  viewers.push(made);
  return made;
}

async function connectedViewer(clientId = ALICE, conn = 1): Promise<NativeViewer> {
  const made = viewer(clientId, conn);
  made.attach();
  await made.until(
    'connected with a picture',
    () => made.state === 'connected' && made.video.some(({ marker }) => marker),
  );
  await made.until('greeted', () => made.control.some(({ type }) => type === 'hello'));
  return made;
}

/** A window of an app that reports its events. */
async function openWindow(): Promise<{ events: XEvent[]; window: number; close(): void }> {
  const { client, root } = desktop;
  const window = client.AllocID();
  const { KeyPress, KeyRelease, ButtonPress, ButtonRelease } = x11.eventMask;
  client.CreateWindow(window, root, 0, 0, WIDTH, HEIGHT, 0, 0, 1, 0, {
    backgroundPixel: 0x204060,
    eventMask: KeyPress | KeyRelease | ButtonPress | ButtonRelease,
  });
  client.ChangeProperty(0, window, client.atoms.WM_NAME, client.atoms.STRING, 8, 'test');
  client.MapWindow(window);
  client.SetInputFocus(window, 0);
  await desktop.settle();
  const events: XEvent[] = [];
  const listener = (event: XEvent) => {
    if (event.type >= 2 && event.type <= 5) events.push(event);
  };
  client.on('event', listener);
  return {
    events,
    window,
    close() {
      client.removeListener('event', listener);
      client.DestroyWindow(window);
    },
  };
}

/** As games do: the pointer is a picture of nothing while it is over the window. */
function hidePointer(window: number): void {
  const { client } = desktop;
  const [pixmap, cursor] = [client.AllocID(), client.AllocID()];
  client.CreatePixmap(pixmap, window, 1, 1, 1);
  const gc = client.AllocID();
  client.CreateGC(gc, pixmap, { foreground: 0 });
  client.PolyFillRectangle(pixmap, gc, [0, 0, 1, 1]);
  client.CreateCursor(cursor, pixmap, pixmap, { R: 0, G: 0, B: 0 }, { R: 0, G: 0, B: 0 }, 0, 0);
  client.ChangeWindowAttributes(window, { cursor });
}

async function grabPointer(window: number): Promise<void> {
  const { client } = desktop;
  const status = await desktop.ask<number>((callback) =>
    client.GrabPointer(window, 1, 0, 1, 1, 0, 0, 0, callback),
  );
  if (status !== 0) throw new Error(`the pointer was not granted: ${status}`);
}

const frames = (from: NativeViewer) => from.video.filter(({ marker }) => marker).length;
const keyframes = (from: NativeViewer) => from.video.filter(({ data }) => isKeyframe('h264', [data])).length;
const rtcp = (count: number, type: number, ...words: number[]) => {
  const packet = Buffer.alloc(4 + words.length * 4);
  packet[0] = 0x80 | count;
  packet[1] = type;
  packet.writeUInt16BE(words.length, 2);
  words.forEach((word, index) => {
    packet.writeUInt32BE(word >>> 0, 4 + index * 4);
  });
  return packet;
};

describe('a picture reaches a viewer', () => {
  test('keyframe first, contiguous packets at the session’s rate, and events say what was agreed', async () => {
    await startSession();
    const alice = await connectedViewer();
    expect(isKeyframe('h264', [alice.video[0]?.data ?? Buffer.alloc(0)])).toBe(true);
    const before = frames(alice);
    const from = performance.now();
    await alice.until('30 more frames', () => frames(alice) >= before + 30);
    expect(30_000 / (performance.now() - from)).toBeGreaterThan(20);
    const gaps = alice.video
      .slice(1)
      .filter((packet, index) => ((packet.sequence - (alice.video[index]?.sequence ?? 0)) & 0xffff) !== 1);
    expect(gaps).toHaveLength(0);
    expect(heard('viewer').at(-1)).toMatchObject({ connected: true });
    const events = heard('event').map(({ event }) => event);
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

  test('PLI brings a keyframe, and an odd NACK does no harm', async () => {
    await startSession();
    const alice = await connectedViewer();
    await alice.until('some frames', () => frames(alice) > 20);
    const before = keyframes(alice);
    for (let count = 0; count < 10; count++) alice.sendRtcp(rtcp(1, 206, 1, alice.videoSsrc));
    await alice.until('a keyframe', () => keyframes(alice) > before, 2000);
    alice.sendRtcp(rtcp(1, 205, 1, alice.videoSsrc, 0xffff_ffff));
    alice.sendRtcp(Buffer.from([0x81, 205, 0, 200, 1, 2, 3]));
    const shown = frames(alice);
    await alice.until('the picture goes on', () => frames(alice) > shown + 10);
  });

  test('bitrate changes while it plays', async () => {
    await startSession();
    worker.send({ type: 'tune', bitrate_kbps: 700, keyframe: true });
    // Below the floor of 0.3 × launch bitrate it is held there.
    worker.send({ type: 'tune', bitrate_kbps: 100 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    const targets = heard('event')
      .filter(({ event }) => event === 'abr.retarget')
      .map(({ payload }) => payload.to_kbps);
    expect(targets).toEqual([700, 600]);
    expect(heard('failure')).toEqual([]);
  });
});

describe('sound reaches a viewer', () => {
  test('10 ms packets of Opus, a hundred a second', async () => {
    const socket = join(scratch, 'sound.sock');
    const server = spawn(
      SOUND_SERVER,
      ['-n', '--daemonize=no', '--exit-idle-time=-1', '--disable-shm=yes', '--use-pid-file=no']
        .concat(['-L', 'module-null-sink sink_name=out'])
        .concat(['-L', `module-native-protocol-unix socket=${socket} auth-anonymous=1`]),
      { stdio: 'ignore', env: { ...process.env, HOME: scratch, XDG_RUNTIME_DIR: scratch } },
    );
    try {
      while (!existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 50));
      const spec = prepare();
      worker.send({ ...spec, pulse_server: `unix:${socket}`, stream: { ...spec.stream, audio: true } });
      worker.send({ type: 'start' });
      await waitFor('encoding');
      const alice = await connectedViewer();
      await alice.until('sound', () => alice.audio.length > 50);
      const before = alice.audio.length;
      const from = performance.now();
      await alice.until('two seconds of sound', () => alice.audio.length >= before + 200);
      expect(200_000 / (performance.now() - from)).toBeGreaterThan(80);
      const [first, second] = alice.audio.slice(-2);
      expect(((second?.timestamp ?? 0) - (first?.timestamp ?? 0)) >>> 0).toBe(480);
      expect(heard('event').filter(({ event }) => event === 'audio.degraded')).toEqual([]);
    } finally {
      server.kill('SIGKILL');
    }
  });

  test('a session goes on without a sound server, and says so once', async () => {
    const spec = prepare();
    worker.send({ ...spec, pulse_server: `unix:${scratch}/nobody`, stream: { ...spec.stream, audio: true } });
    worker.send({ type: 'start' });
    await waitFor('encoding');
    const alice = await connectedViewer();
    await alice.until('some frames', () => frames(alice) > 20);
    expect(heard('event').filter(({ event }) => event === 'audio.degraded')).toHaveLength(1);
    expect(heard('failure')).toEqual([]);
  });
});

describe('input reaches the display', () => {
  test('keys, clicks at their place, text beyond the keyboard', async () => {
    await startSession();
    const alice = await connectedViewer();
    const app = await openWindow();
    let seq = 0;
    const stamp = () => ({ seq: ++seq, t: seq });
    alice.send('input', encodeKey({ ...stamp(), code: 30, down: true, locks: 0 }));
    alice.send('input', encodeKey({ ...stamp(), code: 30, down: false, locks: 0 }));
    await alice.until('the key', () => app.events.filter(({ keycode }) => keycode === 38).length === 2);
    const position = { x: 32_768, y: 65_535 };
    alice.send('input', encodeButton({ ...stamp(), button: 0, down: true, position }));
    alice.send('input', encodeButton({ ...stamp(), button: 0, down: false, position: null }));
    await alice.until('the click', () => app.events.some(({ type }) => type === 5));
    expect(app.events.find(({ type }) => type === 4)).toMatchObject({ keycode: 1, x: 320, y: 479 });
    app.events.length = 0;
    alice.send('input', encodeText({ ...stamp(), text: 'aé€' }));
    await alice.until(
      'three typed characters',
      () => app.events.filter(({ type }) => type === 2).length === 3,
    );
    app.close();
  });

  test('what is held is let go when the viewer goes', async () => {
    await startSession();
    const alice = await connectedViewer();
    const app = await openWindow();
    alice.send('input', encodeKey({ seq: 1, t: 1, code: 30, down: true, locks: 0 }));
    await alice.until('the press', () => app.events.some(({ type }) => type === 2));
    worker.send({ type: 'signal', conn: 1, msg: { type: 'bye' } });
    await alice.until('the release', () => app.events.some(({ type }) => type === 3));
    app.close();
  });

  test('a held key repeats in the session, though the viewer sends it once', async () => {
    await startSession();
    const alice = await connectedViewer();
    const app = await openWindow();
    alice.send('input', encodeKey({ seq: 1, t: 1, code: 30, down: true, locks: 0 }));
    await alice.until('repeats', () => app.events.filter(({ type }) => type === KEY_PRESS).length > 3);
    alice.send('input', encodeKey({ seq: 2, t: 2, code: 30, down: false, locks: 0 }));
    await alice.until('the release', () => app.events.at(-1)?.type === KEY_RELEASE);
    app.close();
  });

  test.each([
    ['blurs', (viewer: NativeViewer) => viewer.send('input', encodeReleaseAll({ seq: 9, t: 9 }))],
    ['vanishes without a word', (viewer: NativeViewer) => viewer.close()],
    ['falls silent for three seconds', () => undefined],
  ])('keys, buttons and fingers of a viewer who %s come up', async (_name, leave) => {
    await startSession();
    const alice = await connectedViewer();
    const app = await openWindow();
    const stamp = (seq: number) => ({ seq, t: seq });
    alice.send('input', encodeKey({ ...stamp(1), code: 42, down: true, locks: 0 }));
    alice.send('input', encodeButton({ ...stamp(2), button: 2, down: true, position: null }));
    const finger = { action: 'down', contact: 3, x: 9_000, y: 9_000, pressure: 9 } as const;
    alice.send('input', encodeTouch({ ...stamp(3), ...finger }));
    const pressed = (type: number) => app.events.filter((event) => event.type === type).length;
    await alice.until('all of it', () => pressed(KEY_PRESS) === 1 && pressed(BUTTON_PRESS) === 2);
    leave(alice);
    await alice.until('let go', () => pressed(KEY_RELEASE) === 1 && pressed(BUTTON_RELEASE) === 2, 20_000);
    app.close();
  });

  test('a takeover lets go of what the first viewer held, and of nothing of the second', async () => {
    await startSession();
    const alice = await connectedViewer();
    const app = await openWindow();
    alice.send('input', encodeKey({ seq: 1, t: 1, code: 42, down: true, locks: 0 }));
    await alice.until('the press', () => app.events.length === 1);
    const bob = await connectedViewer(BOB, 2);
    await bob.until('the release', () => app.events.at(-1)?.type === KEY_RELEASE);
    bob.send('input', encodeKey({ seq: 1, t: 1, code: 42, down: true, locks: 0 }));
    await bob.until('a press of the second', () => app.events.at(-1)?.type === KEY_PRESS);
    alice.send('input', encodeKey({ seq: 2, t: 2, code: 30, down: true, locks: 0 }));
    await alice.until('the first is closed', () => alice.state !== 'connected');
    expect(app.events.map(({ type, keycode }) => [type, keycode])).toEqual([
      [KEY_PRESS, 50],
      [KEY_RELEASE, 50],
      [KEY_PRESS, 50],
    ]);
    app.close();
  });

  test('relative motion moves the pointer by its totals, and an app that takes the pointer is told', async () => {
    await startSession();
    const alice = await connectedViewer();
    const app = await openWindow();
    const { client, root } = desktop;
    const pointer = () =>
      desktop.ask<{ rootX: number; rootY: number }>((callback) => client.QueryPointer(root, callback));
    let at = { rootX: 0, rootY: 0 };
    const reaches = (x: number, y: number) =>
      alice.until(`${x}, ${y}`, () => {
        void pointer().then((now) => {
          at = now;
        });
        return at.rootX === x && at.rootY === y;
      });
    alice.send('motion', encodePointerAbs({ seq: 1, t: 0, x: 32_768, y: 32_768 }));
    await reaches(320, 240);
    alice.send('motion', encodePointerRel({ seq: 2, t: 0, sum_x: 0, sum_y: 0 }));
    // What was lost between is in the next total.
    alice.send('motion', encodePointerRel({ seq: 9, t: 0, sum_x: 16 * 30, sum_y: -16 * 20 }));
    await reaches(350, 220);

    hidePointer(app.window);
    await grabPointer(app.window);
    const modes = () => alice.control.flatMap((m) => (m.type === 'pointer_mode' ? [m.relative] : []));
    await alice.until('told', () => modes().at(-1) === true);
    client.UngrabPointer(0);
    await alice.until('told again', () => modes().at(-1) === false);
    app.close();
  });

  test('a ping is answered, and a frame names the input it contains', async () => {
    await startSession();
    const alice = await connectedViewer();
    alice.send('motion', encodePing({ seq: 5, t: 0, client_ms: 1000.5 }));
    alice.send('motion', encodePointerAbs({ seq: 6, t: 0, x: 1, y: 1 }));
    alice.send('input', encodeKey({ seq: 7, t: 0, code: 30, down: true, locks: 0 }));
    const messages = () =>
      alice.motion.flatMap((bytes) => {
        const decoded = decodeInput(bytes, 'motion', 'viewer');
        return decoded.kind === 'message' ? [decoded.message] : [];
      });
    await alice.until('a pong', () =>
      messages().some((message) => message.kind === 'pong' && message.ping_seq === 5),
    );
    await alice.until('a frame with the key', () =>
      messages().some(
        (message) => message.kind === 'frame' && message.input_seq === 7 && message.motion_seq === 6,
      ),
    );
    const timed = messages().find((message) => message.kind === 'frame' && message.input_seq === 7);
    if (timed?.kind !== 'frame') throw new Error('no frame');
    expect(alice.video.some(({ timestamp }) => timestamp === timed.input_rtp_timestamp)).toBe(true);
    expect(Math.abs(timed.capture_ms - Date.now())).toBeLessThan(5000);
  });

  test('200 malformed messages close the connection', async () => {
    await startSession();
    const alice = await connectedViewer();
    for (let count = 0; count < 200; count++) alice.send('input', Buffer.from([1, 2, 3]));
    await alice.until('the refusal', () =>
      alice.control.some((m) => m.type === 'error' && m.code === 'input_malformed'),
    );
    await alice.until(
      'closed',
      () => alice.state === 'closed' || alice.state === 'disconnected' || alice.state === 'failed',
    );
    expect(heard('viewer').at(-1)).toMatchObject({ connected: false });
  });
});

describe('another size of the display', () => {
  const screen = async () => {
    const { width, height } = await desktop.ask<{ width: number; height: number }>((callback) =>
      desktop.client.GetGeometry(desktop.root, callback),
    );
    return [width, height];
  };
  async function ask(
    request: number,
    render: { width: number; height: number } | null,
    stream?: { width: number; height: number },
  ) {
    worker.send({
      type: 'display',
      request,
      ...(render === null ? {} : { render }),
      ...(stream === undefined ? {} : { stream }),
    });
    const started = performance.now();
    for (;;) {
      const answer = heard('display_done').find((one) => one.request === request);
      if (answer) return answer.error;
      if (performance.now() - started > 5_000) throw new Error('the worker did not say display_done');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  test('the picture goes on, the viewer is told, and its pointer lands where it points', async () => {
    await startSession();
    const alice = await connectedViewer();
    const half = { width: WIDTH / 2, height: HEIGHT / 2 };
    expect(await ask(1, half)).toBeNull();
    expect(await screen()).toEqual([half.width, half.height]);
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    expect(alice.control.findLast(({ type }) => type === 'display')).toMatchObject({
      render_width: half.width,
      render_height: half.height,
      stream_width: WIDTH,
      owner: 'auto',
    });
    alice.send('motion', encodePointerAbs({ seq: 1, t: 0, x: 0xffff, y: 0xffff }));
    const pointer = () =>
      desktop.ask<{ rootX: number; rootY: number }>((callback) =>
        desktop.client.QueryPointer(desktop.root, callback),
      );
    await expect.poll(pointer).toMatchObject({ rootX: half.width - 1, rootY: half.height - 1 });
    expect(await ask(2, { width: WIDTH, height: HEIGHT })).toBeNull();
    expect(await screen()).toEqual([WIDTH, HEIGHT]);
    expect(heard('failure')).toEqual([]);
  });

  test('another stream size begins with a keyframe, and the viewer is told who chose it', async () => {
    await startSession();
    const alice = await connectedViewer();
    const half = { width: WIDTH / 2, height: HEIGHT / 2 };
    const before = keyframes(alice);
    expect(await ask(1, null, half)).toBeNull();
    await alice.until('a keyframe', () => keyframes(alice) > before);
    expect(alice.control.findLast(({ type }) => type === 'display')).toMatchObject({
      render_width: WIDTH,
      stream_width: half.width,
      stream_height: half.height,
      owner: 'pinned',
    });
    expect(await ask(2, null, { width: WIDTH, height: HEIGHT })).toBeNull();
    expect(alice.control.findLast(({ type }) => type === 'display')).toMatchObject({ owner: 'auto' });
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    expect(heard('failure')).toEqual([]);
  });

  test('one that the screen does not take is refused, and everything is as it was', async () => {
    await startSession();
    expect(await ask(1, { width: WIDTH * 2, height: HEIGHT })).not.toBeNull();
    expect(await screen()).toEqual([WIDTH, HEIGHT]);
    const alice = await connectedViewer();
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
  });
});

describe('the desktop', () => {
  test('an app’s first drawing is told, and its clipboard goes both ways', async () => {
    await startSession();
    const alice = await connectedViewer();
    expect(heard('app_presented')).toEqual([]);
    const app = await openWindow();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heard('app_presented')).toEqual([]);
    const gc = desktop.client.AllocID();
    desktop.client.CreateGC(gc, app.window, { foreground: 0xffffff });
    desktop.client.PolyFillRectangle(app.window, gc, [10, 10, 50, 50]);
    await waitFor('app_presented');
    const copied: string[] = [];
    const other = await XClipboard.open(desktop, (text) => copied.push(text));
    other.set('from the app');
    await alice.until('the app’s text', () =>
      alice.control.some((m) => m.type === 'clipboard' && m.text === 'from the app'),
    );
    alice.send('control', JSON.stringify({ type: 'clipboard', text: 'from the viewer é' }));
    await alice.until('the viewer’s text', () => copied.includes('from the viewer é'));
    // The largest text passes, a larger one does not, and one that is no text does not either.
    other.set('é'.repeat(32_768));
    await alice.until('the largest text', () =>
      alice.control.some((m) => m.type === 'clipboard' && m.text.length === 32_768),
    );
    const texts = alice.control.filter(({ type }) => type === 'clipboard').length;
    alice.send('control', JSON.stringify({ type: 'clipboard', text: 'x'.repeat(65_537) }));
    alice.send('control', JSON.stringify({ type: 'clipboard', text: 'after it' }));
    await alice.until('only the next text', () => copied.includes('after it'));
    expect(copied.filter((text) => text.startsWith('xx'))).toEqual([]);
    expect(alice.control.filter(({ type }) => type === 'clipboard')).toHaveLength(texts);
    other.close();
    app.close();
  });
});

describe('viewers come and go', () => {
  test('a lost socket resumes, another client takes over, the older one is told', async () => {
    await startSession();
    const alice = await connectedViewer();
    worker.send({ type: 'detach', conn: 1, reason: 'closed' });
    const pcId = alice.pcId;
    alice.attach(2, true);
    await alice.until('resumed', () => alice.signals.some((m) => m.type === 'resumed' && m.pc_id === pcId));
    const bob = await connectedViewer(BOB, 3);
    expect(bob.signals.find(({ type }) => type === 'offer')).toMatchObject({ reason: 'takeover' });
    await alice.until('told', () => alice.control.some((m) => m.type === 'bye' && m.reason === 'taken_over'));
    await alice.until('closed', () => alice.state !== 'connected');
    expect(bob.state).toBe('connected');
    // Of a socket that was replaced nothing counts any more.
    worker.send({ type: 'signal', conn: 2, msg: { type: 'bye' } });
    const before = frames(bob);
    await bob.until('the picture goes on', () => frames(bob) > before + 5);
  });

  test('a renegotiation makes before it breaks', async () => {
    await startSession();
    const alice = await connectedViewer();
    const first = alice.pcId;
    worker.send({ type: 'signal', conn: 1, msg: { type: 'renegotiate', pc_id: first, reason: 'user' } });
    worker.send({ type: 'signal', conn: 1, msg: { type: 'renegotiate', pc_id: first, reason: 'user' } });
    await alice.until('a second connection', () => alice.pcId !== first && alice.state === 'connected');
    // A handshake that fails is offered again by itself, which is no third renegotiation.
    const failed = heard('event')
      .filter(({ event }) => event === 'transport.peer_disconnected')
      .map(({ payload }) => payload.pc);
    const offered = alice.signals.flatMap((msg) => (msg.type === 'offer' ? [msg.pc_id] : []));
    expect(offered.filter((pcId) => !failed.includes(pcId))).toEqual([first, alice.pcId]);
    expect(heard('viewer').filter(({ connected }) => !connected)).toEqual([]);
  });

  test.each([
    ['video_rejected', (sdp: string) => sdp.replace(/m=video \d+/, 'm=video 0')],
    ['answer_rejected', () => 'v=0\r\nnonsense'],
  ])('%s', async (code, edit) => {
    await startSession();
    const alice = viewer(ALICE, 1);
    alice.editAnswer = edit;
    alice.attach();
    await alice.until('the refusal', () => alice.signals.some((m) => m.type === 'error' && m.code === code));
    expect(heard('failure')).toEqual([]);
  });
});

describe('hostile viewers', () => {
  test('answers and candidates in pieces end their own connection and nothing else', async () => {
    await startSession();
    const mallory = viewer(BOB, 1);
    const runs = process.env.FOOTLIGHT_LONG ? 500 : 15;
    for (let run = 0; run < runs; run++) {
      // Deterministic damage: a cut, a doubled stretch, a foreign character.
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
        worker.send({
          type: 'signal',
          conn: run + 1,
          msg: { type: 'candidate', pc_id: mallory.pcId, candidate, mid: 'video' },
        });
      }
    }
    const alice = await connectedViewer(ALICE, 100_000);
    await alice.until('some frames', () => frames(alice) > 10);
    expect(heard('failure')).toEqual([]);
  }, 60_000);

  test('answers that the library throws out are answer_rejected, as the viewer hears', async () => {
    await startSession();
    const mallory = viewer(BOB, 1);
    const refusals = () =>
      mallory.signals.filter((m) => m.type === 'error' && m.code === 'answer_rejected').length;
    const after = (line: string, more: string) => (sdp: string) => sdp.replace(line, `${line}\r\n${more}`);
    // All of them pass what is read here before the library gets them.
    const thrownOut: [string, (sdp: string) => string][] = [
      ['no fingerprint', (sdp) => sdp.replace(/a=fingerprint.*\r\n/g, '')],
      ['a fingerprint of another length', (sdp) => sdp.replace(/(a=fingerprint:sha-256 ).*/g, '$1AA:BB')],
      ['no password', (sdp) => sdp.replace(/a=ice-pwd.*\r\n/g, '')],
      ['both roles', (sdp) => sdp.replace(/a=setup:.*/g, 'a=setup:actpass')],
      ['a number that is none', after('a=mid:video', 'a=rtpmap:zz H264/90000')],
      ['a port that is none', (sdp) => sdp.replace(/m=application \d+/, 'm=application 99999')],
      ['an id of an extension that is none', after('a=mid:video', 'a=extmap:x y')],
    ];
    for (const [at, [what, edit]] of thrownOut.entries()) {
      mallory.editAnswer = edit;
      mallory.attach(at + 1);
      await mallory.until(what, () => refusals() === at + 1);
    }
    expect(heard('failure')).toEqual([]);
    expect(heard('log').map(({ event }) => event)).not.toContain('media.signal_failed');
  });

  test('a candidate that the library throws out takes none of those after it along', async () => {
    await startSession();
    const alice = viewer(ALICE, 1);
    const hostile = 'candidate:1 1 udp 9999999999 192.0.2.1 9 typ host';
    const say = (pc_id: string) =>
      alice.signal({ type: 'candidate', pc_id, candidate: hostile, mid: 'video' });
    // One that waits for the answer, in front of those without which it cannot connect, and one after it.
    alice.editAnswer = (sdp) => {
      say(alice.pcId);
      return sdp;
    };
    alice.attach();
    await alice.until('connected', () => alice.state === 'connected');
    say(alice.pcId);
    await alice.until('some frames', () => frames(alice) > 10);
    expect(heard('failure')).toEqual([]);
    expect(heard('log').map(({ event }) => event)).not.toContain('media.signal_failed');
  });
});

describe('the end', () => {
  test.runIf(process.getuid?.() === 0)('as root the worker gives its rights up for good', async () => {
    const own = mkdtempSync(join(tmpdir(), 'media-uid-'));
    chownSync(own, 70_250, 70_250);
    worker.send(prepare({ uid: 70_250, gid: 70_250, scratch_dir: own }));
    worker.send({ type: 'start' });
    await waitFor('encoding');
    const status = readFileSync(`/proc/${worker.pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\s+70250\s+70250\s+70250\s+70250$/m);
    expect(status).toMatch(/^Gid:\s+70250\s+70250\s+70250\s+70250$/m);
    expect(status).toMatch(/^Groups:\s+70250\s*$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    rmSync(own, { recursive: true, force: true });
  });

  test('a worker does not outlive its channel', async () => {
    await startSession();
    const from = performance.now();
    worker.disconnect();
    await worker.exited;
    expect(performance.now() - from).toBeLessThan(2000);
  });

  test('stop says goodbye, answers and exits 0', async () => {
    await startSession();
    const alice = await connectedViewer();
    const from = performance.now();
    worker.send({ type: 'stop', reason: 'idle_timeout', grace_ms: 0 });
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - from).toBeLessThan(2500);
    expect(heard('stopped')).toHaveLength(1);
    expect(alice.control.at(-1)).toEqual({ type: 'bye', reason: 'idle_timeout' });
    expect(alice.signals.at(-1)).toEqual({ type: 'bye', reason: 'session_ended' });
  });

  test('a display that is not there is a typed failure', async () => {
    worker.send(prepare({ display: ':65000' }));
    await waitFor('failure');
    expect(heard('failure')[0]).toMatchObject({
      failure_code: 'display_failed',
      error: expect.stringContaining(':65000'),
    });
  });
});
