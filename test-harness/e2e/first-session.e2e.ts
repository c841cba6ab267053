import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Trace } from '@footlight/protocol/rest';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { coloursAt, framesShown, isNear, type Rgb } from '../src/browser/picture.ts';
import { toneAboveNeighbours } from '../src/browser/sound.ts';
import { type PostgresDatabase, type PostgresServer, usePostgres } from '../src/postgres.ts';
import { type HostTraces, hostTraces } from '../src/stack/host-traces.ts';
import { eventually } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';

/** The Diagnostics picture: eight bars in the upper third. */
const BARS: Rgb[] = [
  [255, 255, 255],
  [255, 255, 0],
  [0, 255, 255],
  [0, 255, 0],
  [255, 0, 255],
  [255, 0, 0],
  [0, 0, 255],
  [0, 0, 0],
];
/** The fields below take these in turn with every key and every click. */
const FIELDS: Rgb[] = [
  [0x30, 0x30, 0x30],
  [0x00, 0xc0, 0x00],
  [0x00, 0x60, 0xff],
  [0xc0, 0x00, 0x00],
];
const KEY_FIELD = [0.25, 0.85] as const;
const CLICK_FIELD = [0.95, 0.95] as const;

const ADMIN = { email: 'ada@example.org', username: 'ada', password: 'a-long-enough-pass-phrase' };
/** Pictures of the run; FOOTLIGHT_UPDATE_IMAGES=1 puts them where the README shows them. */
const images = path.resolve(
  import.meta.dirname,
  process.env.FOOTLIGHT_UPDATE_IMAGES === '1' ? '../../docs/images' : '../../test-results',
);

