import multicastDns from 'multicast-dns';
import { afterEach, describe, expect, test } from 'vitest';
import { createLocalNameResolver, type LocalNameResolver } from './mdns.ts';

let resolver: LocalNameResolver | null = null;
let responder: ReturnType<typeof multicastDns> | null = null;
afterEach(() => {
  resolver?.close();
  responder?.destroy();
});

describe('names that browsers give instead of addresses', () => {
  test('are found, unless they lead into the host; unknown ones take 2 s', async () => {
    responder = multicastDns({ reuseAddr: true });
    const addresses: Record<string, string> = { 'page.local': '192.0.2.77', 'evil.local': '127.0.0.1' };
    responder.on('query', ({ questions }) => {
      for (const { name } of questions ?? []) {
        const data = addresses[name];
        if (data) responder?.respond({ answers: [{ name, type: 'A', ttl: 1, data }] });
      }
    });
    await new Promise((resolve) => responder?.once('ready', resolve));
    resolver = createLocalNameResolver();
    const from = performance.now();
    const [page, evil, nobody] = await Promise.all(
      ['page.local', 'evil.local', 'nobody.local'].map((name) => resolver?.resolve(name)),
    );
    expect(page).toBe('192.0.2.77');
    expect(evil).toBeNull();
    expect(nobody).toBeNull();
    expect(performance.now() - from).toBeLessThan(3000);
  });

  test('at most eight at once', async () => {
    resolver = createLocalNameResolver();
    const names = Array.from({ length: 9 }, (_, index) => `name-${index}.local`);
    const from = performance.now();
    const lookups = names.map((name) => resolver?.resolve(name).then(() => performance.now() - from));
    const last = await lookups[8];
    expect(last).toBeLessThan(500);
    await Promise.all(lookups);
  });
});
