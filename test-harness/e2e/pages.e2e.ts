import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityProblems, COLOUR_RULES } from '../src/browser/accessibility.ts';
import { type Browser, startBrowser } from '../src/browser/chromium.ts';
import { signIn } from '../src/browser/sign-in.ts';
import type { FakeAgent } from '../src/fake-agent/index.ts';
import { isGate } from '../src/gate.ts';
import { type PublishedImages, publishImages } from '../src/published-images.ts';
import { eventually, PATIENCE_MS } from '../src/stack/program.ts';
import { type Stack, startStack } from '../src/stack/stack.ts';
import {
  failJob,
  HOST_PARTS,
  hostileHost,
  PAYLOAD,
  runLauncher,
  SHORT_PAYLOAD,
} from './admin/hostile-texts.ts';

const SCHEMES = ['dark', 'light'] as const;
/** Axe takes most of the time, so the gate checks only the default scheme with it. */
const AXE_SCHEMES = isGate ? (['dark'] as const) : SCHEMES;
/** Widths of a phone, a laptop and televisions. */
const WIDTHS = isGate ? ([390, 1366] as const) : ([390, 1366, 1920, 3840] as const);
/** Largest layout shift of a page while it loads (web.dev/cls): half of what counts as good. */
const MAX_SHIFT = 0.05;
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1366, height: 768 };

