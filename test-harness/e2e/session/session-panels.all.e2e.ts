import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const images = path.resolve(import.meta.dirname, '../../../test-results');
const SIZES = [
  [390, 844],
  [844, 390],
  [1366, 768],
  [1920, 1080],
] as const;
const DESK = { width: 1280, height: 800 };
const FROM_APP = 'from the app: ä';
const TO_APP = 'to the app: ß';
/**
 * Loudest sample that counts as silence, of 32767; the browser treats the beeps of its fake microphone as noise and
 * lowers them.
 */
const SILENCE = 50;

/** A terminal that pastes with Ctrl+V, copies when its home has a file "copy", records its input, and records sound. */
const TERMINAL = `
parec --device=microphone --format=s16le --rate=8000 --channels=1 >"$HOME/voice" &
exec xterm -u8 -xrm '*allowWindowOps: true' -xrm '*VT100.Translations: #override Ctrl<Key>v: insert-selection(CLIPBOARD)' \
  -e /bin/sh -c 'stty raw -echo
    (while ! test -e "$HOME/copy"; do sleep 0.2; done; printf "\\033]52;c;${Buffer.from(FROM_APP).toString('base64')}\\007" >/dev/tty) &
    exec cat >"$HOME/typed"'`;

describe.runIf(process.getuid?.() === 0)('the panels of a session’s bar', () => {
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let page: Page;
  let id: string;

  beforeAll(async () => {
    stack = await startStack({ agentEnv: { SERVICE_ENCODE_SLOTS: '2' } });
    const { token } = await stack.claim();
    sessions = new PersonSessions(stack, token);
    await sessions.call('PATCH', '/v1/admin/settings', { mic_capture_enabled: true });
    const app = await sessions.app(
      'Terminal',
      null,
      {},
      {
        managed_home: true,
        runtime_spec: { args: ['/bin/sh', '-c', TERMINAL] },
      },
    );
    await sessions.app('Small pattern', null);
    const launched = await sessions.call('POST', '/v1/sessions', {
      app_id: app,
      mic: true,
      stream: { width: 640, height: 360, fps: 30 },
    });
    id = launched.body.session.id;
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser(DESK, {
      // A microphone that beeps, and a person who allows it.
      flags: ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
    });
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write', 'microphone'], {
      origin: stack.httpsUrl,
    });
    page = await browser.newPage();
    await signIn(page, token);
    await page.goto(`${stack.httpsUrl}/app/session/${id}`);
    await eventually('the page shows the session', 30_000, async () => (await framesShown(page)) > 5 || null);
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
  });

  const bar = () => page.getByRole('toolbar', { name: 'Controls' });
  async function press(name: string | RegExp): Promise<void> {
    await page.mouse.move(640, 400);
    await page.mouse.move(640, 1);
    await bar().waitFor({ state: 'visible' });
    await bar().getByRole('button', { name }).click();
  }
  /** The file of that name in the app's home; "" before it exists. */
  function fileOf(name: string): string {
    const homes = path.join(stack.directory, 'agent', 'homes');
    const [file] = readdirSync(homes, { recursive: true, encoding: 'utf8' }).filter((each) =>
      each.endsWith(`/${name}`),
    );
    return file === undefined ? '' : path.join(homes, file);
  }
  const written = (name: string) => {
    const file = fileOf(name);
    return file === '' ? Buffer.alloc(0) : readFileSync(file);
  };
  async function photograph(name: string): Promise<void> {
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await page.screenshot({ path: path.join(images, `session-${name}-${width}x${height}.png`) });
    }
    await page.setViewportSize(DESK);
  }
  /** Checks that `axe` finds nothing, in both colour schemes. */
  async function expectAccessible(what: string): Promise<void> {
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await accessibilityProblems(page), `${what}, ${colorScheme}`).toEqual([]);
    }
    await page.emulateMedia({ colorScheme: 'dark' });
  }

  test('statistics have three levels: a line, two graphs with scales, and all measurements', async () => {
    const panel = page.getByRole('region', { name: 'Statistics' });
    await press(/^Quality/);
    await page.getByText(/^delay \d/).waitFor({ timeout: 30_000 });
    expect(await panel.count()).toBe(0);
    await photograph('stats-line');
    await press(/^Quality/);
    await panel.waitFor();
    expect(await panel.getByRole('figure').count()).toBe(2);
    await panel.getByText('20', { exact: true }).first().waitFor();
    await panel.getByText('−60 s').first().waitFor();
    await photograph('stats-graph');
    await press(/^Quality/);
    await expect.poll(() => panel.getByRole('figure').count()).toBe(8);
    // A click in the picture changes the picture.
    await page.mouse.click(1200, 600);
    await page.keyboard.press('KeyX');
    const parts = panel.locator('dl').first();
    await eventually('the parts of the delay, and click to photon', 20_000, async () => {
      const text = (await parts.textContent()) ?? '';
      return /Capture\s*[\d.]+ ms/.test(text) && /Click to picture\s*[\d.]+ ms/.test(text) ? true : null;
    });
    const numbers = [...((await parts.textContent()) ?? '').matchAll(/([\d.]+) ms/g)].map((match) =>
      Number(match[1]),
    );
    const total = Number(
      /([\d.]+) ms/.exec((await panel.getByText('Where the delay comes from').textContent()) ?? '')?.[1],
    );
    process.stdout.write(
      `parts of the delay: ${numbers.slice(0, 5).join(' + ')} = ${total} ms; click to picture ${numbers[5]} ms\n`,
    );
    expect(numbers).toHaveLength(6);
    expect(Math.abs(numbers.slice(0, 5).reduce((sum, ms) => sum + ms, 0) - total)).toBeLessThan(1);
    await expectAccessible('the statistics');
    await photograph('stats-full');
    await page.getByRole('button', { name: 'Close the statistics' }).click();
    await panel.waitFor({ state: 'hidden' });
  });

  test('the clipboard works in both directions', async () => {
    await page.mouse.click(640, 500);
    writeFileSync(path.join(path.dirname(fileOf('typed')), 'copy'), '');
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText().catch(() => '')), { timeout: 20_000 })
      .toBe(FROM_APP);
    await page.evaluate((text) => navigator.clipboard.writeText(text), TO_APP);
    await page.mouse.click(640, 500);
    await page.keyboard.press('Control+KeyV');
    await expect.poll(() => written('typed').toString('utf8'), { timeout: 20_000 }).toContain(TO_APP);
  });

  test('the app receives the microphone while it is on, and a mark shows that', async () => {
    const loudest = () => {
      const bytes = written('voice').subarray(-16_000);
      let most = 0;
      for (let at = 0; at + 1 < bytes.length; at += 2) most = Math.max(most, Math.abs(bytes.readInt16LE(at)));
      return most;
    };
    expect(loudest()).toBeLessThan(SILENCE);
    await press('Turn the microphone on');
    const mark = page.getByRole('button', { name: /Microphone on/ });
    await mark.waitFor();
    await expect.poll(loudest, { timeout: 20_000 }).toBeGreaterThan(SILENCE);
    await photograph('microphone');
    await mark.click();
    await mark.waitFor({ state: 'hidden' });
    await expect.poll(loudest, { timeout: 20_000 }).toBeLessThan(SILENCE);
  });

  test('full screen shows how to leave it', async () => {
    await press('Full screen');
    await page
      .getByRole('status')
      .filter({ hasText: /^Leave full screen \((hold )?Esc\)$/ })
      .waitFor();
    await page.screenshot({ path: path.join(images, 'session-full-screen.png') });
    await press(/^Leave full screen/);
    await expect.poll(() => page.evaluate(() => document.fullscreenElement)).toBeNull();
  });

  test('the volume is changed in the bar, and the browser keeps it', async () => {
    await press('More');
    const dialog = page.getByRole('dialog', { name: 'More' });
    const volume = dialog.getByRole('slider', { name: 'Volume' });
    await expectAccessible('the menu of the bar');
    await photograph('more');
    await volume.fill('30');
    await dialog.getByText('30 %').waitFor();
    const loudness = () => page.locator('video').evaluate((video: HTMLVideoElement) => video.volume);
    expect(await loudness()).toBeCloseTo(0.3);
    await page.keyboard.press('Escape');
    await page.reload();
    await eventually('frames are shown', 30_000, async () => (await framesShown(page)) > 5 || null);
    await expect.poll(loudness).toBeCloseTo(0.3);
  });

  test('another app replaces this one, and its name is in the bar', async () => {
    await press('More');
    await page.getByRole('button', { name: 'Change the app' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the app' });
    await dialog.getByRole('button', { name: 'Small pattern' }).waitFor();
    await expectAccessible('the choice of another app');
    await photograph('swap');
    await dialog.getByRole('button', { name: 'Small pattern' }).click();
    await eventually('the app is another one', 60_000, async () => {
      const session = await sessions.read(id);
      return session.state_detail === 'swap complete' || null;
    });
    await expect.poll(() => page.title(), { timeout: 30_000 }).toMatch(/^Small pattern/);
    await page.mouse.move(640, 400);
    await page.mouse.move(640, 1);
    await bar().getByText('Small pattern', { exact: true }).waitFor();
    await press('Back to the library; the app stays open');
    await page.getByRole('button', { name: 'Resume Small pattern' }).click();
    await eventually('frames are shown', 30_000, async () => (await framesShown(page)) > 5 || null);
  });

  test('a relaunch offers the choice of quality, and the next session has it', async () => {
    await press('More');
    await page.getByRole('button', { name: 'Relaunch with another quality' }).click();
    const dialog = page.getByRole('dialog', { name: 'Relaunch with another quality' });
    const choice = dialog.locator('input[value="720p60"]');
    await choice.waitFor();
    await expectAccessible('the choice of a quality');
    await photograph('relaunch');
    await choice.click();
    // The first attempt is refused, as if another person had taken the free slot.
    let refusals = 1;
    await page.route('**/v1/sessions', async (route) => {
      if (route.request().method() !== 'POST' || refusals-- <= 0) return route.fallback();
      return route.fulfill({
        status: 503,
        headers: { 'retry-after': '2' },
        json: { error: { code: 'capacity_exhausted', message: 'Every place is taken.' } },
      });
    });
    await dialog.getByRole('button', { name: /^End and relaunch/ }).click();
    await page.getByText('Every machine is busy').waitFor({ timeout: 30_000 });
    await page.getByText(/^This page waits with you/).waitFor();
    await photograph('relaunch-refused');
    await page.waitForURL((url) => url.pathname.startsWith('/app/session/') && !url.pathname.endsWith(id), {
      timeout: 60_000,
    });
    const next = page.url().split('/').at(-1) ?? '';
    await sessions.reaches(next, 'app presented', 60_000);
    expect(await sessions.read(next)).toMatchObject({ profile_id: '720p60' });
    expect(await sessions.read(id)).toMatchObject({ state: 'stopped', end_reason: 'user_requested' });
    await eventually('frames are shown', 30_000, async () => (await framesShown(page)) > 5 || null);
    await sessions.stop(next);
  });

  test('in the library, a tile’s button or the key Q offers the quality of one launch', async () => {
    await page.goto(`${stack.httpsUrl}/app`);
    const tile = page.getByRole('button', { name: 'Launch Small pattern' });
    await tile.focus();
    await page.keyboard.press('KeyQ');
    const dialog = page.getByRole('dialog', { name: 'Launch Small pattern' });
    await dialog.locator('input[value="720p60"]').waitFor();
    await expectAccessible('the quality of a launch');
    await photograph('launch-quality');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await tile.hover();
    await page.getByRole('button', { name: 'Choose the quality of Small pattern' }).click();
    await dialog.locator('input[value="720p60"]').click();
    await dialog.getByRole('button', { name: 'Launch Small pattern' }).click();
    await page.waitForURL('**/app/session/*');
    const launched = page.url().split('/').at(-1) ?? '';
    await sessions.reaches(launched, 'app presented', 60_000);
    expect(await sessions.read(launched)).toMatchObject({ profile_id: '720p60' });
  });
});
