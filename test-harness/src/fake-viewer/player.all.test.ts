import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../browser/chromium.ts';
import { coloursAt, isNear } from '../browser/picture.ts';
import type { PlayerWindow } from './player-page.ts';
import { ScriptedHost } from './scripted-host.ts';

declare global {
  interface Window extends PlayerWindow {}
}

const HTML = `<!doctype html><title>player</title><style>body{margin:0}
#surface{position:relative;width:640px;height:480px}video{width:100%;height:100%;object-fit:contain}</style>
<div id="surface"><video></video></div><script src="/player.js"></script>`;

let browser: Browser;
let server: Server;
let host: ScriptedHost;
let page: Page;
/** errors on the page's console; they must stay empty, because a violation of the policy is an error */
let complaints: string[] = [];

beforeAll(async () => {
  const entry = path.join(path.dirname(fileURLToPath(import.meta.url)), 'player-page.ts');
  const bundle = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
  });
  const script = bundle.outputFiles[0]?.text ?? '';
  server = createServer((request, response) => {
    const isScript = request.url === '/player.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    // The policy of the product's pages: no eval, pictures from data URLs for cursors.
    response.setHeader(
      'content-security-policy',
      "default-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src *",
    );
    response.end(isScript ? script : HTML);
  });
  server.listen(0, '127.0.0.1');
  browser = await startBrowser(undefined, {
    // A microphone that beeps, and a person who allows it.
    flags: ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
  });
});

afterAll(async () => {
  await browser.close();
  server.close();
});