describe('every page', () => {
  let stack: Stack;
  let token: string;
  let hostId: string;
  let endedSession: string;
  let appId: string;
  let userId: string;
  let presetId: string;
  let mallory: FakeAgent;
  let launcherSession: string;
  let published: PublishedImages;

  beforeAll(async () => {
    // The output of an app is shown on the page of its ended session.
    published = await publishImages({ id: 'paint', displayName: PAYLOAD });
    stack = await startStack({
      controlEnv: published.env,
      apps: [
        {
          name: `Hostile ${PAYLOAD}`,
          description: PAYLOAD,
          default_width: 640,
          default_height: 360,
          default_fps: 30,
          runtime_spec: { args: ['/bin/sh', '-c', `printf '%s\\n' '${PAYLOAD}' >&2; exit 3`] },
        },
      ],
    });
    token = (await stack.claim()).token;
    const hosts = await stack.call('GET', '/v1/hosts', { token });
    hostId = hosts.body.items[0].id;
    const apps = await stack.call('GET', '/v1/apps', { token });
    const hostile = apps.body.items.find((app: { name: string }) => app.name.startsWith('Hostile'));
    const launched = await stack.call('POST', '/v1/sessions', { token, body: { app_id: hostile.id } });
    endedSession = launched.body.session.id;
    const endedAt = await eventually('the session has failed', PATIENCE_MS, async () => {
      const { body } = await stack.call('GET', `/v1/sessions/${endedSession}`, { token });
      return body.session.state === 'failed' ? Date.parse(body.session.ended_at) : null;
    });
    appId = hostile.id;
    const enrollment = await stack.call('POST', '/v1/admin/enrollment-tokens', {
      token,
      body: { note: PAYLOAD },
    });
    mallory = await hostileHost(stack.httpUrl, enrollment.body.token);
    const send = async (method: string, path: string, body: object) => {
      const answer = await stack.call(method, path, { token, body });
      expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
      return answer.body;
    };
    // Telemetry like that of a watched session, so that the session's pages contain figures, charts and events.
    await send('POST', `/v1/sessions/${endedSession}/stats`, {
      samples: Array.from({ length: 60 }, (_, n) => ({
        ts_unix_ms: endedAt - n * 1000,
        metrics: {
          fps: 30,
          present_n: 29,
          present_interval_sd_ms: n % 20,
          rtt_ms: 20 + n,
          packets_lost: 600 - n * 10,
          is_hidden: n > 40,
          click_to_photon_ms: 60,
          click_to_photon_n: 1,
        },
      })),
    });
    await send('POST', `/v1/sessions/${endedSession}/trace/events`, {
      events: [
        { ts_unix_ms: endedAt - 9000, type: 'webrtc.state_changed', payload: { kind: PAYLOAD, to: PAYLOAD } },
      ],
    });
    await send('POST', `/v1/admin/sessions/${endedSession}/trace/annotations`, {
      ts_unix_ms: endedAt - 10_000,
      label: PAYLOAD,
      tags: [PAYLOAD],
    });
    await send('PATCH', '/v1/admin/settings', { registration_mode: 'invite_only' });
    const { invite } = await send('POST', '/v1/admin/invites', { note: PAYLOAD, max_uses: 2 });
    const { user } = await send('POST', '/v1/auth/register', {
      email: 'mallory@example.org',
      username: SHORT_PAYLOAD,
      password: 'a-long-enough-pass-phrase',
      invite_code: invite.code,
    });
    userId = user.id;
    await send('POST', `/v1/admin/apps/${appId}/entitlements`, { subject_type: 'user', subject_id: userId });
    const { device } = await send('POST', '/v1/me/devices', { device_key: 'named' });
    await send('PATCH', `/v1/me/devices/${device.id}`, { name: PAYLOAD });
    await send('POST', '/v1/me/devices', { device_key: 'measured', capabilities: { platform: PAYLOAD } });
    await send('PATCH', `/v1/admin/hosts/${hostId}/console-config`, {
      default_app: appId,
      default_user: userId,
    });
    const preset = await send('POST', '/v1/admin/runtime-presets', { name: PAYLOAD, description: PAYLOAD });
    presetId = preset.runtime_preset.id;
    await send('POST', '/v1/admin/stream-profiles', {
      id: PAYLOAD,
      display_name: PAYLOAD,
      codec: 'h264',
      width: 640,
      height: 360,
      fps: 30,
      nominal_bitrate_kbps: 1000,
    });
    await send('POST', '/v1/admin/launch-profiles', {
      id: PAYLOAD,
      display_name: PAYLOAD,
      rungs: [PAYLOAD, '4k120-av1'],
    });
    await send('POST', '/v1/admin/images/sync', {});
    await send('POST', '/v1/admin/images/paint/install', {});
    await mallory.heard();
    mallory.reportImage('paint', '1.0.0', { state: 'failed', error: PAYLOAD });
    await failJob(stack, send, mallory);
    launcherSession = await runLauncher(stack, token, send, mallory, [hostId]);
    await send('PATCH', `/v1/apps/${appId}`, {
      default_profile_id: PAYLOAD,
      profile_policy: 'prefer',
      runtime_preset_id: presetId,
    });
  });

  afterAll(async () => {
    await mallory?.drop();
    await stack?.stop();
    await published?.close();
  });

  let browser: Browser;
  let page: Page;
  /** Uncaught errors of the page, and errors on its console. */
  const uncaught: string[] = [];

  beforeAll(async () => {
    browser = await startBrowser(DESK, { colorScheme: 'dark' });
    page = await browser.newPage();
    await page.addInitScript(() => {
      (window as unknown as { shift: number }).shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean }[])
          if (!entry.hadRecentInput) (window as unknown as { shift: number }).shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });
      document.addEventListener('securitypolicyviolation', (event) => {
        (window as unknown as { violations: string[] }).violations ??= [];
        (window as unknown as { violations: string[] }).violations.push(
          `${event.violatedDirective} ${event.blockedURI}`,
        );
      });
    });
    page.on('pageerror', (error) => uncaught.push(String(error)));
    page.on('console', (line) => {
      const { url } = line.location();
      // A missing page is answered with 404. ERR_NETWORK_CHANGED occurs when other programs on the machine start
      // containers.
      const isExpected = url.endsWith('/nowhere') || line.text().includes('ERR_NETWORK_CHANGED');
      if (line.type() === 'error' && !isExpected) uncaught.push(`${line.text()} ${url}`);
    });
    await signIn(page, token);
    // GET /v1/me sets the cookie that opens the administrators' documents.
    await page.goto(`${stack.httpsUrl}/login`);
    await page.waitForURL('**/app');
  });

  afterAll(() => browser?.close());

  test.each<[string, () => string, string?]>([
    ['the library', () => '/app', PAYLOAD],
    ['a link that sets a password', () => '/reset?token=spent'],
    ['the account', () => '/app/account', PAYLOAD],
    ['an ended session', () => `/app/session/${endedSession}`, PAYLOAD],
    ['the administrators’ overview', () => '/admin', PAYLOAD],
    ['the set-up', () => '/admin/setup'],
    ['hosts', () => '/admin/hosts', PAYLOAD],
    ['a host', () => `/admin/hosts/${hostId}`],
    ['a host that reports markup', () => `/admin/hosts/${mallory.hostId}`, PAYLOAD],
    ['sessions', () => '/admin/sessions'],
    ['sessions that failed', () => '/admin/sessions?state=failed', PAYLOAD],
    ['the diagnosis of a session', () => `/admin/sessions/${endedSession}`, `${PAYLOAD} · ${PAYLOAD}`],
    ['a placement', () => `/admin/placement?app=${appId}&user=${userId}`, PAYLOAD],
    ['apps', () => '/admin/apps', PAYLOAD],
    ['an app', () => `/admin/apps/${appId}`, PAYLOAD],
    ['a new app', () => '/admin/apps/new', PAYLOAD],
    ['presets', () => '/admin/presets', PAYLOAD],
    ['a preset', () => `/admin/presets/${presetId}`, PAYLOAD],
    ['a new preset', () => '/admin/presets/new'],
    ['profiles', () => '/admin/profiles', PAYLOAD],
    ['a launch profile', () => `/admin/profiles/${encodeURIComponent(PAYLOAD)}`, PAYLOAD],
    ['a new launch profile', () => '/admin/new-profile', PAYLOAD],
    ['users', () => '/admin/users', SHORT_PAYLOAD],
    ['a user', () => `/admin/users/${userId}`, SHORT_PAYLOAD],
    ['images', () => '/admin/images', PAYLOAD],
    ['an image', () => '/admin/images/paint', PAYLOAD],
    ['homes', () => '/admin/homes', PAYLOAD],
    ['discovery', () => '/admin/discovery', PAYLOAD],
    ['the session of a launcher', () => `/admin/sessions/${launcherSession}`, PAYLOAD],
    ['jobs', () => '/admin/jobs', 'Expired sign-ins'],
    ['a job', () => '/admin/jobs/auth.token_janitor', 'Expired sign-ins'],
    ['a job of hosts', () => '/admin/jobs/home.gc', PAYLOAD],
    ['invites', () => '/admin/invites', PAYLOAD],
    ['the activity', () => '/admin/activity', PAYLOAD],
    ['backups', () => '/admin/backups'],
    ['settings', () => '/admin/settings'],
    ['the versions', () => '/admin/about', SHORT_PAYLOAD],
    ['a page that is not there', () => '/nowhere'],
  ])(
    '%s: is usable in both schemes without a mouse or a screen, fits each window, runs no foreign script and breaks no policy',
    async (_name, url, shown) => {
      // The heading of a record is empty until the record is loaded, and then hidden with the whole page until every
      // part is loaded.
      const isWhole = async () => {
        await page.getByRole('heading', { level: 1 }).filter({ hasText: /\S/ }).first().waitFor();
        await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
      };
      // Loads the page at a phone's size, and then enlarges the window.
      const load = async () => {
        await page.goto(`${stack.httpsUrl}${url()}`);
        await isWhole();
        // On a phone, the sections of some pages are folded.
        if (page.viewportSize()?.width === PHONE.width) {
          const folds = page.locator('main h2 button[aria-expanded="false"]');
          while ((await folds.count()) > 0) await folds.first().click();
        }
        // Texts from other people must be loaded, because a later check tests that they are shown as text.
        if (shown !== undefined) await page.getByText(shown).first().waitFor({ state: 'attached' });
        await isWhole();
      };
      for (const size of isGate ? [DESK] : [DESK, PHONE]) {
        await page.setViewportSize(size);
        await load();
        // The layout shift depends on how fast parts of the page arrive.
        if (!isGate && url().startsWith('/admin'))
          expect(await shiftOf(page), `shifts at ${size.width}`).toBeLessThanOrEqual(MAX_SHIFT);
      }
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        expect(await overflow(page), `at ${width}`).toBeLessThanOrEqual(0);
      }
      await page.setViewportSize(DESK);
      const problems: string[] = [];
      for (const scheme of AXE_SCHEMES) {
        await showScheme(page, scheme);
        // Both schemes show the same elements, so the second scheme is only checked for its colours.
        const found = await accessibilityProblems(page, scheme === AXE_SCHEMES[0] ? undefined : COLOUR_RULES);
        problems.push(...found.map((problem) => `${scheme}: ${problem}`));
      }
      expect(problems).toEqual([]);
      const state = await page.evaluate(() => ({
        scriptRan: (window as unknown as { scriptRan?: number }).scriptRan ?? null,
        violations: (window as unknown as { violations?: string[] }).violations ?? [],
      }));
      expect(state).toEqual({ scriptRan: null, violations: [] });
      expect(uncaught).toEqual([]);
    },
  );

  test.runIf(!isGate)('every page of an administrator fits a phone in German', async () => {
    await page.setViewportSize(PHONE);
    await page.evaluate(() => localStorage.setItem('footlight.language', 'de'));
    for (const url of [
      '/admin',
      '/admin/setup',
      '/admin/hosts',
      `/admin/hosts/${hostId}`,
      '/admin/sessions',
      `/admin/sessions/${endedSession}`,
      '/admin/placement',
      '/admin/apps',
      `/admin/apps/${appId}`,
      '/admin/presets/new',
      '/admin/profiles',
      '/admin/users',
      `/admin/users/${userId}`,
      '/admin/images',
      '/admin/images/paint',
      '/admin/homes',
      '/admin/discovery',
      '/admin/jobs',
      '/admin/jobs/home.gc',
      '/admin/invites',
      '/admin/activity',
      '/admin/backups',
      '/admin/settings',
      '/admin/about',
    ]) {
      await page.goto(`${stack.httpsUrl}${url}`);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
      expect(await overflow(page), url).toBeLessThanOrEqual(0);
    }
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('de');
    await page.evaluate(() => localStorage.removeItem('footlight.language'));
    await page.setViewportSize(DESK);
    expect(uncaught).toEqual([]);
  });

  test('texts from a host and its homes are shown as text in every place', async () => {
    await page.goto(`${stack.httpsUrl}/admin/hosts/${mallory.hostId}`);
    const told = (part: string) =>
      page
        .getByRole('region', { name: part, exact: true })
        .evaluate((node) => (node.textContent ?? '').split('<img src=x onerror=').length - 1);
    for (const [part, times] of Object.entries(HOST_PARTS))
      await expect.poll(() => told(part), { message: part }).toBeGreaterThanOrEqual(times);

    await page.goto(`${stack.httpsUrl}/admin/sessions/${launcherSession}`);
    for (const part of ['Last minute', 'What happened'])
      await expect.poll(() => told(part), { message: part }).toBeGreaterThanOrEqual(1);

    await page.goto(`${stack.httpsUrl}/admin/discovery`);
    for (const part of [`Titles of Launcher ${PAYLOAD} that people do not see`, 'Last searches'])
      await expect.poll(() => told(part), { message: part }).toBeGreaterThanOrEqual(1);
    expect(
      await page.evaluate(() => (window as unknown as { scriptRan?: number }).scriptRan ?? null),
    ).toBeNull();
    expect(uncaught).toEqual([]);
  });

  test('the published contract fits each window in both schemes and sends no request to another server', async () => {
    await page.setViewportSize({ width: WIDTHS[0], height: 900 });
    const troubles: string[] = [];
    page.on('request', (request) => {
      if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(stack.httpsUrl))
        troubles.push(`asked ${request.url()}`);
    });
    page.on('console', (line) => {
      if (line.type() === 'error') troubles.push(line.text());
    });
    // The URL names an operation, which the page opens while it loads.
    await page.goto(`${stack.httpsUrl}/docs#/Sessions/sessions.launch`);
    await page.locator('.responses-table').first().waitFor();
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      await page
        .locator(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)')
        .waitFor({ state: 'attached' });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        expect(await overflow(page), `${colorScheme} at ${width}`).toBeLessThanOrEqual(0);
      }
    }
    const violations = () => (window as unknown as { violations?: string[] }).violations ?? [];
    expect(await page.evaluate(violations)).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

/** The layout shift of the page while it loaded, measured after all parts have loaded. */
async function shiftOf(page: Page): Promise<number> {
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  // The browser reports a layout shift only after its frame.
  await overflow(page);
  return page.evaluate(() => (window as unknown as { shift: number }).shift);
}

/** Number of pixels by which the page is wider than its window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(async () => {
    // Components that compute their size from the width by a script render once more.
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    return document.documentElement.scrollWidth - document.documentElement.clientWidth;
  });
}

/** Changes the system's preference, and waits until the page has its new colours. */
async function showScheme(page: Page, scheme: (typeof SCHEMES)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor();
  await page.evaluate(async () => {
    // A transition starts with the next frame. Without this wait, `axe` would measure colours between the two schemes.
    await new Promise(requestAnimationFrame);
    // Transitions in closed parts of the page are not awaited: they start when a script reads the style, and never
    // report their end.
    const transitions = document.getAnimations().filter((one) => {
      const target = one.effect instanceof KeyframeEffect ? one.effect.target : null;
      return one instanceof CSSTransition && target?.checkVisibility() === true;
    });
    await Promise.allSettled(transitions.map((one) => one.finished));
  });
}
