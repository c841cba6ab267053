import { type ChildProcess, spawn } from 'node:child_process';
import { type AgentControl, encodeControl, encodePointerAbs } from '@footlight/protocol/input';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { XScreenSize } from '../../display/x11/x-screen.ts';
import type { NativeViewer } from '../testing/native-viewer.ts';
import { TestHost } from '../testing/test-host.ts';

const SIZE = { width: 960, height: 600 };
const FIXED = { width: 640, height: 480 };

let host: TestHost;
let windowManager: ChildProcess;
const opened: number[] = [];

beforeAll(async () => {
  host = await TestHost.open(SIZE);
  const args = ['-display', host.display.name, '-use_titlebar', 'no', '-use_desktop_mode', 'plain'];
  windowManager = spawn('matchbox-window-manager', args, { stdio: 'ignore' });
});

afterEach(async () => {
  for (const id of opened.splice(0)) host.desktop.client.DestroyWindow(id);
  await host.clear();
  // Restored here, because a killed session does not restore its display.
  await (await XScreenSize.open(host.desktop)).resize(SIZE);
});

afterAll(async () => {
  windowManager?.kill('SIGKILL');
  await host?.close();
});

/** Hints of a window that allows only one size. Source: ICCCM, 4.1.2.3. */
function fixedSizeHints({ width, height }: { width: number; height: number }): Buffer {
  const hints = Buffer.alloc(18 * 4);
  [(1 << 4) | (1 << 5), 0, 0, 0, 0, width, height, width, height].forEach((value, index) => {
    hints.writeUInt32LE(value, 4 * index);
  });
  return hints;
}

async function setHints(id: number, size: { width: number; height: number }): Promise<void> {
  const { client } = host.desktop;
  const [name, type] = [await host.desktop.atom('WM_NORMAL_HINTS'), await host.desktop.atom('WM_SIZE_HINTS')];
  client.ChangeProperty(0, id, name, type, 32, fixedSizeHints(size));
}

/** @param fixed null: any size is allowed */
async function open(fixed: { width: number; height: number } | null): Promise<number> {
  const { client, root } = host.desktop;
  const id = client.AllocID();
  opened.push(id);
  const { width, height } = fixed ?? { width: 300, height: 200 };
  client.CreateWindow(id, root, 0, 0, width, height, 0, 0, 1, 0, { backgroundPixel: 0x40a060 });
  client.ChangeProperty(0, id, client.atoms.WM_NAME, client.atoms.STRING, 8, 'test');
  if (fixed) await setHints(id, fixed);
  client.MapWindow(id);
  await host.desktop.settle();
  return id;
}

async function screen(): Promise<{ width: number; height: number }> {
  const { width, height } = await host.desktop.request<{ width: number; height: number }>((callback) =>
    host.desktop.client.GetGeometry(host.desktop.root, callback),
  );
  return { width, height };
}

function told({ control }: NativeViewer) {
  return control.findLast(
    (message): message is Extract<AgentControl, { type: 'display' }> => message.type === 'display',
  );
}

describe('an app whose only window has a fixed size', () => {
  test('has a display and a picture of that size, and the pointer lands where it points', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    await open(FIXED);
    await expect.poll(screen).toEqual(FIXED);
    await alice.until('told', () => told(alice)?.render_width === FIXED.width);
    expect(told(alice)).toMatchObject({
      render_height: FIXED.height,
      stream_width: FIXED.width,
      stream_height: FIXED.height,
      owner: 'auto',
    });
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    const onWire = (pixel: number, side: number) => Math.round((pixel / (side - 1)) * 0xffff);
    const at = { x: onWire(123, FIXED.width), y: onWire(456, FIXED.height) };
    alice.send('motion', encodePointerAbs({ seq: 1, t: 0, ...at }));
    const pointer = () =>
      host.desktop.request<{ rootX: number; rootY: number }>((callback) =>
        host.desktop.client.QueryPointer(host.desktop.root, callback),
      );
    await expect.poll(pointer).toMatchObject({ rootX: 123, rootY: 456 });
    expect(session.heard('failure')).toEqual([]);
    expect(session.heard('windows').at(-1)?.count).toBe(1);
  });

  test.each([
    ['the window closes', async (id: number) => void host.desktop.client.DestroyWindow(id)],
    ['another window appears', async () => void (await open(null))],
    ['the window wants to be larger', (id: number) => setHints(id, SIZE)],
  ])('the display has its own size again when %s', async (_what, change) => {
    const session = await host.startSession();
    const alice = await session.watch();
    const id = await open(FIXED);
    await expect.poll(screen).toEqual(FIXED);
    await change(id);
    await expect.poll(screen).toEqual(SIZE);
    await alice.until('told', () => told(alice)?.stream_width === SIZE.width);
    const seen = alice.video.length;
    await alice.until('frames', () => alice.video.length > seen + 10);
    expect(session.heard('failure')).toEqual([]);
  });
});

