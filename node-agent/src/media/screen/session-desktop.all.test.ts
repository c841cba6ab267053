import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { XClipboard } from '../../display/x11/x-clipboard.ts';
import { TestHost } from '../testing/test-host.ts';

let host: TestHost;

beforeAll(async () => {
  host = await TestHost.open();
});

afterEach(() => host.clear());
afterAll(() => host?.close());

test('an app’s first drawing is reported, and the clipboard works in both directions', async () => {
  const session = await host.startSession();
  const alice = await session.watch();
  expect(session.heard('app_presented')).toEqual([]);
  const copied: string[] = [];
  const other = await XClipboard.open(host.desktop, (text) => copied.push(text));
  const app = await host.openWindow();
  // When the worker reports this later event, it has already processed the window.
  other.set('before the first drawing');
  await alice.until('the text after the window', () =>
    alice.control.some((m) => m.type === 'clipboard' && m.text === 'before the first drawing'),
  );
  expect(session.heard('app_presented')).toEqual([]);
  const gc = host.desktop.client.AllocID();
  host.desktop.client.CreateGC(gc, app.id, { foreground: 0xffffff });
  host.desktop.client.PolyFillRectangle(app.id, gc, [10, 10, 50, 50]);
  await session.first('app_presented');
  other.set('from the app');
  await alice.until('the app’s text', () =>
    alice.control.some((m) => m.type === 'clipboard' && m.text === 'from the app'),
  );
  alice.send('control', JSON.stringify({ type: 'clipboard', text: 'from the viewer é' }));
  await alice.until('the viewer’s text', () => copied.includes('from the viewer é'));
  // The largest allowed text is transferred; a larger text and an invalid text are not.
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
});

test('an app that pastes endlessly does not fill the worker’s memory with answers', async () => {
  const session = await host.startSession();
  const alice = await session.watch();
  const copied: string[] = [];
  const own = await XClipboard.open(host.desktop, (text) => copied.push(text));
  alice.send('control', JSON.stringify({ type: 'clipboard', text: 'x'.repeat(65_536) }));
  await alice.until('the text', () => copied.length > 0);
  const before = peakMib(session.worker.pid);
  const { client, root } = host.desktop;
  const window = client.AllocID();
  client.CreateWindow(window, root, 0, 0, 1, 1, 0, 0, 1, 0, {});
  const [clipboard = 0, utf8 = 0, property = 0] = await Promise.all(
    ['CLIPBOARD', 'UTF8_STRING', 'PASTED'].map((name) => host.desktop.atom(name)),
  );
  // While one client has grabbed the server, the server does not read requests of other clients.
  client.GrabServer();
  for (let count = 0; count < 10_000; count++) client.ConvertSelection(window, clipboard, utf8, property, 0);
  await host.desktop.settle();
  client.UngrabServer();
  await host.desktop.settle();
  // When the worker reports this later event, it has handled all earlier requests.
  own.set('after it');
  await alice.until('the next text', () =>
    alice.control.some((message) => message.type === 'clipboard' && message.text === 'after it'),
  );
  expect(peakMib(session.worker.pid) - before).toBeLessThan(100);
  own.close();
  client.DestroyWindow(window);
});

/** Peak memory of a process in MiB. */
function peakMib(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
