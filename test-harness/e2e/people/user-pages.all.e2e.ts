import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems, COLOUR_RULES } from '../../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { markWords, unmarkedWords } from '../../src/browser/marked-words.ts';
import { eventually } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const APPS = 40;
const SIZES = [
  [390, 844],
  [820, 1180],
  [1366, 768],
  [1920, 1080],
] as const;
const SCHEMES = ['dark', 'light'] as const;
const DESK = { width: 1366, height: 768 };
/** FOOTLIGHT_UPDATE_IMAGES=1 stores a picture of each state, size and scheme in this folder. */
const pictures = path.resolve(import.meta.dirname, '../../../test-results/people');
const draws = process.env.FOOTLIGHT_UPDATE_IMAGES === '1';
const LONG = 'Donaudampfschifffahrtsgesellschaftskapitän und die lange Reise nach Süden';
const DESCRIPTION = 'One line about it.';

/** The fullest state of each page. Only --long tests the other states. */
const FULLEST: ReadonlySet<string> = new Set([
  'setup wrong',
  'register closed',
  'register refused',
  'login wrong',
  'reset',
  'library with what runs and what was ended',
  'library asks for a quality',
  'library with its menu',
  'launch refused for the quota',
  'account with measured qualities',
  'account changes the password',
  'ended by a failure',
]);
const LONG_RUN = process.env.FOOTLIGHT_LONG === '1' || draws;

type State = readonly [name: string, show: () => Promise<unknown>];

/** A refusal in the envelope of the service. */
const refuse = (status: number, code: string, extras: object = {}) => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify({ error: { code, message: 'As the server says it.', ...extras } }),
});

