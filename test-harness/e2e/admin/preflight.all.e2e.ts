import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { freePort } from '../../src/stack/program.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import type { TurnServer } from '../../src/turn-server.ts';
import {
  ALL,
  openTurnNetwork,
  type PassingPackets,
  TURN_ADDRESS,
  TURN_PORT,
  type TurnNetwork,
} from '../turn-network.ts';

const SECRET = 'a-turn-secret-of-a-test';
const MEDIA_PORTS = '43000-43099';
const LAPTOP = { width: 1366, height: 768 };
const PHONE = { width: 390, height: 844 };
const pictures = path.resolve(import.meta.dirname, '../../../test-results/preflight');
/** A test of all paths takes less than a minute. */
const TESTED = { timeout: 120_000 };

describe.runIf(process.getuid?.() === 0)('the connection test of a host', () => {
  let network: TurnNetwork;
  let turn: TurnServer;
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  let section: Locator;
  let fallbackPort: number;

  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    network = openTurnNetwork();
    const server = `turn:${TURN_ADDRESS}:${TURN_PORT}`;
    fallbackPort = await freePort();
    stack = await startStack({
      apps: [],
      controlEnv: {
        SERVICE_TURN_URLS: `${server}?transport=udp,${server}?transport=tcp`,
        SERVICE_TURN_SECRET: SECRET,
      },
      agentEnv: { SERVICE_MEDIA_PORTS: MEDIA_PORTS, SERVICE_MEDIA_FALLBACK_PORT: `${fallbackPort}` },
    });
    turn = await network.startServer({ secret: SECRET });
    network.servePages(stack.httpsUrl);
    const { token } = await stack.claim();
    const [{ id }] = (await stack.call('GET', '/v1/hosts', { token })).body.items;
    browser = await startBrowser(LAPTOP, { program: network.path.browserProgram });
    page = await browser.newPage();
    await signIn(page, token);
    const origin = `https://${network.path.address}`;
    // GET /v1/me sets the cookie that opens the administrators' documents.
    await page.goto(`${origin}/login`);
    await page.waitForURL('**/app');
    await page.goto(`${origin}/admin/hosts/${id}`);
    section = page.getByRole('region', { name: 'Connection from this browser' });
  }, 180_000);

  afterEach(() => network?.allow({ host: [ALL], turn: [ALL] }));
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
    await turn?.stop();
    network?.close();
  });

  const row = (name: string) => section.getByRole('listitem').filter({ hasText: name });

  /** Tests all paths in a network that only these packets pass. @param title of the pictures */
  async function testPaths(title: string, passing: PassingPackets): Promise<void> {
    network.allow(passing);
    await section.getByRole('button', { name: /^Test/ }).click();
    await section
      .getByRole('button', { name: 'Test again' })
      .and(page.locator(':not([data-loading])'))
      .waitFor(TESTED);
    for (const [name, size] of [
      ['laptop', LAPTOP],
      ['phone', PHONE],
    ] as const) {
      await page.setViewportSize(size);
      await section.scrollIntoViewIfNeeded();
      await section.screenshot({ path: path.join(pictures, `${title}-${name}.png`) });
    }
    await page.setViewportSize(LAPTOP);
  }

  test('an open network: every path works, and people use the direct one', async () => {
    await testPaths('open', { host: [ALL], turn: [ALL] });
    await section.getByText(/reach the host directly over UDP/).waitFor();
    for (const name of ['Direct, UDP', 'Direct, TCP', 'TURN over UDP', 'TURN over TCP'])
      expect(await row(name).textContent()).toMatch(/Works.*Round trip [\d.]+ ms/);
    expect(await row('TURN over TLS').textContent()).toContain('Not set up');
  }, 180_000);

  test('without UDP to the host: people use TCP, and the page names the ports to open', async () => {
    await testPaths('no-udp', { host: ['meta l4proto tcp'], turn: [ALL] });
    await section.getByText(/directly, but only over TCP/).waitFor();
    await row('Direct, UDP').getByText('Does not work').waitFor();
    // The rule that drops the packets was made after the host's check of its own firewall, as one of a router.
    const advice = await row('Direct, UDP').textContent();
    expect(advice).toContain('look beyond the host');
    expect(advice).toContain(`forward or open the UDP ports ${MEDIA_PORTS} there too`);
    expect(await row('TURN over UDP').textContent()).toMatch(/Works/);
  }, 180_000);

  test('only the TURN server is reachable: people use it', async () => {
    await testPaths('turn-only', { host: [], turn: [`udp dport ${TURN_PORT}`] });
    await section.getByText(/only through the TURN server/).waitFor();
    expect(await row('TURN over UDP').textContent()).toMatch(/Works.*Round trip/);
    expect(await row('Direct, TCP').textContent()).toContain('Does not work');
    expect(await row('TURN over TCP').textContent()).toContain(
      `got no relay from ${TURN_ADDRESS}:${TURN_PORT}. Open this TCP port`,
    );
  }, 180_000);
});
