import { execFileSync } from 'node:child_process';
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
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { BOB, BUTTON_PRESS, BUTTON_RELEASE, KEY_PRESS, KEY_RELEASE, TestHost } from '../testing/test-host.ts';

const SHIFT_KEYCODE = 50;
/** evdev code. */
const KEY_SPACE = 57;

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.open({ width: 640, height: 480 });
});

afterEach(() => host.clear());
afterAll(() => host?.close());

/** Hides the pointer like a game: the pointer has an empty picture over the window. */
function hidePointer(window: number): void {
  const { client } = host.desktop;
  const [pixmap, cursor] = [client.AllocID(), client.AllocID()];
  client.CreatePixmap(pixmap, window, 1, 1, 1);
  const gc = client.AllocID();
  client.CreateGC(gc, pixmap, { foreground: 0 });
  client.PolyFillRectangle(pixmap, gc, [0, 0, 1, 1]);
  client.CreateCursor(cursor, pixmap, pixmap, { R: 0, G: 0, B: 0 }, { R: 0, G: 0, B: 0 }, 0, 0);
  client.ChangeWindowAttributes(window, { cursor });
}

async function grabPointer(window: number): Promise<void> {
  const { client } = host.desktop;
  const status = await host.desktop.request<number>((callback) =>
    client.GrabPointer(window, 1, 0, 1, 1, 0, 0, 0, callback),
  );
  if (status !== 0) throw new Error(`the pointer was not granted: ${status}`);
}

/** Characters of keys in the current keyboard map, as seen by an app that reads the map again after each change. */
async function charactersOf(keycodes: readonly { keycode: number; shift: boolean }[]): Promise<string> {
  const { desktop } = host;
  const first = desktop.display.min_keycode;
  const rows = await desktop.request<number[][]>((callback) =>
    desktop.client.GetKeyboardMapping(first, desktop.display.max_keycode - first + 1, callback),
  );
  return keycodes
    .map(({ keycode, shift }) => String.fromCodePoint(rows[keycode - first]?.[shift ? 1 : 0] ?? 0))
    .join('');
}