describe('the users’ pages, in each state', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let account: { token: string; email: string; password: string };
  let ended: Record<string, unknown>;
  let live: Record<string, unknown>;
  /** Texts that the pages show but that are data, so they have no translation. */
  const data = [
    LONG,
    DESCRIPTION,
    'As the server says it.',
    './scripts/restore FILE',
    'Chrome',
    'Linux',
    'English',
    'Deutsch',
  ];
  const call = async (method: string, url: string, body?: object) => {
    const answer = await stack.call(method, url, {
      token: account.token,
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.status, `${method} ${url}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  const setMode = (registration_mode: string) => call('PATCH', '/v1/admin/settings', { registration_mode });

  beforeAll(async () => {
    stack = await startStack({
      apps: Array.from({ length: APPS }, (_none, n) => ({
        name: n === 1 ? LONG : `App ${n}`,
        description: n === 1 ? `${LONG}. `.repeat(4) : DESCRIPTION,
        kind: n % 2 === 0 ? 'game' : 'desktop',
        runtime_spec: { args: ['/bin/sh', '-c', 'echo the last words of the app >&2; exit 3'] },
      })),
    });
    browser = await startBrowser(DESK);
    page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${stack.httpsUrl}/icon.svg`);
    await page.evaluate(() => localStorage.setItem('footlight.language', 'de'));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  const frames = (count: number) =>
    page.evaluate(async (many) => {
      for (let n = 0; n < many; n++) await new Promise(requestAnimationFrame);
    }, count);
  const open = async (url: string) => {
    await page.goto(`${stack.httpsUrl}${url}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
  };
  /** Submits the form that is shown. */
  const submit = () => page.locator('form button[type="submit"]').click();
  const answer = (pattern: RegExp, given: Parameters<Route['fulfill']>[0]) =>
    page.route(pattern, (route) => route.fulfill(given));

  /**
   * Checks the state that the page shows.
   * @returns the problems
   */
  async function look(state: string): Promise<string[]> {
    const problems = (await unmarkedWords(page, data)).map((text) => `${state}: not translated: ${text}`);
    for (const scheme of SCHEMES) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor();
      // A tall window, because tiles out of view keep the colours of the other scheme until they are rendered.
      await page.setViewportSize({ width: DESK.width, height: 3000 });
      await frames(3);
      // Both schemes show the same elements, so the second scheme is only checked for its colours.
      const found = await accessibilityProblems(page, scheme === SCHEMES[0] ? undefined : COLOUR_RULES);
      problems.push(...found.map((problem) => `${state}, ${scheme}: ${problem}`));
      await page.setViewportSize(DESK);
      if (scheme !== SCHEMES[0] && !draws) continue;
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        await frames(3);
        const wider = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        if (wider > 0) problems.push(`${state} is ${wider} px wider than a window of ${width}`);
        const name = `${state.replaceAll(/\W+/g, '-')}-${width}-${scheme}.png`;
        if (draws) await page.screenshot({ path: path.join(pictures, name) });
      }
      await page.setViewportSize(DESK);
    }
    await page.emulateMedia({ colorScheme: 'dark' });
    return problems;
  }

  /**
   * Each state is tested in German, which is longer than English, so a page that fits in German also fits in English.
   */
  async function lookAtAll(states: readonly State[]): Promise<string[]> {
    mkdirSync(pictures, { recursive: true });
    const problems: string[] = [];
    for (const [name, show] of states) {
      if (!LONG_RUN && !FULLEST.has(name)) continue;
      await page.goto(`${stack.httpsUrl}/icon.svg`);
      await page.evaluate(() => sessionStorage.clear());
      if (!draws) await markWords(page);
      await show();
      problems.push(...(await look(name)));
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    }
    return draws ? problems.filter((text) => !text.includes('not translated')) : problems;
  }

  test('before the instance is claimed', async () => {
    const problems = await lookAtAll([
      ['setup', () => open('/setup')],
      [
        'setup wrong',
        async () => {
          await open('/setup');
          await submit();
          await page.locator('[data-error]').first().waitFor();
        },
      ],
    ]);
    account = await stack.claim();
    const { user } = await call('GET', '/v1/me');
    data.push(user.email, user.username);
    for (const { name, description } of (await call('GET', '/v1/apps?limit=200')).items)
      data.push(name, description ?? name);
    for (const { display_name } of (await call('GET', '/v1/me/profiles')).profiles) data.push(display_name);
    expect(problems).toEqual([]);
  });

  test('the pages before sign-in', async () => {
    const problems: string[] = [];
    for (const mode of ['closed', 'invite_only', 'open']) {
      await setMode(mode);
      problems.push(
        ...(await lookAtAll([
          [`register ${mode}`, () => open('/register?invite=abc')],
          [`login ${mode}`, () => open('/login')],
        ])),
      );
    }
    problems.push(
      ...(await lookAtAll([
        [
          'register wrong',
          async () => {
            await open('/register');
            await submit();
            await page.locator('[data-error]').first().waitFor();
          },
        ],
        [
          'register refused',
          async () => {
            await open('/register');
            await page.locator('input[type="email"]').fill('x@example.org');
            await page.locator('input[autocomplete="username"]').fill('x');
            await page.locator('input[autocomplete="new-password"]').fill('changeme1234');
            await submit();
            await page.locator('[data-error], [role="alert"]').first().waitFor();
          },
        ],
        [
          'login wrong',
          async () => {
            await open('/login');
            await page.locator('input[type="email"]').fill('nobody@example.org');
            await page.locator('input[type="password"]').fill('wrong-pass-phrase');
            await submit();
            await page.getByRole('alert').waitFor();
          },
        ],
        ['reset', () => open('/reset?token=abc')],
        ['reset without a token', () => open('/reset')],
        ['a page that is not there', () => open('/nowhere')],
      ])),
    );
    expect(problems).toEqual([]);
  });

  test('when a person signs out in one tab, all tabs open the login', async () => {
    const { email, password } = account;
    const { access_token } = await call('POST', '/v1/auth/login', { email, password, device_key: 'shared' });
    await page.goto(`${stack.httpsUrl}/icon.svg`);
    await page.evaluate((value) => localStorage.setItem('service.auth.token', value), access_token);
    await open('/app/account');
    await page.getByText(email).waitFor();
    const other = await browser.newPage();
    await other.goto(`${stack.httpsUrl}/app/account`);
    await other.getByRole('button', { name: 'Abmelden', exact: true }).first().click();
    await other.waitForURL('**/login');
    await page.waitForURL('**/login');
    expect(await page.getByText(email).count()).toBe(0);
    await other.close();
  });

  describe('behind the login', () => {
    beforeAll(async () => {
      await page.goto(`${stack.httpsUrl}/icon.svg`);
      await page.evaluate((value) => {
        localStorage.setItem('service.auth.token', value);
        localStorage.setItem('service.auth.expires_at', new Date(Date.now() + 3_600_000).toISOString());
      }, account.token);
      // The login page reads the signed-in person, whose name the menu shows.
      await page.goto(`${stack.httpsUrl}/login`);
      await page.waitForURL('**/app');
      const { email, password } = account;
      await call('POST', '/v1/auth/login', { email, password, device_key: 'desk' });
      const apps = (await call('GET', '/v1/admin/apps?q=App%2010')).items;
      const { session } = await call('POST', '/v1/sessions', { app_id: apps[0].id });
      ended = await eventually('the session has failed', 30_000, async () => {
        const read = await call('GET', `/v1/sessions/${session.id}`);
        return read.session.state === 'failed' ? read.session : null;
      });
      live = {
        ...ended,
        state: 'running',
        ended_at: null,
        failure_code: null,
        end_reason: null,
        idle_ends_at: new Date(Date.now() + 400_000).toISOString(),
      };
    });

    const library = async () => {
      await open('/app');
      await page.locator('[data-tile]').first().waitFor();
    };
    const list = (...items: object[]) => ({
      contentType: 'application/json',
      body: JSON.stringify({ items, next_cursor: null }),
    });
    const withSessions = (...items: object[]) => answer(/\/v1\/sessions\?/, list(...items));
    const launchRefused = async (...given: Parameters<typeof refuse>) => {
      await answer(/\/v1\/sessions$/, refuse(...given));
      await library();
      await page.locator('[data-section="all"]').first().click();
      await page.getByRole('alert').waitFor();
    };

    test('the library', async () => {
      expect(
        await lookAtAll([
          [
            'library on its way',
            async () => {
              await page.route(/\/v1\/apps\?/, () => new Promise(() => {}));
              await open('/app');
            },
          ],
          [
            'library with what runs and what was ended',
            async () => {
              const [, other] = (await call('GET', '/v1/apps?limit=2')).items;
              const idle = { id: crypto.randomUUID(), state: 'stopped', end_reason: 'idle_timeout' };
              await withSessions(live, { ...ended, ...idle, app_id: other.id });
              await library();
            },
          ],
          [
            'library asks before it ends',
            async () => {
              await withSessions(live);
              await library();
              await page.locator('article button').last().click();
              await page.getByRole('dialog').waitFor();
            },
          ],
          [
            'library asks for a quality',
            async () => {
              await library();
              await page.locator('[data-section="all"]').first().focus();
              await page.keyboard.press('q');
              await page.getByRole('dialog').getByRole('radio').first().waitFor();
            },
          ],
          [
            'library with its menu',
            async () => {
              await library();
              await page.locator('[data-person-menu]').click();
            },
          ],
          [
            'library with hints for keys',
            async () => {
              await library();
              await page.keyboard.press('ArrowDown');
              await page.locator('[data-pad="keys"]').waitFor();
            },
          ],
          [
            'library that finds nothing',
            async () => {
              await library();
              await page.getByRole('searchbox').fill('zzz');
            },
          ],
          [
            'library without apps',
            async () => {
              await answer(/\/v1\/apps\?/, list());
              await open('/app');
            },
          ],
          [
            'library refused',
            async () => {
              await answer(/\/v1\/apps\?/, refuse(403, 'forbidden'));
              await open('/app');
              await page.getByRole('alert').waitFor();
            },
          ],
          [
            'launch on its way',
            async () => {
              await page.route(/\/v1\/sessions$/, () => new Promise(() => {}));
              await library();
              await page.locator('[data-section="all"]').nth(1).click();
              await page.locator('[aria-current="step"]').waitFor();
            },
          ],
          [
            'launch refused for the quota',
            async () => {
              await withSessions(live, { ...live, id: crypto.randomUUID() });
              await launchRefused(409, 'session_quota_exceeded', { live_sessions: 2 });
            },
          ],
          ['launch refused for a full fleet', () => launchRefused(503, 'capacity_exhausted')],
          [
            'launch refused without a host',
            () =>
              launchRefused(503, 'no_host_available', {
                message: 'This app is a container image, and no host runs containers yet.',
              }),
          ],
        ]),
      ).toEqual([]);
    });

    test('the account', async () => {
      const openAccount = async () => {
        await open('/app/account');
        await page.locator('input[type="radio"]').first().waitFor();
        await page.locator('select').nth(2).waitFor();
      };
      const devices = () => page.locator('main section[aria-label]').nth(1);
      const measured = {
        profiles: [
          ['bandwidth_too_low', 'Measured 900 kbit/s; at least 6600 are needed.', 'ineligible'],
          ['rtt_too_high', 'Measured a round trip of 210 ms; at most 120 ms are allowed.', 'ineligible'],
          ['codec_not_supported', 'This device does not decode AV1.', 'ineligible'],
          ['bandwidth_too_low', 'Measured 7000 kbit/s; 8250 are recommended.', 'risky'],
        ].map(([code, message, eligibility], n) => ({
          id: `p${n}`,
          display_name: DESCRIPTION,
          nominal: { width: 1280, height: 720, fps: 60, bitrate_kbps: 5500 },
          eligibility,
          reasons: [{ code, message }],
          rungs: [{ codec: 'h264', hardware_encoder_required: false }],
        })),
        recommended_id: 'p3',
        confidence: 'high',
        notes: [
          {
            code: 'host_encoder_limited',
            message: 'The recommendation is limited to what the machines of this server can encode.',
          },
        ],
      };
      expect(
        await lookAtAll([
          ['account', openAccount],
          [
            'account with measured qualities',
            async () => {
              const body = JSON.stringify(measured);
              await answer(/\/v1\/me\/profiles/, { contentType: 'application/json', body });
              await openAccount();
            },
          ],
          [
            'account renames a device',
            async () => {
              await openAccount();
              await devices().getByRole('button').first().click();
              await page.getByRole('dialog').waitFor();
            },
          ],
          [
            'account signs a device out',
            async () => {
              await openAccount();
              await devices().getByRole('button').nth(1).click();
              await page.getByRole('dialog').waitFor();
            },
          ],
          [
            'account changes the password',
            async () => {
              await openAccount();
              await page.locator('main section[aria-label]').nth(3).getByRole('button').click();
              await submit();
              await page.locator('[data-error]').first().waitFor();
            },
          ],
          [
            'account refused',
            async () => {
              await answer(/\/v1\/me(\/|\?|$)/, refuse(429, 'rate_limited'));
              await open('/app/account');
              await page.getByRole('alert').first().waitFor();
            },
          ],
        ]),
      ).toEqual([]);
    });

    test('an ended session', async () => {
      const card = (part: object) => async () => {
        await answer(/\/v1\/sessions\/[0-9a-f-]+$/, {
          contentType: 'application/json',
          body: JSON.stringify({ session: { ...ended, ...part } }),
        });
        await open(`/app/session/${ended.id}`);
        await page.locator('[data-autofocus]').waitFor();
      };
      const calm = { state: 'stopped', failure_code: null, error_message: null };
      expect(
        await lookAtAll([
          ['ended by a failure', card({})],
          ['ended by time-out', card({ ...calm, end_reason: 'idle_timeout' })],
          ['ended by the person', card({ ...calm, end_reason: 'user_requested' })],
          [
            'ended and not launched again',
            async () => {
              await withSessions(live);
              await answer(/\/v1\/sessions$/, refuse(409, 'session_quota_exceeded', { live_sessions: 1 }));
              await card({ ...calm, end_reason: 'app_exited' })();
              await page.locator('[data-autofocus]').click();
              await page.getByRole('alert').waitFor();
            },
          ],
        ]),
      ).toEqual([]);
    });
  });
});
