import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { FaultyFront } from '../../src/browser/faulty-front.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';

const images = path.resolve(import.meta.dirname, '../../../test-results');
const SAYS = {
  slow: 'The server takes long to answer. This page waits.',
  errors: 'The server has a problem. This page tries again automatically.',
  silent: 'The server takes long to answer. This page waits.',
  gone: 'The server cannot be reached. This page tries again automatically.',
} as const;
const FAULTS = ['slow', 'errors', 'silent', 'gone'] as const;

describe.runIf(process.getuid?.() === 0)('a control plane that answers badly', () => {
  let stack: Stack;
  let front: FaultyFront;
  let sessions: PersonSessions;
  let browser: Browser;
  let page: Page;
  let token: string;
  let id: string;

  beforeAll(async () => {
    stack = await startStack({
      apps: [],
      agentEnv: { SERVICE_ENCODE_SLOTS: '2' },
      controlEnv: { SERVICE_HTTP_REDIRECT: 'off' },
    });
    ({ token } = await stack.claim());
    front = await FaultyFront.of(stack.httpUrl);
    sessions = new PersonSessions(stack, token);
    const app = await sessions.app('Small pattern', null);
    id = (await sessions.launch(app, { width: 640, height: 360 })).id;
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser({ width: 960, height: 640 });
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    front?.close();
    await stack?.stop();
  });

  beforeEach(async () => {
    page = await browser.newPage();
  });
  afterEach(async () => {
    front.mode = 'pass';
    await page.close();
  });

  function spoil(fault: (typeof FAULTS)[number]): void {
    front.mode = fault;
    // When a server stops, its open connections close as well.
    if (fault === 'gone') front.cut();
  }

  const notice = (words: string) => page.getByRole('status').filter({ hasText: words });

  /** Checks that the page shows the problem, and that it recovers soon after the server. */
  async function expectRecovery(
    name: string,
    fault: (typeof FAULTS)[number],
    isWell: () => Promise<unknown>,
  ) {
    await notice(SAYS[fault]).waitFor({ timeout: 20_000 });
    await page.screenshot({ path: path.join(images, `${name}-${fault}.png`) });
    front.mode = 'pass';
    // The page would wait 20 s for an unanswered call. A restarted server closes the connections of such calls at once.
    if (fault === 'silent') front.cut();
    await isWell();
    await notice(SAYS[fault]).waitFor({ state: 'hidden', timeout: 20_000 });
  }

  test.each(FAULTS)('the library, opened while it is %s', async (fault) => {
    await signIn(page, token);
    await page.goto(`${front.url}/app/account`);
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
    spoil(fault);
    await page.getByRole('link', { name: 'Library' }).click();
    await expectRecovery('library', fault, () =>
      page.getByRole('button', { name: 'Launch Small pattern' }).waitFor({ timeout: 30_000 }),
    );
  });

  test.each(FAULTS)('the login, used while it is %s', async (fault) => {
    await page.goto(`${front.url}/icon.svg`);
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${front.url}/login`);
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    spoil(fault);
    await page.locator('input[type=email]').fill('ada@example.org');
    await page.locator('input[type=password]').fill('a-long-enough-pass-phrase');
    await page.getByRole('button', { name: 'Log in' }).click();
    if (fault === 'slow' || fault === 'silent') await notice(SAYS[fault]).waitFor({ timeout: 20_000 });
    else await page.getByRole('alert').waitFor();
    await page.screenshot({ path: path.join(images, `login-${fault}.png`) });
    front.mode = 'pass';
    if (fault === 'silent') front.cut();
    // A browser repeats a request automatically if its connection broke before the answer began.
    const isIn = () => new URL(page.url()).pathname === '/app';
    const refused = page.getByRole('alert');
    await eventually(
      'the login is answered',
      20_000,
      async () => isIn() || (await refused.isVisible()) || null,
    );
    if (!isIn()) await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL('**/app', { timeout: 20_000 });
  });

  test.each(FAULTS)('a session, opened while it is %s', async (fault) => {
    await signIn(page, token);
    await page.goto(`${front.url}/app`);
    const resume = page.getByRole('button', { name: 'Resume Small pattern' });
    await resume.waitFor();
    spoil(fault);
    await resume.click();
    await expectRecovery('session', fault, () =>
      eventually('frames are shown', 30_000, async () => (await framesShown(page)) > 5 || null),
    );
  });

  test('a running picture continues while the server is away', async () => {
    await signIn(page, token);
    await page.goto(`${front.url}/app/session/${id}`);
    await eventually('frames are shown', 30_000, async () => (await framesShown(page)) > 5 || null);
    front.mode = 'gone';
    front.cut();
    await notice(SAYS.gone).waitFor({ timeout: 20_000 });
    const before = await framesShown(page);
    await eventually('further frames', 10_000, async () => (await framesShown(page)) > before + 10 || null);
    await page.screenshot({ path: path.join(images, 'session-live-gone.png') });
    front.mode = 'pass';
    await notice(SAYS.gone).waitFor({ state: 'hidden', timeout: 20_000 });
    expect(await framesShown(page)).toBeGreaterThan(before);
  });
});
