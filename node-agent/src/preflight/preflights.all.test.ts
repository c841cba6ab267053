/** Connection tests in their own processes, with real connections. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '@footlight/platform';
import { MAX_HOST_PREFLIGHTS } from '@footlight/protocol/preflight';
import { afterEach, expect, test, vi } from 'vitest';
import { Preflights } from './preflights.ts';
import { type NativeBrowser, openNativeBrowser } from './testing/native-browser.ts';

const PATIENTLY = { timeout: 60_000 };
const browsers: NativeBrowser[] = [];
let preflights: Preflights;
/** Fragments of the connections that are registered with the fallback port. */
let registered: Set<string>;
const fallback = {
  port: 8444,
  register: ({ ufrag }: { ufrag: string }) => {
    registered.add(ufrag);
    return () => void registered.delete(ufrag);
  },
};
const open = (limitMs?: number) => {
  registered = new Set();
  preflights = new Preflights({
    clock: systemClock,
    addresses: null,
    ports: [42_000, 42_100],
    fallback,
    ...(limitMs !== undefined && { limitMs }),
  });
};
afterEach(() => {
  preflights.close();
  for (const browser of browsers.splice(0)) browser.close();
});

async function browse(): Promise<NativeBrowser> {
  const browser = await openNativeBrowser();
  browsers.push(browser);
  return browser;
}

const order = (offer: string) => ({
  type: 'preflight' as const,
  id: randomUUID(),
  path: 'udp' as const,
  offer,
  ice_servers: [],
});

test('a test connects on the media ports, echoes, and its process ends with the connection', async () => {
  open();
  const browser = await browse();
  const answer = await preflights.run(order(browser.offer));
  if (!answer.ok || answer.preflight === undefined) throw new Error(JSON.stringify(answer));
  expect(answer.preflight).toMatchObject({
    media_ports: { first: 42_000, last: 42_100, configured: true },
    fallback_port: 8444,
  });
  const ports = [...(answer.preflight.answer ?? '').matchAll(/a=candidate:.* (\d+) typ host/g)].map(
    ([, port]) => Number(port),
  );
  expect(ports.length).toBeGreaterThan(0);
  expect(ports.every((port) => port === 8444 || (port >= 42_000 && port <= 42_100))).toBe(true);
  expect([...registered]).toEqual([/a=ice-ufrag:(\S+)/.exec(answer.preflight.answer ?? '')?.[1]]);
  browser.answer(answer.preflight.answer ?? '');
  await browser.opened;
  browser.send('ping');
  await vi.waitFor(() => expect(browser.received).toEqual(['ping']), PATIENTLY);
  browser.close();
  await vi.waitFor(() => expect(preflights.running).toBe(0), PATIENTLY);
  expect(registered.size).toBe(0);
}, 90_000);

test('a test of a browser that never connects ends at the limit', async () => {
  open(2_000);
  const { offer } = await browse();
  expect(await preflights.run(order(offer))).toMatchObject({ ok: true });
  await vi.waitFor(() => expect(preflights.running).toBe(0), PATIENTLY);
}, 90_000);

test('a test above the limit is refused, and the agent ends all tests when it stops', async () => {
  open();
  const { offer } = await browse();
  const first = Array.from({ length: MAX_HOST_PREFLIGHTS }, () => preflights.run(order(offer)));
  expect(await preflights.run(order(offer))).toMatchObject({ ok: false, code: 'busy' });
  preflights.close();
  expect(preflights.running).toBe(0);
  for (const answer of await Promise.all(first))
    expect(answer).toMatchObject({ ok: false, code: 'internal' });
}, 90_000);

test('an offer that cannot be used is refused with the reason', async () => {
  open();
  expect(await preflights.run(order('v=0\r\n'))).toEqual({ ok: false, code: 'invalid', error: 'no m-line' });
  await vi.waitFor(() => expect(preflights.running).toBe(0), PATIENTLY);
}, 90_000);

test('without a fallback port, a test over TCP has no answer and starts no process', async () => {
  preflights = new Preflights({ clock: systemClock, addresses: null, ports: null, fallback: null });
  const answer = await preflights.run({ ...order('v=0\r\n'), path: 'tcp' });
  expect(answer).toMatchObject({ ok: true, preflight: { answer: null, fallback_port: null } });
  expect(preflights.running).toBe(0);
});
