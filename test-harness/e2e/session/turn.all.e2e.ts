import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually, freePort } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import type { TurnServer } from '../../src/turn-server.ts';
import {
  ALL,
  HTTPS,
  openTurnNetwork,
  type PassingPackets,
  TURN_ADDRESS,
  TURN_PORT,
  type TurnNetwork,
} from '../turn-network.ts';

const SECRET = 'a-turn-secret-of-a-test';
/** Time that a picture may take longer than on the direct path. */
const LONGER_MS = 3_000;
const images = path.resolve(import.meta.dirname, '../../../test-results');

describe.runIf(process.getuid?.() === 0)('in a network in which only one path works', () => {
  let network: TurnNetwork;
  let turn: TurnServer;
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let token: string;
  let session: string;
  let fallbackPort: number;
  let directMs = Number.NaN;

  beforeAll(async () => {
    network = openTurnNetwork();
    fallbackPort = await freePort();
    const urls = [
      `turn:${TURN_ADDRESS}:${TURN_PORT}?transport=udp`,
      `turn:${TURN_ADDRESS}:${TURN_PORT}?transport=tcp`,
      `turns:${TURN_ADDRESS}:${HTTPS}?transport=tcp`,
    ];
    stack = await startStack({
      apps: [],
      controlEnv: { SERVICE_TURN_URLS: urls.join(','), SERVICE_TURN_SECRET: SECRET },
      agentEnv: { SERVICE_ENCODE_SLOTS: '2', SERVICE_MEDIA_FALLBACK_PORT: String(fallbackPort) },
    });
    const [certFile, keyFile] = turnCertificate(stack.directory);
    turn = await network.startServer({ secret: SECRET, tls: { port: HTTPS, certFile, keyFile } });
    token = (await stack.claim()).token;
    sessions = new PersonSessions(stack, token);
    const { id } = await sessions.launch(await sessions.app('Small pattern', null), {
      width: 640,
      height: 360,
    });
    session = id;
    network.servePages(stack.httpsUrl);
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser(
      { width: 1280, height: 800 },
      // The TURN server's certificate is signed by nobody.
      { program: network.path.browserProgram, flags: ['--ignore-certificate-errors'] },
    );
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
    await turn?.stop();
    network?.close();
  });

  /** Opens the session in a new page, and reads the path from the statistics. */
  async function pathOf(page: Page): Promise<{ fact: string; pictureMs: number }> {
    await signIn(page, token);
    const startedAt = performance.now();
    await page.goto(`https://${network.path.address}/app/session/${session}`);
    await eventually('frames are shown', 60_000, async () => (await framesShown(page)) > 0 || null);
    const pictureMs = performance.now() - startedAt;
    const bar = page.getByRole('toolbar', { name: 'Controls' });
    const panel = page.getByRole('region', { name: 'Statistics' });
    for (let level = 0; level < 3; level += 1) {
      await page.mouse.move(640, 400);
      await page.mouse.move(640, 1);
      await bar.waitFor({ state: 'visible' });
      await bar.getByRole('button', { name: /^Quality/ }).click();
    }
    const row = panel.locator('dl > div').filter({ has: page.getByText('Path', { exact: true }) });
    const fact = await eventually('the path is known', 60_000, async () => {
      const text = await row.locator('dd').textContent();
      return text === '–' ? null : text;
    });
    return { fact, pictureMs };
  }

  const nowhere: readonly string[] = [];
  test.each([
    ['everything', () => ({ host: [ALL], turn: [ALL] }), /^Direct, UDP$/],
    ['TCP to the host', () => ({ host: [`tcp dport ${fallbackPort}`], turn: nowhere }), /^Direct, TCP; /],
    [
      'UDP to the TURN server',
      () => ({ host: nowhere, turn: [`udp dport ${TURN_PORT}`] }),
      /^TURN over UDP; /,
    ],
    [
      'TCP to the TURN server',
      () => ({ host: nowhere, turn: [`tcp dport ${TURN_PORT}`] }),
      /^TURN over TCP; /,
    ],
    ['TCP on port 443', () => ({ host: nowhere, turn: [`tcp dport ${HTTPS}`] }), /^TURN over TLS; /],
  ] satisfies [string, () => PassingPackets, RegExp][])(
    'allowed is %s: a picture appears in time, and the page names the path',
    async (allowed, rules, named) => {
      network.allow(rules());
      const page = await browser.newPage();
      const { fact, pictureMs } = await pathOf(page);
      await page.screenshot({ path: path.join(images, `session-path-${allowed.replaceAll(' ', '-')}.png`) });
      await page.close();
      expect(fact).toMatch(named);
      if (allowed === 'everything') directMs = pictureMs;
      expect(pictureMs).toBeLessThanOrEqual(directMs + LONGER_MS);
    },
    180_000,
  );
});

/** A certificate for the TURN server's address. @returns the PEM files of certificate and key */
function turnCertificate(directory: string): [certFile: string, keyFile: string] {
  const [certFile, keyFile] = [path.join(directory, 'turn.crt'), path.join(directory, 'turn.key')];
  const names = `-subj /CN=${TURN_ADDRESS} -addext subjectAltName=IP:${TURN_ADDRESS}`;
  const command = `openssl req -x509 -newkey rsa:2048 -nodes -days 2 ${names} -keyout ${keyFile} -out ${certFile}`;
  execFileSync('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] });
  return [certFile, keyFile];
}
