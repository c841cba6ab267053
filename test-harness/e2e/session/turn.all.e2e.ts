import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NamespacePath, openNamespacePath } from '../../bench/media/slow-path.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually } from '../../src/stack/program.ts';
import { PersonSessions } from '../../src/stack/sessions.ts';
import { type Stack, startStack } from '../../src/stack/stack.ts';
import { startTurnServer, type TurnServer } from '../../src/turn-server.ts';

const SECRET = 'a-turn-secret-of-a-test';
/**
 * Address of the TURN server. The server has a namespace of its own, with a link to the browser and one to the host. On
 * the host itself, the kernel would answer the server from another address than the one that was asked.
 */
const TURN = '10.231.78.1';
const TURN_NAMESPACE = `fl-turn-${process.pid}`;
const [TURN_PORT, HTTPS] = [3478, 443];
const TABLE = `footlight_turn_${process.pid}`;
const images = path.resolve(import.meta.dirname, '../../../test-results');

/** TURN over TCP and TLS are missing, because Chromium cannot use them with a host (docs/limits.md). */
describe.runIf(process.getuid?.() === 0)('a network that blocks UDP to the host', () => {
  let network: NamespacePath;
  let turn: TurnServer;
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let token: string;
  let session: string;

  beforeAll(async () => {
    const opened = openNamespacePath();
    if (opened === null) throw new Error('this machine allows no network namespace');
    network = opened;
    connectTurnServer(network.namespace);
    const urls = [`turn:${TURN}:${TURN_PORT}?transport=udp`, `turn:${TURN}:${TURN_PORT}?transport=tcp`];
    stack = await startStack({
      apps: [],
      controlEnv: { SERVICE_TURN_URLS: urls.join(','), SERVICE_TURN_SECRET: SECRET },
      agentEnv: { SERVICE_ENCODE_SLOTS: '2' },
    });
    turn = await startTurnServer({
      address: TURN,
      port: TURN_PORT,
      secret: SECRET,
      namespace: TURN_NAMESPACE,
    });
    token = (await stack.claim()).token;
    sessions = new PersonSessions(stack, token);
    const { id } = await sessions.launch(await sessions.app('Small pattern', null), {
      width: 640,
      height: 360,
    });
    session = id;
    // Port 443 of the pages' address is the control plane.
    nft(
      [],
      `table ip ${TABLE} {
        chain pages {
          type nat hook prerouting priority dstnat; policy accept;
          iifname "${network.device}" tcp dport ${HTTPS} redirect to :${new URL(stack.httpsUrl).port}
        }
      }`,
    );
    await sessions.reaches(id, 'app presented', 60_000);
    browser = await startBrowser({ width: 1280, height: 800 }, { program: network.browserProgram });
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
    await turn?.stop();
    network?.close();
    removeTurnServer();
  });

  /**
   * Replaces the rules for packets from the browser.
   * @param rules nft rules in order; packets that match none of them pass
   */
  function allow(...rules: readonly string[]): void {
    const inside = `flush ruleset
      table ip footlight {
        chain block {
          type filter hook output priority filter; policy accept;
          oifname "lo" accept
          ${rules.join('\n')}
        }
      }`;
    nft(['ip', 'netns', 'exec', network.namespace], inside);
  }

  /** Opens the session in a new page, and reads the path from the statistics. */
  async function pathOf(page: Page): Promise<string> {
    await signIn(page, token);
    await page.goto(`https://${network.address}/app/session/${session}`);
    await eventually('frames are shown', 60_000, async () => (await framesShown(page)) > 5 || null);
    const bar = page.getByRole('toolbar', { name: 'Controls' });
    const panel = page.getByRole('region', { name: 'Statistics' });
    for (let level = 0; level < 3; level += 1) {
      await page.mouse.move(640, 400);
      await page.mouse.move(640, 1);
      await bar.waitFor({ state: 'visible' });
      await bar.getByRole('button', { name: /^Quality/ }).click();
    }
    const fact = panel.locator('dl > div').filter({ has: page.getByText('Path', { exact: true }) });
    return eventually('the path is known', 60_000, async () => {
      const text = await fact.locator('dd').textContent();
      return text === '–' ? null : text;
    });
  }

  test.each([
    ['nothing', [], 'direct'],
    [
      'UDP to the host',
      [`ip daddr ${TURN} udp dport ${TURN_PORT} accept`, 'meta l4proto udp drop'],
      'TURN over UDP',
    ],
  ])(
    'blocked is %s: a picture appears, and the page names the path',
    async (blocked, rules, path_) => {
      allow(...rules);
      const page = await browser.newPage();
      const fact = await pathOf(page);
      await page.screenshot({ path: path.join(images, `session-turn-${blocked.replaceAll(' ', '-')}.png`) });
      await page.close();
      const cost = path_ === 'direct' ? '' : '; the relay adds its round trip';
      expect(fact).toBe(`${path_}${cost}`);
    },
    180_000,
  );
});

function run(command: string): void {
  execFileSync('/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] });
}

function nft([program = 'nft', ...words]: string[], rules: string): void {
  const args = program === 'nft' ? ['-f', '-'] : [...words, 'nft', '-f', '-'];
  execFileSync(program, args, { input: rules, stdio: ['pipe', 'ignore', 'pipe'] });
}

/** Creates the namespace of the TURN server, with a link to the browser's namespace and one to this machine. */
function connectTurnServer(browser: string): void {
  const links = [`flt${process.pid}`, `flu${process.pid}`] as const;
  const inside = `ip -n ${TURN_NAMESPACE}`;
  run(`ip netns add ${TURN_NAMESPACE} && ${inside} link set lo up`);
  run(`ip link add ${links[0]} netns ${browser} type veth peer name browser netns ${TURN_NAMESPACE}`);
  run(`ip -n ${browser} addr add 10.231.78.2/30 dev ${links[0]} && ip -n ${browser} link set ${links[0]} up`);
  run(`${inside} addr add ${TURN}/30 dev browser && ${inside} link set browser up`);
  run(`ip link add ${links[1]} type veth peer name host netns ${TURN_NAMESPACE}`);
  run(`ip addr add 10.231.79.1/30 dev ${links[1]} && ip link set ${links[1]} up`);
  run(`${inside} addr add 10.231.79.2/30 dev host && ${inside} link set host up`);
  run(`${inside} route add default via 10.231.79.1 && ip route add ${TURN} via 10.231.79.2`);
}

function removeTurnServer(): void {
  for (const command of [
    `ip link del flu${process.pid}`,
    `ip netns del ${TURN_NAMESPACE}`,
    `nft delete table ip ${TABLE}`,
  ])
    try {
      run(command);
    } catch {
      // It was never created.
    }
}
