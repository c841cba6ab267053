import { systemClock } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestDisplay, type TestDisplay } from '../../media/testing/display.ts';
import { XConnection } from './x-connection.ts';
import { XPresented } from './x-presented.ts';

let display: TestDisplay;
let x: XConnection;
beforeAll(async () => {
  display = await startTestDisplay(640, 480);
  x = await XConnection.open(display.name, systemClock, () => undefined);
});
afterAll(async () => {
  x?.close();
  await display?.close();
});

/** Opens an app with one window that has a name and shows a single colour. */
async function openApp(): Promise<{ window: number; draw(): Promise<void>; end(): Promise<void> }> {
  const app = await XConnection.open(display.name, systemClock, () => undefined);
  const { client, root } = app;
  const window = client.AllocID();
  const child = client.AllocID();
  client.CreateWindow(window, root, 0, 0, 200, 100, 0, 0, 1, 0, { backgroundPixel: 0x204060 });
  client.ChangeProperty(0, window, client.atoms.WM_NAME, client.atoms.STRING, 8, 'app');
  client.MapWindow(window);
  await app.settle();
  return {
    window,
    async draw() {
      client.CreateWindow(child, window, 10, 10, 50, 50, 0, 0, 1, 0, { backgroundPixel: 0xffffff });
      client.MapWindow(child);
      await app.settle();
    },
    end: () =>
      new Promise((resolve) => {
        client.on('end', resolve);
        app.close();
      }),
  };
}

type Opener = (connection: XConnection, onPresented: () => void) => Promise<XPresented>;

/** @returns the watch; `drawn` resolves when the watch has detected that a window drew */
async function watched(open: Opener): Promise<{ presented: XPresented; drawn: Promise<void> }> {
  let tell = () => {};
  const drawn = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { presented: await open(x, tell), drawn };
}

test('an existing window does not count, a later one does', async () => {
  const before = await openApp();
  const { drawn } = await watched(XPresented.openForNew);
  let isSeen = false;
  void drawn.then(() => {
    isSeen = true;
  });
  await before.draw();
  await x.settle();
  expect(isSeen).toBe(false);
  const later = await openApp();
  await later.draw();
  await drawn;
  await before.end();
  await later.end();
});

test.each<[string, Opener]>([
  ['that existed before', XPresented.openForNew],
  ['that was checked without result', XPresented.open],
])('a window counts even if its id belonged to one %s, whose app has ended', async (_name, open) => {
  const before = await openApp();
  const { drawn } = await watched(open);
  await before.end();
  const later = await openApp();
  expect(later.window).toBe(before.window);
  await later.draw();
  await drawn;
  await later.end();
});
