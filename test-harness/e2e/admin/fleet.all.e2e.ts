import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { FakeAgent, gpuCapacity } from '../../src/fake-agent/index.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { TcpRelay } from '../../src/tcp-relay.ts';

const LONG = process.env.FOOTLIGHT_LONG === '1';
/** Time within which a page must show a change. */
const LIVE_MS = LONG ? 3_000 : 20_000;
const GRACE = { email: 'grace@example.org', username: 'grace', password: 'another-long-pass-phrase' };
const LAPTOP = { width: 1366, height: 768 };

describe('an administrator', () => {
  let stack: Stack;
  let person: PersonSessions;
  let relay: TcpRelay;
  let browser: Browser;
  let page: Page;
  let fake: FakeAgent;
  let graceId: string;
  const uncaught: string[] = [];

  beforeAll(async () => {
    stack = await startStack();
    const { token } = await stack.claim();
    person = new PersonSessions(stack, token);
    await person.call('PATCH', '/v1/admin/settings', { registration_mode: 'open' });
    graceId = (await stack.call('POST', '/v1/auth/register', { body: GRACE })).body.user.id;
    const enrollment = await person.call('POST', '/v1/admin/enrollment-tokens', {});
    fake = new FakeAgent({
      url: stack.httpUrl,
      nodeName: 'far-away',
      credential: { token: enrollment.body.token },
      capacity: gpuCapacity(2),
      // No automatic heartbeats: the test sends them.
      heartbeatMs: 0,
    });
    await fake.connect();
    // The fake host is drained, so that the real host gets all sessions.
    await person.call('POST', `/v1/hosts/${fake.hostId}/drain`, {});
    await person.call('POST', '/v1/admin/runtime-presets', { name: 'Taken' });
    relay = await TcpRelay.to(new URL(stack.httpsUrl));
    browser = await startBrowser(LAPTOP);
    page = await browser.newPage();
    page.on('pageerror', (error) => uncaught.push(String(error)));
    await signIn(page, token);
    // GET /v1/me sets the cookie that opens the administrators' documents.
    await page.goto(`${address()}/login`);
    await page.waitForURL('**/app');
  });

  afterAll(async () => {
    await browser?.close();
    relay?.close();
    await fake?.drop();
    await person?.close();
    await stack?.stop();
  });

  /** Every page is reached through the relay, which interrupts the network when a test requests it. */
  const address = () => `https://127.0.0.1:${relay.port}`;
  const open = (path: string) => page.goto(`${address()}${path}`);
  const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
  const shows = (text: string | RegExp, timeout = 20_000) =>
    page.getByText(text).first().waitFor({ timeout });

  test('reads the story of a running session, sees its pipeline, and stops it', async () => {
    const app = await person.app('Terminal of ada', ['xterm']);
    const { id } = await person.launch(app);
    await person.reaches(id, 'app presented');
    await open('/admin/sessions');
    await page.getByRole('link', { name: 'Terminal of ada' }).click();
    await page.waitForURL(`**/admin/sessions/${id}`);
    const story = page.getByRole('region', { name: 'The story' });
    await story.getByText(/^It runs/).waitFor();
    await story.getByText('App started').waitFor();
    await story.getByText(/^The only GPU that could run it/).waitFor();
    await story.getByRole('link', { name: 'test-host' }).waitFor();
    await press('Capture pipeline');
    const picture = page.getByRole('img', { name: /^\d+ elements: / });
    await picture.waitFor({ timeout: 30_000 });
    const elements = Number(/^\d+/.exec((await picture.getAttribute('aria-label')) ?? '')?.[0]);
    expect(elements).toBeGreaterThan(3);
    await press('Stop session');
    await press('Stop Terminal of ada');
    await story
      .getByText('It was ended by the person who used it, or by an administrator.')
      .waitFor({ timeout: 20_000 });
    await story.getByText('Ended', { exact: true }).waitFor();
    await page.getByRole('table').getByText('Launched an app').waitFor();
  });

  test('asks where an app would run, and why not elsewhere', async () => {
    await open('/admin/placement');
    await press('Choose app');
    await press('Choose Terminal of ada');
    await shows(/^It would run on test-host, GPU 0/);
    await page
      .getByRole('region', { name: 'Cannot run on' })
      .getByText('far-away: the host is draining')
      .waitFor();
    await press('Choose account');
    await press('Choose grace');
    await page.getByRole('main').getByText('Terminal of ada for grace').waitFor();
    await shows(/^It would run on test-host, GPU 0/);
  });

  test('sees on the first screen why a session failed, at which step, and the app’s last output', async () => {
    const app = await person.app('Broken', ['/bin/sh', '-c', 'echo "libGL is missing" >&2; exit 127']);
    const { id } = await person.launch(app);
    await person.ended(id);
    await open(`/admin/sessions/${id}`);
    await shows('The app ended before it showed anything.');
    await page.getByRole('heading', { name: 'Last output of the app' }).waitFor();
    for (const words of ['The app ended before it showed anything.', 'Failed', 'libGL is missing'])
      expect(await bottomOf(page, words), words).toBeLessThanOrEqual(LAPTOP.height);
  });

  test('sees before a deletion how much is deleted with it', async () => {
    const app = await person.app('Short', ['/bin/true']);
    const { id } = await person.launch(app);
    await person.ended(id);
    await open(`/admin/apps/${app}`);
    await press('Delete');
    const question = page.getByRole('dialog');
    await question.getByText('1 session with its measurements').waitFor();
    await question.getByText('1 grant that lets people use it').waitFor();
    await press('Delete Short');
    await shows('Short was deleted');
  });

  test('sees a host’s load as soon as it reports, on its page and in the fleet', async () => {
    // The control plane closes a link that is silent for 20 s; the previous tests may take longer.
    if (!fake.isOpen) await fake.connect();
    await open(`/admin/hosts/${fake.hostId}`);
    await page.getByRole('heading', { name: 'Load', exact: true }).waitFor();
    // The same values are also in a table.
    const now = page.getByRole('region', { name: 'Load', exact: true }).getByRole('paragraph');
    for (const cpu_busy of [0.31, 0.86]) {
      fake.heartbeat({
        cpu_busy,
        mem_free_mb: 4_096,
        net: { rx_kbps: 640, tx_kbps: 18_000 },
        encoder_load: [{ gpu_index: 0, sessions: 0, load: cpu_busy / 2 }],
      });
      await now.filter({ hasText: `${Math.round(cpu_busy * 100)} %` }).waitFor({ timeout: LIVE_MS });
    }
    for (const words of ['43 %', '12 GB of 16 GB', '↑ 18 ↓ 0.6 Mbit/s'])
      await now.filter({ hasText: words }).waitFor();
    await page.getByRole('button', { name: '1 hour' }).click();
    await now.filter({ hasText: '86 %' }).waitFor();
    await open('/admin');
    const strip = page.getByRole('list', { name: 'Load of far-away' });
    await strip.getByText('86 %').waitFor();
    fake.heartbeat({ cpu_busy: 0.11 });
    await strip.getByText('11 %').waitFor({ timeout: LIVE_MS });
    // The real agent measures its machine.
    await page
      .getByRole('list', { name: 'Load of test-host' })
      .getByText(/^\d+ %$/)
      .waitFor({ timeout: 15_000 });
  });

  const unfold = (words: string) => page.locator('summary').filter({ hasText: words }).first().click();
  /** Presses these buttons; on a phone some parts of a page are folded. */
  const opened = async (...names: string[]) => {
    for (const name of names) await page.getByRole('button', { name }).first().click();
  };

  /** Submits the form that contains the field, on a phone. */
  async function send(field: Locator): Promise<void> {
    await page.locator('form').filter({ has: field }).locator('button[type=submit]').click();
  }

  /** Checks that the field has the focus, is in view, and refers to its error message by `aria-describedby`. */
  async function expectTold(field: Locator, words = /./): Promise<void> {
    const told = () =>
      field.evaluate((node) => {
        const { top, bottom } = node.getBoundingClientRect();
        const ids = (node.getAttribute('aria-describedby') ?? '').split(' ');
        return {
          focused: node === document.activeElement,
          inView: top >= 0 && bottom <= innerHeight,
          message: ids
            .filter((id) => /error/.test(id))
            .map((id) => document.getElementById(id)?.textContent ?? '')
            .join(' '),
        };
      });
    await expect
      .poll(told, { timeout: 20_000 })
      .toEqual({ focused: true, inView: true, message: expect.stringMatching(words) });
  }

  describe('sees on a phone which field of a form was refused', () => {
    beforeAll(() => page.setViewportSize({ width: 390, height: 844 }));
    afterAll(() => page.setViewportSize(LAPTOP));

    test.each<[path: () => string, field: string, wrong: string, ready?: () => Promise<void>]>([
      [() => '/admin/apps/new', 'Name', ''],
      [() => '/admin/presets/new', 'Name', ''],
      [() => '/admin/new-profile', 'Name', ''],
      [() => '/admin/profiles', 'Id', '', () => opened('Rungs', 'Add a rung')],
      [() => '/admin/invites', 'Good for', '', () => opened('Make an invite')],
      [() => '/admin/hosts', 'Only for the host named', 'Not A Name', () => opened('Add a host')],
      [() => '/admin/settings', 'Time between two searches of a home', ''],
      [() => '/admin/jobs/auth.token_janitor', 'Time between two runs', ''],
      [() => `/admin/users/${graceId}`, 'Sessions at once', ''],
      [() => `/admin/hosts/${fake.hostId}`, 'Frames between keyframes', '', () => unfold('Encoding')],
    ])('%#: shows the fault at the field, in view', async (path, label, wrong, ready) => {
      await open(path());
      await ready?.();
      const field = page.getByLabel(label, { exact: true });
      await field.fill(wrong);
      await send(field);
      await expectTold(field);
    });

    test.each<[path: () => string, fields: [string, string][], words: RegExp, ready?: () => Promise<void>]>([
      [() => '/admin/presets/new', [['Name', 'Taken']], /^Another preset has this name/],
      [
        () => '/admin/profiles',
        [
          ['Name', 'Another'],
          ['Id', '1080p60-h264'],
        ],
        /^There is a stream profile/,
        () => opened('Rungs', 'Add a rung'),
      ],
      [
        () => `/admin/hosts/${fake.hostId}`,
        [['Where to store homes', '/srv/../etc']],
        /^Expected a path without/,
        () => unfold('Sessions and files'),
      ],
    ])('%#: shows the server’s refusal at the field', async (path, fields, words, ready) => {
      await open(path());
      await ready?.();
      for (const [label, value] of fields) await page.getByLabel(label, { exact: true }).fill(value);
      const field = page.getByLabel(fields.at(-1)?.[0] ?? '', { exact: true });
      await send(field);
      await expectTold(field, words);
    });

    test('sees at the choice of an account that one is missing', async () => {
      await open(`/admin/hosts/${fake.hostId}`);
      await unfold('Display, stream and automatic start');
      const starts = page.getByLabel('Start an app automatically whenever a display is connected');
      await starts.check();
      await send(starts);
      await expectTold(page.getByRole('button', { name: 'Choose account' }), /Choose the account/);
    });
  });

  test('sees no placeholder below a list that could not be loaded', async () => {
    await page.route('**/v1/admin/invites?**', (route) =>
      route.fulfill({ status: 404, json: { error: { code: 'not_found', message: 'by hand' } } }),
    );
    await open('/admin/invites');
    await page.getByRole('alert').getByText('It is not here any more').waitFor();
    await page.locator('[data-placeholder]').first().waitFor({ state: 'hidden' });
    await page.unrouteAll();
    await press('Try again');
    await shows(/^No invite/);
  });

  test.each(
    LONG ? ['/admin', '/admin/settings', '/admin/users', '/admin/jobs', '/admin/activity'] : ['/admin'],
  )(
    'sees on %s that the server is silent, fails or is slow, and that the page recovers by itself',
    async (path) => {
      await open(path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      const notice = page.getByRole('status');
      const slow = notice.getByText('The server takes long to answer.');
      // Connections stay open, but no answer arrives.
      relay.mode = 'stall';
      await slow.waitFor({ timeout: 20_000 });
      relay.mode = 'pass';
      // The relay discarded data while it stalled, so the open connections cannot be used any more.
      relay.cut();
      await slow.waitFor({ state: 'detached', timeout: 20_000 });

      relay.mode = 'refuse';
      relay.cut();
      await notice.getByText('The server cannot be reached.').waitFor({ timeout: 20_000 });
      relay.mode = 'pass';
      await notice.getByText('The server cannot be reached.').waitFor({ state: 'detached', timeout: 20_000 });

      await page.route('**/v1/**', (route) =>
        route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'by hand' } } }),
      );
      await notice.getByText('The server has a problem.').waitFor({ timeout: 20_000 });
      await page.unrouteAll();
      await notice.getByText('The server has a problem.').waitFor({ state: 'detached', timeout: 20_000 });

      relay.delayMs = 6_000;
      await slow.waitFor({ timeout: 20_000 });
      relay.delayMs = 0;
      await slow.waitFor({ state: 'detached', timeout: 20_000 });
      expect(uncaught).toEqual([]);
    },
    120_000,
  );
});

/** Bottom edge of the first element with the text, in pixels from the top of the window. */
async function bottomOf(page: Page, words: string): Promise<number> {
  const box = await page.getByText(words, { exact: false }).first().boundingBox();
  return box === null ? Number.POSITIVE_INFINITY : box.y + box.height;
}
