import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NamespacePath, openNamespacePath } from '../../bench/media/slow-path.ts';
import { type Browser, startBrowser } from '../../src/browser/chromium.ts';
import { framesShown } from '../../src/browser/picture.ts';
import { signIn } from '../../src/browser/sign-in.ts';
import { eventually, freePort } from '../../src/stack/program.ts';
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
/** An nft condition that every packet meets. */
const ALL = 'meta length > 0';
/** Time that a picture may take longer than on the direct path. */
const LONGER_MS = 3_000;
const images = path.resolve(import.meta.dirname, '../../../test-results');

/** A network: packets of the browser that pass. The pages are always reachable, by HTTPS on port 443. */
interface Network {
  /** nft conditions of the packets that reach the host. */
  host: readonly string[];
  /** nft conditions of the packets that reach the TURN server. */
  turn: readonly string[];
}

describe.runIf(process.getuid?.() === 0)('in a network in which only one path works', () => {
  let network: NamespacePath;
  let turn: TurnServer;
  let stack: Stack;
  let sessions: PersonSessions;
  let browser: Browser;
  let token: string;
  let session: string;
  let fallbackPort: number;
  let directMs = Number.NaN;

  beforeAll(async () => {
    const opened = openNamespacePath();
    if (opened === null) throw new Error('this machine allows no network namespace');
    network = opened;
    connectTurnServer(network.namespace);
    fallbackPort = await freePort();
    const urls = [
      `turn:${TURN}:${TURN_PORT}?transport=udp`,
      `turn:${TURN}:${TURN_PORT}?transport=tcp`,
      `turns:${TURN}:${HTTPS}?transport=tcp`,
    ];
    stack = await startStack({
      apps: [],
      controlEnv: { SERVICE_TURN_URLS: urls.join(','), SERVICE_TURN_SECRET: SECRET },
      agentEnv: { SERVICE_ENCODE_SLOTS: '2', SERVICE_MEDIA_FALLBACK_PORT: String(fallbackPort) },
    });
    const [certFile, keyFile] = turnCertificate(stack.directory);
    turn = await startTurnServer({
      address: TURN,
      port: TURN_PORT,
      secret: SECRET,
      tls: { port: HTTPS, certFile, keyFile },
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
    browser = await startBrowser(
      { width: 1280, height: 800 },
      // The TURN server's certificate is signed by nobody.
      { program: network.browserProgram, flags: ['--ignore-certificate-errors'] },
    );
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await sessions?.close();
    await stack?.stop();
    await turn?.stop();
    network?.close();
    removeTurnServer();
  });

  /** Drops all packets of the browser except these. They are dropped on arrival, so that the browser gets no error. */
  function allow({ host, turn: toTurn }: Network): void {
    const chain = (device: string, conditions: readonly string[]) => `
      chain block {
        type filter hook input priority filter; policy accept;
        iifname "${device}" jump passes
      }
      chain passes {
        ${conditions.map((condition) => `${condition} accept`).join('\n        ')}
        drop
      }`;
    const table = (device: string, conditions: readonly string[]) => `
      table ip footlight_path
      delete table ip footlight_path
      table ip footlight_path {${chain(device, conditions)}
      }`;
    nft([], table(network.device, [`meta l4proto tcp ct original proto-dst ${HTTPS}`, ...host]));
    nft(['ip', 'netns', 'exec', TURN_NAMESPACE], table('browser', toTurn));
  }

  /** Opens the session in a new page, and reads the path from the statistics. */
  async function pathOf(page: Page): Promise<{ fact: string; pictureMs: number }> {
    await signIn(page, token);
    const startedAt = performance.now();
    await page.goto(`https://${network.address}/app/session/${session}`);
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
    ['everything', () => ({ host: [ALL], turn: [ALL] }), /^direct, UDP$/],
    ['TCP to the host', () => ({ host: [`tcp dport ${fallbackPort}`], turn: nowhere }), /^direct, TCP; /],
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
  ] satisfies [string, () => Network, RegExp][])(
    'allowed is %s: a picture appears in time, and the page names the path',
    async (allowed, rules, named) => {
      allow(rules());
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
  const names = `-subj /CN=${TURN} -addext subjectAltName=IP:${TURN}`;
  run(`openssl req -x509 -newkey rsa:2048 -nodes -days 2 ${names} -keyout ${keyFile} -out ${certFile}`);
  return [certFile, keyFile];
}

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
    'nft delete table ip footlight_path',
  ])
    try {
      run(command);
    } catch {
      // It was never created.
    }
}
