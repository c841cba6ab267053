import { systemClock } from '@footlight/platform';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { networkHolders, networkOf } from '../../testing/traces.ts';
import { type AppNetwork, openOutwardNetwork, pastaProblem } from './app-network.ts';
import { NetworkPool } from './network-pool.ts';

/** The test needs a host with a network, because `pasta` copies the host's addresses and routes. */
const works = process.getuid?.() === 0 && (await pastaProblem(systemClock)) === null;

let pool: NetworkPool;
/** Number of networks that the pool has created. */
let made = 0;
const taken: AppNetwork[] = [];

beforeEach(() => {
  made = 0;
  pool = new NetworkPool({
    clock: systemClock,
    keep: true,
    mediaPorts: null,
    open: async (...options) => {
      const network = await openOutwardNetwork(...options);
      made += 1;
      return network;
    },
  });
});

afterEach(async () => {
  await Promise.all(taken.splice(0).map((network) => network.close()));
  await pool.close();
  expect(networkHolders(process.pid)).toEqual([]);
});

async function take(): Promise<AppNetwork> {
  const network = await pool.take();
  if (network === null) throw new Error('pasta is gone');
  taken.push(network);
  return network;
}

/**
 * Waits until the first prefetched network carries traffic.
 * @returns process id of the process that keeps the network open
 */
async function keptHolder(): Promise<number> {
  await expect.poll(() => made).toBe(1);
  const [holder] = networkHolders(process.pid);
  if (holder === undefined) throw new Error('no network is kept');
  return holder;
}

async function inside({ enter }: AppNetwork, ...command: string[]): Promise<string> {
  const [program = '', ...words] = [...enter, ...command];
  return (await execa(program, words)).stdout;
}

describe.runIf(works)('a network that is kept ready', { timeout: 60_000 }, () => {
  test('is given to the next app, and reaches the outside', async () => {
    const holder = await keptHolder();
    const network = await take();
    expect(await inside(network, 'readlink', '/proc/self/ns/net')).toBe(networkOf(holder));
    expect(await inside(network, 'ip', 'route')).toContain('default');
  });

  test('two apps get different networks', async () => {
    const networks = await Promise.all([take(), take()]);
    const names = networks.map((network) => inside(network, 'readlink', '/proc/self/ns/net'));
    expect(new Set(await Promise.all(names)).size).toBe(2);
  });

  test('whose pasta was killed is not given to an app', async () => {
    process.kill(await keptHolder(), 'SIGKILL');
    await expect.poll(() => networkHolders(process.pid)).toEqual([]);
    const network = await take();
    expect(network.problem).toBeNull();
    expect(await inside(network, 'ip', 'route')).toContain('default');
  });

  test('is not confused with the network of another process when its holder is gone', async () => {
    const holder = await keptHolder();
    const network = await take();
    process.kill(holder, 'SIGKILL');
    await network.exited;
    expect(await inside(network, 'readlink', '/proc/self/ns/net')).not.toBe(networkOf(process.pid));
    // `pasta` ends together with the process that keeps the network open, and then its link disappears.
    await expect.poll(() => inside(network, 'ip', 'route')).toBe('');
  });
});