describe('input reaches the display', () => {
  test.each([30, 60])('a program that looks at the keyboard %s times a second sees each tap', async (hz) => {
    const session = await host.session();
    await session.start({ fps: hz });
    const alice = await session.watch();
    const app = await host.openWindow();
    // Times of the display's clock are used, because this process may poll too rarely on a busy machine.
    const times = () =>
      app.events.filter(({ keycode }) => keycode === KEY_SPACE + 8).map(({ time = Number.NaN }) => time);
    for (let tap = 1; tap <= 10; tap++) {
      for (const down of [true, false]) {
        alice.send(
          'input',
          encodeKey({ seq: 2 * tap + (down ? 0 : 1), t: tap, code: KEY_SPACE, down, locks: 0 }),
        );
      }
      await alice.until(`tap ${tap}`, () => times().length === 2 * tap);
    }
    const held = times().flatMap((at, index, all) => (index % 2 === 1 ? [at - (all[index - 1] ?? 0)] : []));
    expect(Math.min(...held)).toBeGreaterThanOrEqual(Math.floor(1_000 / hz));
  });

  test('text is right after an app has changed the keyboard map', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    const setMap = (layout: string) => execFileSync('setxkbmap', ['-display', host.display.name, layout]);
    setMap('de');
    try {
      alice.send('input', encodeText({ seq: 1, t: 1, text: 'zy(ö)' }));
      const characters = () =>
        app.events
          .filter(({ type, keycode }) => type === KEY_PRESS && keycode !== SHIFT_KEYCODE)
          .map(({ keycode, buttons = 0 }) => ({ keycode, shift: (buttons & 1) === 1 }));
      await alice.until('five characters', () => characters().length === 5);
      expect(await charactersOf(characters())).toBe('zy(ö)');
    } finally {
      setMap('us');
    }
  });

  test('keys, clicks at their position, text without keys', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    let seq = 0;
    const stamp = () => ({ seq: ++seq, t: seq });
    alice.send('input', encodeKey({ ...stamp(), code: 30, down: true, locks: 0 }));
    alice.send('input', encodeKey({ ...stamp(), code: 30, down: false, locks: 0 }));
    await alice.until('the key', () => app.events.filter(({ keycode }) => keycode === 38).length === 2);
    const position = { x: 32_768, y: 65_535 };
    alice.send('input', encodeButton({ ...stamp(), button: 0, down: true, position }));
    alice.send('input', encodeButton({ ...stamp(), button: 0, down: false, position: null }));
    await alice.until('the click', () => app.events.some(({ type }) => type === BUTTON_RELEASE));
    expect(app.events.find(({ type }) => type === BUTTON_PRESS)).toMatchObject({
      keycode: 1,
      x: 320,
      y: 479,
    });
    app.events.length = 0;
    alice.send('input', encodeText({ ...stamp(), text: 'aé€' }));
    await alice.until(
      'three typed characters',
      () => app.events.filter(({ type }) => type === KEY_PRESS).length === 3,
    );
  });

  test('held keys are released when the viewer leaves', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    alice.send('input', encodeKey({ seq: 1, t: 1, code: 30, down: true, locks: 0 }));
    await alice.until('the press', () => app.events.some(({ type }) => type === KEY_PRESS));
    alice.signal({ type: 'bye' });
    await alice.until('the release', () => app.events.some(({ type }) => type === KEY_RELEASE));
  });

  test('a held key repeats in the session, though the viewer sends it once', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    alice.send('input', encodeKey({ seq: 1, t: 1, code: 30, down: true, locks: 0 }));
    await alice.until('repeats', () => app.events.filter(({ type }) => type === KEY_PRESS).length > 3);
    alice.send('input', encodeKey({ seq: 2, t: 2, code: 30, down: false, locks: 0 }));
    await alice.until('the release', () => app.events.at(-1)?.type === KEY_RELEASE);
  });

  test.each([
    ['blurs', (viewer: NativeViewer) => viewer.send('input', encodeReleaseAll({ seq: 9, t: 9 }))],
    ['vanishes without closing', (viewer: NativeViewer) => viewer.close()],
    ['falls silent for three seconds', () => undefined],
  ])('keys, buttons and fingers of a viewer who %s are released', async (_name, leave) => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    const stamp = (seq: number) => ({ seq, t: seq });
    alice.send('input', encodeKey({ ...stamp(1), code: 42, down: true, locks: 0 }));
    alice.send('input', encodeButton({ ...stamp(2), button: 2, down: true, position: null }));
    const finger = { action: 'down', contact: 3, x: 9_000, y: 9_000, pressure: 9 } as const;
    alice.send('input', encodeTouch({ ...stamp(3), ...finger }));
    const pressed = (type: number) => app.events.filter((event) => event.type === type).length;
    await alice.until('all of it', () => pressed(KEY_PRESS) === 1 && pressed(BUTTON_PRESS) === 2);
    leave(alice);
    await alice.until('let go', () => pressed(KEY_RELEASE) === 1 && pressed(BUTTON_RELEASE) === 2, 20_000);
  });

  test('a takeover releases keys of the first viewer and none of the second', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    alice.send('input', encodeKey({ seq: 1, t: 1, code: 42, down: true, locks: 0 }));
    await alice.until('the press', () => app.events.length === 1);
    const bob = await session.watch(BOB, 2);
    await bob.until('the release', () => app.events.at(-1)?.type === KEY_RELEASE);
    bob.send('input', encodeKey({ seq: 1, t: 1, code: 42, down: true, locks: 0 }));
    await bob.until('a press of the second', () => app.events.at(-1)?.type === KEY_PRESS);
    alice.send('input', encodeKey({ seq: 2, t: 2, code: 30, down: true, locks: 0 }));
    // Sends pings like a page. Without them, the second viewer's key would also be released after three seconds of
    // silence.
    let pings = 1;
    await alice.until('the first is closed', () => {
      bob.send('motion', encodePing({ seq: ++pings, t: 0, client_ms: 0 }));
      return alice.state !== 'connected';
    });
    expect(app.events.map(({ type, keycode }) => [type, keycode])).toEqual([
      [KEY_PRESS, 50],
      [KEY_RELEASE, 50],
      [KEY_PRESS, 50],
    ]);
  });

  test('relative motion moves the pointer by its totals, and a grab by an app is reported', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const app = await host.openWindow();
    const { client, root } = host.desktop;
    const pointer = () =>
      host.desktop.request<{ rootX: number; rootY: number }>((callback) =>
        client.QueryPointer(root, callback),
      );
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
    // Messages 3 to 8 are lost, but the next total includes their movement.
    alice.send('motion', encodePointerRel({ seq: 9, t: 0, sum_x: 16 * 30, sum_y: -16 * 20 }));
    await reaches(350, 220);

    hidePointer(app.id);
    await grabPointer(app.id);
    const modes = () => alice.control.flatMap((m) => (m.type === 'pointer_mode' ? [m.relative] : []));
    await alice.until('told', () => modes().at(-1) === true);
    client.UngrabPointer(0);
    await alice.until('told again', () => modes().at(-1) === false);
  });

  test('a ping is answered, and a frame names the input it contains', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
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
    const session = await host.startSession();
    const alice = await session.watch();
    for (let count = 0; count < 200; count++) alice.send('input', Buffer.from([1, 2, 3]));
    await alice.until('the refusal', () =>
      alice.control.some((m) => m.type === 'error' && m.code === 'input_malformed'),
    );
    await alice.until(
      'closed',
      () => alice.state === 'closed' || alice.state === 'disconnected' || alice.state === 'failed',
    );
    // Polled, because the worker's message and the viewer's state arrive on different channels.
    await expect.poll(() => session.heard('viewer').at(-1)).toMatchObject({ connected: false });
  });
});
