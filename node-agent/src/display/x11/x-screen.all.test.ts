import { systemClock } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestDisplay, type TestDisplay } from '../../media/testing/display.ts';
import { XConnection } from './x-connection.ts';
import { XScreenSize } from './x-screen.ts';

let display: TestDisplay;
let x: XConnection;
beforeAll(async () => {
  display = await startTestDisplay(1280, 720);
  x = await XConnection.open(display.name, systemClock, () => undefined);
});
afterAll(async () => {
  x?.close();
  await display?.close();
});

const size = async () => {
  const { width, height } = await x.request<{ width: number; height: number }>((callback) =>
    x.client.GetGeometry(x.root, callback),
  );
  return [width, height];
};

test('a virtual screen accepts any size up to its initial one, and returns to it', async () => {
  const screen = await XScreenSize.open(x);
  for (const [width, height] of [
    [640, 480],
    [1280, 720],
    [16, 16],
    [640, 480],
    [1000, 700],
    [1280, 720],
  ] as const) {
    await screen.resize({ width, height });
    expect(await size()).toEqual([width, height]);
  }
});

test('a larger size is an error, and the next size that fits works', async () => {
  const screen = await XScreenSize.open(x);
  await expect(screen.resize({ width: 1282, height: 720 })).rejects.toThrow();
  await screen.resize({ width: 800, height: 600 });
  expect(await size()).toEqual([800, 600]);
});

test('the scale is stored where toolkits read it', async () => {
  const screen = await XScreenSize.open(x);
  await screen.setScale(1.5);
  const property = await x.atom('RESOURCE_MANAGER');
  const { data } = await x.request<{ data: Buffer }>((callback) =>
    x.client.GetProperty(0, x.root, property, 0, 0, 64, callback),
  );
  expect(data.toString()).toBe('Xft.dpi:\t144\n');
});