describe('the windows of an app', () => {
  const listed = ({ control }: NativeViewer) =>
    control
      .findLast(
        (message): message is Extract<AgentControl, { type: 'windows' }> => message.type === 'windows',
      )
      ?.windows.map(({ title, active }) => `${title}${active ? ' *' : ''}`);
  const idOf = ({ control }: NativeViewer, wanted: string) =>
    control
      .findLast(
        (message): message is Extract<AgentControl, { type: 'windows' }> => message.type === 'windows',
      )
      ?.windows.find(({ title }) => title === wanted)?.id ?? 0;

  async function name(id: number, title: string | Buffer, property = '_NET_WM_NAME'): Promise<void> {
    const { client } = host.desktop;
    const [atom, type] = [await host.desktop.atom(property), await host.desktop.atom('UTF8_STRING')];
    client.ChangeProperty(0, id, atom, type, 8, Buffer.from(title));
    await host.desktop.settle();
  }

  test('are listed with their titles, and the person switches between them', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    await name(await open(null), 'Erstes Fenster – ü');
    await name(await open(null), 'second');
    await expect.poll(() => listed(alice)).toEqual(['Erstes Fenster – ü', 'second *']);
    alice.send('control', encodeControl({ type: 'window_use', id: idOf(alice, 'Erstes Fenster – ü') }));
    await expect.poll(() => listed(alice)).toEqual(['Erstes Fenster – ü *', 'second']);
    // A window that is not in the list, for example the root window, must not be raised.
    alice.send('control', encodeControl({ type: 'window_use', id: host.desktop.root }));
    alice.send('control', encodeControl({ type: 'window_use', id: idOf(alice, 'second') }));
    await expect.poll(() => listed(alice)).toEqual(['Erstes Fenster – ü', 'second *']);
  });

  test.each([
    ['control characters', 'a\u0007b\nc\td\u001b[31m', 'ab c d[31m'],
    ['characters that change the text direction', 'safe\u202eexe.txt', 'safeexe.txt'],
    ['200 letters of two bytes', 'ü'.repeat(200), 'ü'.repeat(64)],
    ['invalid UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
    ['nothing', '', ''],
  ])('a title of %s', async (_what, title, shown) => {
    const session = await host.startSession();
    const alice = await session.watch();
    await name(await open(null), title);
    await expect.poll(() => listed(alice)).toEqual([`${shown} *`]);
  });

  test('are limited to sixteen, and changes are sent at most twice a second', async () => {
    const session = await host.startSession();
    const alice = await session.watch();
    const ids: number[] = [];
    for (let count = 0; count < 20; count++) ids.push(await open(null));
    await expect.poll(() => listed(alice)?.length).toBe(16);
    const lists = () => alice.control.filter(({ type }) => type === 'windows').length;
    const before = { lists: lists(), ms: performance.now() };
    let turn = 0;
    while (performance.now() - before.ms < 2_000) await name(ids[0] ?? 0, `turn ${turn++}`);
    expect(turn).toBeGreaterThan(20);
    expect(lists() - before.lists).toBeLessThanOrEqual(5);
    await expect.poll(() => listed(alice)).toContain(`turn ${turn - 1}`);
  });
});
