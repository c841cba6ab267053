import { ManualClock } from '@footlight/platform/testing';
import multicastDns from 'multicast-dns';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLocalNameResolver, type LocalNameResolver } from './mdns.ts';

let clock: ManualClock;
let resolver: LocalNameResolver | null = null;
let responder: ReturnType<typeof multicastDns> | null = null;
beforeEach(() => {
  clock = new ManualClock();
});
afterEach(() => {
  resolver?.close();
  responder?.destroy();
});

describe('names that browsers give instead of addresses', () => {
  test('are resolved, unless they lead to the host itself; unknown ones take 2 s', async () => {
    responder = multicastDns({ reuseAddr: true });
    const addresses: Record<string, string> = { 'page.local': '192.0.2.77', 'evil.local': '127.0.0.1' };
    responder.on('query', ({ questions }) => {
      for (const { name } of questions ?? []) {
        const data = addresses[name];
        if (data) responder?.respond({ answers: [{ name, type: 'A', ttl: 1, data }] });
      }
    });
    await new Promise((resolve) => responder?.once('ready', resolve));
    resolver = createLocalNameResolver(clock);
    const [page, evil, nobody] = ['page.local', 'evil.local', 'nobody.local'].map((name) =>
      resolver?.resolve(name),
    );
    expect(await page).toBe('192.0.2.77');
    clock.advance(2_000);
    expect(await Promise.all([evil, nobody])).toEqual([null, null]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('at most eight at once', async () => {
    resolver = createLocalNameResolver(clock);
    const names = Array.from({ length: 9 }, (_, index) => `name-${index}.local`);
    const lookups = names.map((name) => resolver?.resolve(name));
    expect(await lookups[8]).toBeNull();
    expect(clock.pendingTimers).toBe(16);
    clock.advance(2_000);
    expect(await Promise.all(lookups)).toEqual(names.map(() => null));
  });
});
