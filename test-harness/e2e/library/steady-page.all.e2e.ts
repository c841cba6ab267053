import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
const APPS = 500;
/** Largest layout shift of the pages. Core Web Vitals call 0.1 good: https://web.dev/articles/cls */
const MAX_SHIFT = 0.05;
const WINDOWS = [
  ['phone', 390, 844],
  ['laptop', 1366, 768],
  ['TV', 1920, 1080],
] as const;
/** Requests of the library, in the orders in which the answers may arrive. */
const ORDERS = [
  ['sessions', 'highlights', 'apps'],
  ['apps', 'sessions', 'highlights'],
  ['apps', 'highlights', 'sessions'],
] as const;
type Asked = (typeof ORDERS)[number][number];
const PATHS: Readonly<Record<Asked, RegExp>> = {
  apps: /\/v1\/apps\?/,
  sessions: /\/v1\/sessions\?/,
  highlights: /\/v1\/me\/highlights/,
};

/** All orders with --long. Otherwise each visit in each window uses one order, and together they use every order. */
function ordersOf(window: (typeof WINDOWS)[number][0], visit: 'first' | 'later') {
  const turn = WINDOWS.findIndex(([name]) => name === window) + (visit === 'first' ? 0 : 1);
  return LONG ? ORDERS : ORDERS.slice(turn % ORDERS.length).slice(0, 1);
}

/** Sums all layout shifts since the start of the page, except those that input caused. */
async function countShifts(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shifts: { value: number; moved: string }[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & {
        value: number;
        hadRecentInput: boolean;
        sources: { node: Node | null }[];
      })[]) {
        if (entry.hadRecentInput) continue;
        const moved = entry.sources.map(({ node }) => (node instanceof Element ? node.className : 'text'));
        shifts.push({ value: entry.value, moved: moved.join(' ') });
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
}

const frames = (page: Page, count: number) =>
  page.evaluate(async (many) => {
    for (let n = 0; n < many; n++) await new Promise(requestAnimationFrame);
  }, count);

const shifted = async (page: Page) => {
  const shifts = await page.evaluate(
    () => (window as unknown as { shifts: { value: number; moved: string }[] }).shifts,
  );
  return {
    total: shifts.reduce((sum, { value }) => sum + value, 0),
    moved: shifts.map(({ value, moved }) => `${value.toFixed(3)} ${moved}`),
  };
};

describe('the library does not move while it loads', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  const tokens = { many: '', few: '' };

  beforeAll(async () => {
    stack = await startStack({
      apps: Array.from({ length: APPS }, (_none, n) => ({
        name: `App ${String(n).padStart(4, '0')}`,
        description: n % 2 === 0 ? 'Short.' : 'A description that takes two lines of the page. '.repeat(3),
        entitle: 'first_admin',
        runtime_spec: { args: ['/bin/sleep', '600'] },
      })),
    });
    tokens.many = (await stack.claim()).token;
    const call = async (token: string, method: string, path: string, body?: object) => {
      const answer = await stack.call(method, path, { token, ...(body === undefined ? {} : { body }) });
      expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
      return answer.body;
    };
    await call(tokens.many, 'PATCH', '/v1/admin/settings', { registration_mode: 'open' });
    const bea = { email: 'bea@example.org', password: 'a-long-enough-pass-phrase' };
    await call('', 'POST', '/v1/auth/register', { ...bea, username: 'bea' });
    tokens.few = (await call('', 'POST', '/v1/auth/login', { ...bea, device_key: 'bea' })).access_token;
    // The person gets a favourite on the last page, a recently used app on another page, and a running app.
    const last = (await call(tokens.many, 'GET', '/v1/admin/apps?q=App%200490')).items[0].id;
    await call(tokens.many, 'PUT', `/v1/me/favourites/${last}`);
    const used = (await call(tokens.many, 'GET', '/v1/admin/apps?q=App%200300')).items[0].id;
    const { session } = await call(tokens.many, 'POST', '/v1/sessions', { app_id: used });
    await call(tokens.many, 'DELETE', `/v1/sessions/${session.id}`);
    await eventually('it has ended', 30_000, async () => {
      const read = await call(tokens.many, 'GET', `/v1/sessions/${session.id}`);
      return ['stopped', 'failed'].includes(read.session.state) || null;
    });
    for (const token of [tokens.many, tokens.few]) {
      const app = (await call(tokens.many, 'GET', '/v1/admin/apps?q=Diagnostics')).items[0].id;
      await call(token, 'POST', '/v1/sessions', { app_id: app });
    }
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  describe.each([
    ['4 apps', 'few'],
    ['500 apps', 'many'],
  ] as const)('with %s', (_apps, who) => {
    beforeAll(async () => {
      page = await browser.newPage();
      await page.goto(`${stack.httpsUrl}/icon.svg`);
      await signIn(page, tokens[who]);
      await countShifts(page);
    });
    afterAll(() => page.close());

    test.each(WINDOWS)(
      'on a %s, at the first visit and at later ones, whatever comes first',
      async (window, width, height) => {
        await page.setViewportSize({ width, height });
        const found: string[] = [];
        for (const visit of ['first', 'later'] as const) {
          for (const order of ordersOf(window, visit)) {
            await page.goto(`${stack.httpsUrl}/icon.svg`);
            await page.evaluate((first) => {
              if (first) localStorage.clear();
              sessionStorage.clear();
            }, visit === 'first');
            const held = new Map<Asked, () => void>();
            const hold = (name: Asked) => (route: Route) => {
              // Only the first request of each kind is delayed; later pages and repeated requests continue immediately.
              if (held.has(name)) return route.continue();
              return new Promise<void>((resolve) => {
                held.set(name, () => {
                  void route.continue();
                  resolve();
                });
              });
            };
            for (const name of order) await page.route(PATHS[name], hold(name));
            await page.goto(`${stack.httpsUrl}/app`, { waitUntil: 'commit' });
            for (const name of order) {
              // A person with few apps has no highlights.
              if (name === 'highlights' && who === 'few' && visit === 'later') continue;
              const release = await eventually(
                `the page asks for ${name}`,
                20_000,
                async () => held.get(name) ?? null,
              );
              const answered = page.waitForResponse(PATHS[name]);
              release();
              await answered;
              await frames(page, 4);
            }
            await page.unrouteAll({ behavior: 'wait' });
            await page.getByRole('region', { name: 'All apps' }).waitFor();
            await page.getByRole('region', { name: 'Running now' }).waitFor();
            await page.waitForLoadState('networkidle');
            // Focusing a tile changes the name and the description at the top.
            for (const tile of [1, 2, 0]) {
              await page.getByRole('region', { name: 'All apps' }).getByRole('listitem').nth(tile).hover();
              await frames(page, 15);
            }
            const { total, moved } = await shifted(page);
            if (total > MAX_SHIFT)
              found.push(`${visit} visit, ${order.join(', ')}: ${total.toFixed(3)}: ${moved.join(' | ')}`);
          }
        }
        expect(found).toEqual([]);
      },
      180_000,
    );
  });
});
