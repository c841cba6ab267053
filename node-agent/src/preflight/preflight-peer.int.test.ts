/** The host's side of a connection test, with real connections in this process. */
import { ManualClock } from '@footlight/platform/testing';
import { MAX_PREFLIGHT_ECHO_BYTES, MAX_PREFLIGHT_ECHOES } from '@footlight/protocol/preflight';
import type { NetworkPath } from '@footlight/protocol/telemetry';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PreflightOutcome } from './preflight-messages.ts';
import { PreflightPeer } from './preflight-peer.ts';
import { type NativeBrowser, openNativeBrowser } from './testing/native-browser.ts';

const PATIENTLY = { timeout: 60_000 };
let browser: NativeBrowser;
let outcomes: PreflightOutcome[];
let ends: number;
const peers: PreflightPeer[] = [];

beforeEach(async () => {
  outcomes = [];
  ends = 0;
  browser = await openNativeBrowser();
});
afterEach(() => {
  for (const peer of peers.splice(0)) peer.close();
  browser.close();
});

function start(offer: string, path: NetworkPath = 'udp'): void {
  const peer = new PreflightPeer(
    { path, offer, ice_servers: [], addresses: null, ports: null, fallback_port: 8444 },
    {
      clock: new ManualClock(),
      resolver: { resolve: async () => null, close: () => undefined },
      onOutcome: (outcome) => outcomes.push(outcome),
      onEnded: () => {
        ends += 1;
      },
    },
  );
  peers.push(peer);
  peer.start();
}

/** The host's answer. */
async function answer(): Promise<string> {
  const [outcome] = await vi.waitUntil(() => (outcomes.length > 0 ? outcomes : undefined), PATIENTLY);
  if (outcome?.type !== 'answer') throw new Error(JSON.stringify(outcome));
  return outcome.sdp;
}

async function connect(): Promise<void> {
  start(browser.offer);
  browser.answer(await answer());
  await browser.opened;
}

describe('a direct test', () => {
  test('connects, and the host echoes the messages of the browser', async () => {
    await connect();
    browser.send('one');
    browser.send('two');
    await vi.waitFor(() => expect(browser.received).toEqual(['one', 'two']), PATIENTLY);
    expect(outcomes).toHaveLength(1);
  });

  test('ends after the largest number of messages, and echoes no further one', async () => {
    await connect();
    for (let count = 0; count <= MAX_PREFLIGHT_ECHOES; count += 1) browser.send(`${count}`);
    await browser.ended;
    expect(browser.received.length).toBeLessThanOrEqual(MAX_PREFLIGHT_ECHOES);
    expect(ends).toBe(1);
  });

  test('ends at a message that is too long', async () => {
    await connect();
    browser.send('x'.repeat(MAX_PREFLIGHT_ECHO_BYTES + 1));
    await browser.ended;
    expect(browser.received).toEqual([]);
    expect(ends).toBe(1);
  });

  test('ends when the browser leaves', async () => {
    await connect();
    browser.close();
    await vi.waitFor(() => expect(ends).toBe(1), PATIENTLY);
  });
});

test('the answer has candidates of the tested path only', async () => {
  start(browser.offer, 'tcp');
  const overTcp = await answer();
  expect(overTcp).toMatch(/a=candidate:\S+ 1 TCP \d+ \S+ 8444 typ host tcptype passive/);
  expect(overTcp).not.toMatch(/a=candidate:\S+ 1 UDP/);
  outcomes = [];
  start(browser.offer, 'udp');
  const overUdp = await answer();
  expect(overUdp).toMatch(/a=candidate:\S+ 1 UDP .* typ host/);
  expect(overUdp).not.toMatch(/a=candidate:\S+ 1 TCP/);
});

describe('an offer is refused', () => {
  test.each([
    ['that is empty', () => ''],
    ['that is no SDP', () => 'hello'],
    ['with a control character', (offer: string) => offer.replace('a=mid', 'a=\u0001mid')],
    ['with a picture', (offer: string) => offer.replace('m=application', 'm=video')],
    ['with two data channels', (offer: string) => `${offer}${offer.slice(offer.indexOf('m='))}`],
    ['without a fingerprint', (offer: string) => offer.replace(/a=fingerprint:.*\r\n/g, '')],
    ['without a user name', (offer: string) => offer.replace(/a=ice-ufrag:.*\r\n/g, '')],
  ])('%s', (_what, edit) => {
    start(edit(browser.offer));
    expect(outcomes).toEqual([{ type: 'refused', why: expect.any(String) }]);
    expect(ends).toBe(0);
  });
});
