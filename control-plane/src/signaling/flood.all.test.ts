import { randomBytes } from 'node:crypto';
import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeSqlite } from '../testing/index.ts';
import { SIGNALING_LIMITS } from './limiter.ts';
import { openPage, type SignalPage } from './testing/page.ts';

const SOCKETS = process.env.FOOTLIGHT_LONG === '1' ? 5_000 : 300;
/** Local addresses from which the flood is sent; the viewer uses 127.0.0.1. */
const ADDRESSES = Array.from({ length: 12 }, (_, index) => `127.0.1.${index + 1}`);
/** Number of sockets that the flood opens at the same time. */
const AT_ONCE = 150;

describeSqlite('a flood of /v1/signal', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
    agent = await world.host('hosta');
  });
  afterEach(() => world.close());

  /** Opens a socket with a well-formed token that was never issued. @returns whether the socket was opened */
  const knock = (localAddress: string): Promise<boolean> =>
    new Promise((resolve) => {
      let opened = false;
      const token = randomBytes(32).toString('hex');
      const socket = new WebSocket(`${world.url.replace('http', 'ws')}/v1/signal?token=${token}`, {
        localAddress,
        perMessageDeflate: false,
      });
      socket.on('open', () => {
        opened = true;
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(opened));
    });

  test(`of ${SOCKETS} sockets without a token is held off, and a viewer joins meanwhile`, {
    timeout: 300_000,
  }, async () => {
    const session = await world.running(world.people.alice, await world.app());
    const opened = new Map<string, number>();
    let started = 0;
    async function attacker(): Promise<void> {
      while (started < SOCKETS) {
        const address = ADDRESSES[started % ADDRESSES.length] as string;
        started += 1;
        if (await knock(address)) opened.set(address, (opened.get(address) ?? 0) + 1);
      }
    }
    const flood = Promise.all(Array.from({ length: AT_ONCE }, attacker));
    await expect.poll(() => started).toBeGreaterThanOrEqual(Math.min(AT_ONCE, SOCKETS / 2));
    const page = await joined(session.id);
    await flood;
    expect(page.socket.readyState).toBe(WebSocket.OPEN);
    // The agent's messages are also relayed, and its link is not affected.
    agent.signal(session.id, (await page.next('ready')).conn, { type: 'bye', reason: 'going_away' });
    await page.next('bye');
    expect(agent.isOpen).toBe(true);
    // Ten wrong tokens per address, plus those that were checked at the same time.
    const most = SIGNALING_LIMITS.failuresPerMinute + SIGNALING_LIMITS.handshakesPerAddress;
    for (const [address, count] of opened) expect(count, address).toBeLessThanOrEqual(most);
    page.socket.terminate();
  });

  /** Joins a session. Like the page, it retries with a new token after a refusal. */
  const joined = (id: string): Promise<SignalPage> =>
    vi.waitFor(
      async () => {
        const answer = await world.call(world.people.alice, 'POST', `/v1/sessions/${id}/signaling-token`);
        const page = await openPage(world.url, answer.body.signaling.token as string);
        page.hello();
        await page.next('ready');
        return page;
      },
      { timeout: 10_000, interval: 100 },
    );
});