beforeEach(async () => {
  host = await ScriptedHost.start();
  page = await browser.newPage();
  complaints = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/?signal=${encodeURIComponent(host.url)}`,
  );
});

afterEach(async () => {
  expect(complaints).toEqual([]);
  await page.close();
  await host.close();
});

const state = () => page.evaluate(() => window.client.state);
const live = () => expect.poll(async () => (await state()).kind).toBe('live');

describe('the player in Chromium', () => {
  test('shows the picture and reports it', async () => {
    await live();
    expect(await page.evaluate(() => window.states.map((item) => item.kind))).toEqual([
      'connecting',
      'waiting',
      'live',
    ]);
    const [middle] = await coloursAt(page, [[0.5, 0.5]]);
    expect(isNear(middle, [255, 0, 0], 48)).toBe(true);
    await expect.poll(() => page.evaluate(() => window.allStats.length)).toBeGreaterThan(1);
    const stats = await page.evaluate(() => window.client.stats);
    expect(stats?.width).toBe(320);
    expect(stats?.codec_mime_type).toBe('video/H264');
    expect(stats?.metrics.fps).toBeGreaterThan(10);
    expect(stats?.quality.word).not.toBe('');
    await expect.poll(() => page.evaluate(() => window.client.stats?.clock?.uncertainty_ms)).toBeLessThan(50);
    // The picture has only one colour, like that of an app that has drawn nothing yet. The player therefore does not
    // report a first frame.
    expect(await page.evaluate(() => window.traces.map(({ type }) => type))).not.toContain(
      'client.first_frame',
    );
    await page.evaluate(() => window.client.disconnect());
    expect(await page.evaluate(() => window.traces)).toContainEqual(
      expect.objectContaining({
        type: 'client.first_frame',
        payload: expect.objectContaining({ width: 320, height: 180, flat: true }),
      }),
    );
  });

  test('sends keys, clicks in the letterboxed picture, wheel and text', async () => {
    await live();
    await page.mouse.move(320, 240);
    await page.mouse.click(320, 240);
    await page.keyboard.press('a');
    await page.mouse.wheel(0, 100);
    await page.evaluate(() => window.client.sendText('grüß'));
    const kinds = () => host.inputs.filter((input) => input.kind !== 'ping').map((input) => input.kind);
    await expect.poll(kinds).toContain('text');
    const button = host.inputs.find((input) => input.kind === 'button');
    // A picture of 320×180 in a page of 640×480 is shown at 640×360, sixty pixels below the top.
    expect(button?.position?.x).toBeCloseTo(32_768, -2);
    expect(button?.position?.y).toBeCloseTo(32_768, -2);
    expect(host.inputs.filter((input) => input.kind === 'key')).toMatchObject([
      { code: 30, down: true },
      { code: 30, down: false },
    ]);
    expect(host.inputs.find((input) => input.kind === 'wheel')).toMatchObject({ dx: 0, dy: 120 });
    expect(host.inputs.find((input) => input.kind === 'text')).toMatchObject({ text: 'grüß' });
    expect(kinds()).toContain('pointer_abs');
  });

  test('releases keyboard and pointer on Ctrl+Alt+Shift+Z, and all keys when the focus leaves', async () => {
    await live();
    await page.evaluate(() => {
      window.client.on('menu', ({ source }) => window.menus.push(source));
      window.client.focus();
    });
    await page.keyboard.press('Control+Alt+Shift+KeyZ');
    await expect.poll(() => page.evaluate(() => window.menus)).toContain('keyboard');
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
    expect(host.inputs.some((input) => input.kind === 'release_all')).toBe(true);
    expect(host.inputs.some((input) => input.kind === 'key' && input.code === 44)).toBe(false);
  });

  test('keeps playing while the socket is away and resumes', async () => {
    await live();
    host.hangUp(1012);
    await expect.poll(state).toMatchObject({ kind: 'live', signaling: 'lost' });
    await expect.poll(state).toMatchObject({ kind: 'live', signaling: 'connected' });
    expect(host.peers).toHaveLength(1);
    expect(host.heard.filter((message) => message.type === 'hello')).toHaveLength(2);
  });

  test('replaces the connection without losing the picture', async () => {
    await live();
    await page.evaluate(() => window.client.renegotiate());
    await expect.poll(() => host.peers.map((peer) => peer.state)).toEqual(['closed', 'connected']);
    expect(await page.evaluate(() => window.states.map((item) => item.kind))).toEqual([
      'connecting',
      'waiting',
      'live',
    ]);
    const before = await page.evaluate(
      () => document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames,
    );
    await expect
      .poll(() =>
        page.evaluate(() => document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames),
      )
      .not.toBe(before);
  });

  test('recovers from a connection that dies', async () => {
    await live();
    host.newest?.connection.close();
    await expect.poll(async () => (await state()).kind).toBe('reconnecting');
    await live();
    expect(host.peers).toHaveLength(2);
  });

  test('ends when it was taken over, and starts again on request', async () => {
    await live();
    host.say({ type: 'bye', reason: 'taken_over' });
    await expect.poll(state).toMatchObject({ kind: 'ended', reason: 'taken_over' });
    await page.evaluate(() => window.client.connect());
    await live();
  });

  test('draws the cursor that the session sends', async () => {
    await live();
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    host.control({ type: 'cursor', id: 7, width: 1, height: 1, hot_x: 0, hot_y: 0, png });
    host.control({ type: 'cursor_use', id: 7 });
    const cursor = () =>
      page.evaluate(() => (document.querySelector('#surface') as HTMLElement).style.cursor);
    await expect.poll(cursor).toContain('data:image/png');
    host.control({ type: 'cursor_use', id: null });
    await expect.poll(cursor).toBe('none');
  });

  test('sends the microphone after it is turned on, keeps it on a new connection, and stops when it is off', async () => {
    await live();
    expect(await page.evaluate(() => window.client.setMicrophone(true))).toBe('unavailable');
    const first = host.newest;
    host.takesMicrophone = true;
    host.offer('renegotiate');
    await expect.poll(() => host.newest?.mic?.isOpen()).toBe(true);
    await expect.poll(() => page.evaluate(() => window.client.setMicrophone(true))).toBe('on');
    // Packets of silence are small, and packets of a beep are large.
    await expect.poll(() => host.voice.some((bytes) => bytes > 60)).toBe(true);
    expect(first?.mic).toBeNull();

    const second = host.newest;
    host.offer('renegotiate');
    await expect.poll(() => second?.state).toBe('closed');
    const before = host.voice.length;
    await expect.poll(() => host.voice.length).toBeGreaterThan(before + 20);

    expect(await page.evaluate(() => window.client.setMicrophone(false))).toBe('off');
    await expect.poll(() => page.evaluate(() => window.client.audio.microphone)).toBe('off');
    // A new figure arrives each second. The first one may include packets in transit; the second one must include none.
    const figures = () => page.evaluate(() => window.allStats.length);
    const at = await figures();
    await expect.poll(figures).toBeGreaterThan(at);
    const after = host.voice.length;
    await expect.poll(figures).toBeGreaterThan(at + 1);
    expect(host.voice.length).toBe(after);
  });

  test('leaves nothing behind', async () => {
    await live();
    await page.evaluate(() => window.client.dispose());
    await expect.poll(() => host.heard.at(-1)?.type).toBe('bye');
    await expect.poll(() => host.newest?.state).toBe('closed');
    expect(await page.evaluate(() => document.querySelector('video')?.srcObject)).toBeNull();
    expect(await page.evaluate(() => document.querySelectorAll('textarea').length)).toBe(0);
  });
});
