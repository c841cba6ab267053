import path from 'node:path';
import type { Trace } from '@footlight/protocol/rest';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, isNear } from '../src/browser/picture.ts';
import { signIn } from '../src/browser/sign-in.ts';
import { toneAboveNeighbours } from '../src/browser/sound.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';
import { CLICK_FIELD, fieldBecomes, revealBar, showsBars } from './diagnostics-picture.ts';

/** Screenshots of the run; FOOTLIGHT_UPDATE_IMAGES=1 stores them where the README shows them. */
const images = path.resolve(
  import.meta.dirname,
  process.env.FOOTLIGHT_UPDATE_IMAGES === '1' ? '../../docs/images' : '../../test-results',
);

// These tests follow one session from its launch to its end, and then a game; each test continues after the previous
// one.
describe('measurements, sound and pictures of a session', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    stack = await startStack();
    const { token } = await stack.claim();
    browser = await startBrowser();
    page = await browser.newPage();
    await signIn(page, token);
    await page.goto(`${stack.httpsUrl}/app`);
    await page
      .getByRole('button', { name: /Diagnostics/ })
      .first()
      .click();
    await page.waitForURL('**/app/session/*');
    await showsBars(page);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  test('the host’s measurements show that the connection is healthy', async () => {
    const path = `/v1/sessions/${page.url().split('/').at(-1)}`;
    // The host measures every five seconds.
    await eventually('the session is healthy', PATIENCE_MS, async () => {
      const { session } = (await readAs(page, path)) as { session: { health_state: string } };
      return session.health_state === 'healthy' || null;
    });
  });

  test('the page posts its measurements, and the trace combines them with those of the host', async () => {
    const path = `/v1/admin/sessions/${page.url().split('/').at(-1)}/trace`;
    const trace = await eventually('both sides are in the trace', PATIENCE_MS, async () => {
      const { clock, series, events } = (await readAs(page, path)) as Trace;
      const types = events.map(({ type }) => type);
      const isWhole =
        'client.fps' in series && 'encoder.fps' in series && types.includes('client.first_frame');
      return isWhole && !('unmeasured' in clock) ? { clock, fps: series['client.fps'] ?? [] } : null;
    });
    // Host and viewer run on one machine, so their clocks are equal.
    expect(Math.abs(trace.clock.client_offset_ms ?? Number.NaN)).toBeLessThan(1_000);
    expect(trace.fps.some(({ v }) => v > 0)).toBe(true);
  });

  test('a click is applied, so that it can be measured', async () => {
    await fieldBecomes(page, CLICK_FIELD, 0);
    const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
    await page.mouse.click(width * 0.7, height * 0.8);
    await fieldBecomes(page, CLICK_FIELD, 1);
  });

  test('the app takes the window’s shape if the person chooses it, clicks still hit, and undoing restores it', async () => {
    const asked: object[] = [];
    const onRequest = (request: Request) => {
      if (request.method() === 'PATCH') asked.push(request.postDataJSON());
    };
    page.on('request', onRequest);
    await revealBar(page);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Fit the app to this window' }).click();
    await page.mouse.move(400, 650);
    await page.locator('[data-shown=true]').waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 540, height: 768 });
    await eventually('the app stands upright in the picture, with bars beside it', PATIENCE_MS, async () => {
      const [bar, white, yellow] = await coloursAt(page, [
        [0.1, 0.15],
        [0.327, 0.15],
        [0.377, 0.15],
      ]);
      return (
        (isNear(bar, [0, 0, 0]) && isNear(white, [255, 255, 255]) && isNear(yellow, [255, 255, 0])) || null
      );
    });
    const shown = await page.locator('video').evaluate((video) => video.getBoundingClientRect().height);
    expect(shown).toBeGreaterThan(750);
    await fieldBecomes(page, [0.678, 0.95], 1);
    await page.mouse.click(400, 650);
    await fieldBecomes(page, [0.678, 0.95], 2);
    await page.setViewportSize({ width: 1366, height: 768 });
    await fieldBecomes(page, CLICK_FIELD, 2);
    page.off('request', onRequest);
    expect(asked).toEqual([
      { render_width: 506, render_height: 720 },
      { render_width: 1280, render_height: 720 },
    ]);
  });

  test('the 440 Hz tone is heard at least 20 dB above its neighbours', async () => {
    const found = await toneAboveNeighbours(page, { hz: 440, decibels: 20, limitMs: PATIENCE_MS });
    expect(found).toMatchObject({ found: true });
  });

  test('the page after the end reports how the session was', async () => {
    await revealBar(page);
    await page.getByRole('button', { name: 'End Diagnostics' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End Diagnostics' }).click();
    await page.getByRole('button', { name: 'Launch again' }).waitFor();
    const card = page.getByRole('region', { name: 'How it was' });
    await card.waitFor();
    const words = await card.textContent();
    expect(words).toMatch(/^Time the app was open(\d+ s|\d+:\d\d)/);
    // The previous tests sent clicks, so this figure exists.
    expect(words).toMatch(/Click to picture\d+ ms/);
    expect(await card.getByRole('heading').count()).toBe(1);
  });

  test('a game from Debian is launched from its tile, and its bar looks as it should', async () => {
    await page.goto(`${stack.httpsUrl}/app`);
    await page
      .getByRole('button', { name: /LBreakoutHD/ })
      .first()
      .click();
    await page.waitForURL('**/app/session/*');
    const places = [0.1, 0.3, 0.5, 0.7, 0.9].map((x) => [x, 0.25] as const);
    await eventually('the game has drawn its menu', PATIENCE_MS, async () => {
      const seen = await coloursAt(page, places);
      return (seen.length > 0 && seen.every((colour) => Math.max(...colour) > 30)) || null;
    });
    await revealBar(page);
    await page.screenshot({ path: path.join(images, 'live-session.png') });
    // On a busy machine the bar hides while the screenshot is taken.
    await revealBar(page);
    await page.getByRole('button', { name: 'End LBreakoutHD' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End LBreakoutHD' }).click();
    await page.getByRole('button', { name: 'Launch again' }).waitFor();
  });
});

/** An answer of the API for the person who is signed in on this page. */
function readAs(page: Page, path: string): Promise<unknown> {
  return page.evaluate(async (url) => {
    const authorization = `Bearer ${localStorage.getItem('service.auth.token')}`;
    return (await fetch(url, { headers: { authorization } })).json();
  }, path);
}