// The database decides about the record of a session, not about its picture, sound, window and bar.
describe.each(['SQLite', 'Postgres'] as const)('a person’s first session, on %s', (database) => {
  const testOnce = test.runIf(database === 'SQLite');
  let server: PostgresServer | null = null;
  let postgres: PostgresDatabase | null = null;
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let before: HostTraces;
  const agentDirectory = () => path.join(stack.directory, 'agent');

  beforeAll(async () => {
    server = database === 'Postgres' ? await usePostgres() : null;
    postgres = (await server?.createDatabase()) ?? null;
    stack = await startStack({
      ...(postgres === null ? {} : { databaseUrl: postgres.url }),
      apps: [{ name: 'Slow starter', runtime_spec: { args: ['/bin/sleep', '300'] } }],
    });
    browser = await startBrowser();
    page = await browser.newPage();
    before = hostTraces(stack.agent.pid, agentDirectory());
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
    await postgres?.drop();
    await server?.stop();
  });

  test('the instance is claimed with the token from the file', async () => {
    await page.goto(`${stack.httpsUrl}/setup`);
    await page.getByLabel('Setup token').fill(stack.setupToken());
    await page.getByLabel('Email').fill(ADMIN.email);
    await page.getByLabel('Name').fill(ADMIN.username);
    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password);
    await page.getByRole('button', { name: 'Claim this instance' }).click();
    await page.waitForURL('**/admin/setup');
    expect(existsSync(path.join(stack.directory, 'control', 'setup-token'))).toBe(false);
  });

  test('the account logs in again on another day', async () => {
    // A page of the app would notice that it is signed out, and go to the login page by itself.
    await page.goto(`${stack.httpsUrl}/icon.svg`);
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${stack.httpsUrl}/login`);
    await page.getByLabel('Email').fill(ADMIN.email);
    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password);
    await page.getByRole('button', { name: /log in/i }).click();
    await page.waitForURL('**/app');
  });

  test('the library shows the apps that are installed, the terminal among them for the first administrator', async () => {
    for (const name of ['Diagnostics', 'Disco ball', 'LBreakoutHD', 'Terminal']) {
      await page
        .getByRole('button', { name: new RegExp(name) })
        .first()
        .waitFor();
    }
  });

  test('a click on the tile brings the picture that the app draws', async () => {
    await page
      .getByRole('button', { name: /Diagnostics/ })
      .first()
      .click();
    await page.waitForURL('**/app/session/*');
    const points = BARS.map((_, i) => [(i + 0.5) / 8, 0.15] as const);
    await eventually('the colour bars are in the decoded picture', 20_000, async () => {
      const seen = await coloursAt(page, points);
      return BARS.every((bar, i) => isNear(seen[i], bar)) || null;
    });
  });

  test('the picture moves', async () => {
    const from = await framesShown(page);
    await eventually(
      'thirty more frames are shown',
      10_000,
      async () => (await framesShown(page)) >= from + 30 || null,
    );
  });

  testOnce('what its host measures says that the connection is healthy', async () => {
    const path = `/v1/sessions/${page.url().split('/').at(-1)}`;
    // The host measures every five seconds.
    await eventually('the session is healthy', 20_000, async () => {
      const { session } = (await readAs(page, path)) as { session: { health_state: string } };
      return session.health_state === 'healthy' || null;
    });
  });

  testOnce('the page posts what it measures, and the trace joins it to what the host measures', async () => {
    const path = `/v1/admin/sessions/${page.url().split('/').at(-1)}/trace`;
    const trace = await eventually('both sides are in the trace', 20_000, async () => {
      const { clock, series, events } = (await readAs(page, path)) as Trace;
      const types = events.map(({ type }) => type);
      const isWhole =
        'client.fps' in series && 'encoder.fps' in series && types.includes('client.first_frame');
      return isWhole && !('unmeasured' in clock) ? { clock, fps: series['client.fps'] ?? [] } : null;
    });
    // One machine: both clocks are the same.
    expect(Math.abs(trace.clock.client_offset_ms ?? Number.NaN)).toBeLessThan(1_000);
    expect(trace.fps.some(({ v }) => v > 0)).toBe(true);
  });

  test('a key pressed in the page changes what the app shows', async () => {
    await fieldBecomes(page, KEY_FIELD, 0);
    await page.keyboard.press('KeyA');
    await fieldBecomes(page, KEY_FIELD, 1);
  });

  test('a click in the page changes what the app shows, where it was', async () => {
    await fieldBecomes(page, CLICK_FIELD, 0);
    const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
    await page.mouse.click(width * 0.7, height * 0.8);
    await fieldBecomes(page, CLICK_FIELD, 1);
  });

  testOnce(
    'the app takes the window’s shape once the person wants it, a click still lands, and gives it back',
    async () => {
      const asked: object[] = [];
      const onRequest = (request: Request) => {
        if (request.method() === 'PATCH') asked.push(request.postDataJSON());
      };
      page.on('request', onRequest);
      await revealBar(page);
      await page.getByRole('button', { name: 'Fit the app to this window' }).click();
      await page.mouse.move(400, 650);
      await page.locator('[data-shown=true]').waitFor({ state: 'detached' });
      await page.setViewportSize({ width: 540, height: 768 });
      await eventually('the app stands upright in the picture, with bars beside it', 10_000, async () => {
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
    },
  );

  testOnce('the 440 Hz tone is heard at least 20 dB above its neighbours', async () => {
    const found = await toneAboveNeighbours(page, { hz: 440, decibels: 20, limitMs: 20_000 });
    expect(found).toMatchObject({ found: true });
  });

  test('ending it leaves nothing of the session on the host', async () => {
    await revealBar(page);
    await page.getByRole('button', { name: 'End Diagnostics' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End Diagnostics' }).click();
    await page.getByRole('button', { name: 'Launch again' }).waitFor();
    await eventually('everything the session made is gone', 10_000, () => {
      const now = hostTraces(stack.agent.pid, agentDirectory());
      return JSON.stringify(now) === JSON.stringify(before) ? true : null;
    }).catch(() => expect(hostTraces(stack.agent.pid, agentDirectory())).toEqual(before));
  });

  testOnce('the page after the end says how the session was', async () => {
    const card = page.getByRole('region', { name: 'How it was' });
    await card.waitFor();
    const words = await card.textContent();
    expect(words).toMatch(/^Time played(\d+ s|\d+:\d\d)/);
    // A key and a click were sent above.
    expect(words).toMatch(/Click to picture\d+ ms/);
    expect(await card.getByRole('heading').count()).toBe(1);
  });

  testOnce(
    'an app that has drawn nothing yet is waited for on the launch screen, where the launch is cancelled',
    async () => {
      await page.goto(`${stack.httpsUrl}/app`);
      await page
        .getByRole('button', { name: /Slow starter/ })
        .first()
        .click();
      await page.waitForURL('**/app/session/*');
      // The empty display is streamed already.
      await eventually('frames arrive', 20_000, async () => (await framesShown(page)) > 5 || null);
      const stage = page.getByRole('region', { name: 'Starting Slow starter' });
      // The host's report of that step may come after its first frames.
      await expect.poll(() => stage.getByRole('status').textContent()).toBe('Waiting for the app to draw');
      await stage.getByRole('button', { name: 'Cancel' }).click();
      await page.waitForURL('**/app');
    },
  );

  testOnce('a game from Debian is launched the same way, and its bar looks as it should', async () => {
    await page.goto(`${stack.httpsUrl}/app`);
    await page
      .getByRole('button', { name: /LBreakoutHD/ })
      .first()
      .click();
    await page.waitForURL('**/app/session/*');
    const places = [0.1, 0.3, 0.5, 0.7, 0.9].map((x) => [x, 0.25] as const);
    await eventually('the game has drawn its menu', 30_000, async () => {
      const seen = await coloursAt(page, places);
      return (seen.length > 0 && seen.every((colour) => Math.max(...colour) > 30)) || null;
    });
    await revealBar(page);
    await page.screenshot({ path: path.join(images, 'live-session.png') });
    // It hides while a busy machine takes the picture.
    await revealBar(page);
    await page.getByRole('button', { name: 'End LBreakoutHD' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End LBreakoutHD' }).click();
    await page.getByRole('button', { name: 'Launch again' }).waitFor();
  });
});

/** The pointer rests at the edge. */
async function revealBar(page: Page): Promise<void> {
  await page.mouse.move(640, 300);
  await page.mouse.move(640, 1);
  await page.locator('[data-shown=true]').waitFor();
}

async function fieldBecomes(
  page: Page,
  point: readonly [number, number],
  index: number,
  limitMs = 10_000,
): Promise<void> {
  await eventually(`the field takes colour ${index}`, limitMs, async () => {
    const [seen] = await coloursAt(page, [point]);
    return isNear(seen, FIELDS[index] ?? [0, 0, 0]) || null;
  });
}

/** An answer of the API to the person who is signed in on this page. */
function readAs(page: Page, path: string): Promise<unknown> {
  return page.evaluate(async (url) => {
    const authorization = `Bearer ${localStorage.getItem('service.auth.token')}`;
    return (await fetch(url, { headers: { authorization } })).json();
  }, path);
}
