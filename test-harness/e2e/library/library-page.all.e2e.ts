import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { PAD, plugIn, pressPad } from '../../src/browser/pad.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually, PATIENCE_MS } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const APPS = 2000;
/** Idle time-out: long enough to look at the page, and short enough to wait for it. */
const IDLE_SECONDS = 20;

const focusedName = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));

describe('the library, like a console’s', () => {
  let stack: Stack;
  let token: string;
  let userId: string;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    stack = await startStack({
      apps: Array.from({ length: APPS }, (_none, n) => ({
        name: `App ${String(n).padStart(4, '0')}`,
        runtime_spec: { args: ['/bin/sleep', '600'] },
      })),
    });
    token = (await stack.claim()).token;
    userId = (await stack.call('GET', '/v1/me', { token })).body.user.id;
    browser = await startBrowser();
    page = await browser.newPage();
    await signIn(page, token);
    await plugIn(page);
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  const open = async () => {
    // Simulates a new tab, because a tab stores its filter and its focus.
    await page.evaluate(() => sessionStorage.clear()).catch(() => {});
    await page.goto(`${stack.httpsUrl}/app`);
    await page.getByRole('region', { name: 'All apps' }).waitFor();
  };
  const call = async (method: string, path: string, body?: object) => {
    const answer = await stack.call(method, path, { token, ...(body === undefined ? {} : { body }) });
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  const live = async (): Promise<{ id: string; idle_ends_at?: string | null }[]> =>
    (await call('GET', '/v1/sessions')).items.filter(
      ({ state }: { state: string }) => !['stopped', 'failed'].includes(state),
    );
  const launchDiagnostics = async () => {
    const [diagnostics] = (await call('GET', '/v1/admin/apps?q=Diagnostics')).items;
    const { session } = await call('POST', '/v1/sessions', { app_id: diagnostics.id });
    await eventually('Diagnostics runs', 30_000, async () => {
      const { state, error_message } = (await call('GET', `/v1/sessions/${session.id}`)).session;
      expect(['assigned', 'starting', 'running'], error_message).toContain(state);
      return state === 'running' ? true : null;
    });
    return { session };
  };
  const endAll = async () => {
    for (const { id } of await live()) await call('DELETE', `/v1/sessions/${id}`);
    await eventually('all have ended', PATIENCE_MS, async () => ((await live()).length === 0 ? true : null));
  };

  test('arrow keys move from tile to tile, and F marks a favourite', async () => {
    await open();
    await page.keyboard.press('ArrowRight');
    const first = await focusedName(page);
    expect(first).toMatch(/^Launch /);
    await page.keyboard.press('ArrowRight');
    const second = await focusedName(page);
    expect(second).toMatch(/^Launch /);
    expect(second).not.toBe(first);
    await page.keyboard.press('ArrowDown');
    expect(await focusedName(page)).not.toBe(second);
    await page.keyboard.press('ArrowUp');
    expect(await focusedName(page)).toBe(second);
    await page.keyboard.press('f');
    await page.getByRole('region', { name: 'Favourites' }).waitFor();
    const unmarked = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await page.keyboard.press('f');
    await page.getByRole('region', { name: 'Favourites' }).waitFor({ state: 'detached' });
    // The deletion must end before the next page requests the favourites.
    await unmarked;
  });

  test.each([
    ['a laptop', { width: 1366, height: 768 }],
    ['a television', { width: 1920, height: 1080 }],
  ])(
    'on %s, the first arrow key moves to the next tile, and the tile stays in view ten rows down',
    async (_, size) => {
      await page.setViewportSize(size);
      await open();
      const tiles = page.getByRole('region', { name: 'All apps' }).getByRole('button', { name: /^Launch / });
      await tiles.first().focus();
      await page.keyboard.press('ArrowRight');
      expect(await focusedName(page)).toBe(await tiles.nth(1).getAttribute('aria-label'));
      const seen = new Set<string | null | undefined>();
      for (let row = 0; row < 10; row++) {
        await page.keyboard.press('ArrowDown');
        seen.add(await focusedName(page));
        // A person presses a key at most ten times a second.
        await page.evaluate(async () => {
          for (let frame = 0; frame < 6; frame++) await new Promise(requestAnimationFrame);
        });
      }
      expect(seen.size).toBe(10);
      const isInView = () =>
        page.evaluate(() => {
          const box = document.activeElement?.getBoundingClientRect();
          return box !== undefined && box.top >= 0 && box.bottom <= innerHeight;
        });
      await expect.poll(isInView).toBe(true);
      await page.setViewportSize({ width: 1366, height: 768 });
    },
  );

  test('a gamepad does the same, with the labels of its maker, and axe finds nothing', async () => {
    await open();
    await pressPad(page, PAD.right);
    await pressPad(page, PAD.down);
    const name = (await focusedName(page)) ?? '';
    expect(name).toMatch(/^Launch /);
    const hints = page.locator('[data-pad="playstation"]');
    await hints.locator('kbd').nth(4).waitFor();
    expect(await hints.locator('kbd').allTextContents()).toEqual(['✕', '△', '⋔', '□', '☰']);
    await pressPad(page, PAD.triangle);
    const star = page.getByRole('button', { name: name.replace('Launch ', 'Favourite: '), pressed: true });
    await star.first().waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await pressPad(page, PAD.triangle);
    await star.first().waitFor({ state: 'detached' });
    // The button "options" opens the menu of the header, and the button "circle" closes the menu.
    await pressPad(page, PAD.options);
    await page.getByText('Appearance').waitFor();
    await page.getByRole('button', { name: /account and appearance/ }).focus();
    await pressPad(page, PAD.circle);
    await page.getByText('Appearance').waitFor({ state: 'detached' });
  });

  test('of 2,000 apps only those near the window are in the document, down to the last one', async () => {
    await open();
    await page.getByRole('searchbox').fill('App 19');
    await page.getByText('100 apps found').waitFor({ state: 'attached' });
    // A shipped app has a picture.
    await page.getByRole('searchbox').fill('Diagnostics');
    const cover = page.getByRole('button', { name: 'Launch Diagnostics' }).locator('img');
    await cover.waitFor();
    await page.waitForFunction(
      (img) => (img as HTMLImageElement).naturalWidth > 0,
      await cover.elementHandle(),
    );
    await page.getByRole('searchbox').fill('App 1999');
    await page.getByText('1 app found').waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    const all = page.getByRole('region', { name: 'All apps' });
    const total = (await call('GET', '/v1/apps?limit=1')).items.length;
    expect(total).toBe(1);
    await all.locator('li').first().waitFor();
    expect(await all.locator('li').count()).toBeLessThan(150);
    expect(Number(await all.locator('li').first().getAttribute('aria-setsize'))).toBeGreaterThan(APPS);
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await all.locator(`li[aria-posinset="${APPS}"]`).waitFor();
    expect(await all.locator('li').count()).toBeLessThan(150);
  });

  test('going back restores position and focus', async () => {
    await open();
    await page.getByRole('searchbox').fill('App 1');
    await page.getByText('1,000 apps found').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowDown');
    for (let row = 0; row < 6; row++) await page.keyboard.press('ArrowDown');
    const name = await focusedName(page);
    const settled = () =>
      page.evaluate(async () => {
        let before = -1;
        while (before !== window.scrollY) {
          before = window.scrollY;
          for (let n = 0; n < 5; n++) await new Promise(requestAnimationFrame);
        }
        return before;
      });
    const top = await settled();
    expect(top).toBeGreaterThan(500);
    await pressPad(page, PAD.options);
    await page.getByRole('link', { name: 'Account' }).click();
    await page.getByRole('heading', { name: 'Account' }).waitFor();
    await pressPad(page, PAD.circle);
    await page.getByText('1,000 apps found').waitFor({ state: 'attached' });
    await page.waitForFunction(
      (wanted) => document.activeElement?.getAttribute('aria-label') === wanted,
      name,
    );
    expect(Math.abs((await settled()) - top)).toBeLessThan(4);
    await page.getByRole('searchbox').fill('');
  });

  test('a session that prevents a launch is listed, and ending it there launches the other app', async () => {
    await call('PATCH', `/v1/users/${userId}`, { max_concurrent_sessions: 1 });
    const { session } = await launchDiagnostics();
    await open();
    await page.getByRole('searchbox').fill('App 0007');
    await page.getByRole('button', { name: 'Launch App 0007' }).click();
    const list = page.getByRole('region', { name: 'Your open apps' });
    await page.getByText('You cannot have more apps open').waitFor();
    await list.getByRole('button', { name: 'End Diagnostics' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End Diagnostics' }).click();
    await page.waitForURL('**/app/session/*');
    expect(page.url()).not.toContain(session.id);
    await call('PATCH', `/v1/users/${userId}`, { max_concurrent_sessions: 3 });
    await endAll();
  });

  test('an unwatched session counts down, one press keeps it open, and its end is reported', async () => {
    const [host] = (await call('GET', '/v1/hosts')).items;
    const overrides = { idle_timeout_secs: IDLE_SECONDS };
    await call('PATCH', `/v1/admin/hosts/${host.id}/settings`, { overrides });
    const { session } = await launchDiagnostics();
    const endsAt = () =>
      eventually('the host counts down', PATIENCE_MS, async () => {
        const [one] = await live();
        return one?.idle_ends_at ? Date.parse(one.idle_ends_at) : null;
      });
    const before = await endsAt();
    await open();
    await page.getByText(/^Ends in \d+ s unless you return$/).waitFor();
    await page.getByRole('button', { name: 'Keep Diagnostics open longer' }).click();
    await eventually('the end is later', PATIENCE_MS, async () => {
      const [one] = await live();
      return one?.idle_ends_at && Date.parse(one.idle_ends_at) > before + 2_000 ? true : null;
    });
    await eventually('the time-out has ended it', 60_000, async () => {
      const { body } = await stack.call('GET', `/v1/sessions/${session.id}`, { token });
      return body.session.end_reason === 'idle_timeout' ? true : null;
    });
    await open();
    await page.getByText(/Diagnostics was ended because nobody used it for a while/).waitFor();
    await page.getByRole('button', { name: 'Dismiss: Diagnostics was ended' }).click();
    await open();
    expect(await page.getByText(/was ended because/).count()).toBe(0);
  }, 180_000);
});
