import { ManualClock } from '@footlight/platform/testing';
import { describe, expect, test } from 'vitest';
import type { ChildExit } from '../programs/child.ts';
import type { AppNetwork } from './app-network.ts';
import { NetworkPool, REFILL_AFTER_MS } from './network-pool.ts';

/** A fake network. */
class FakeNetwork implements AppNetwork {
  readonly enter = [];
  readonly resolvConf = null;
  readonly exited: Promise<ChildExit>;
  problem: string | null = null;
  isCurrent = true;
  closes = 0;
  end: () => void = () => undefined;

  constructor() {
    this.exited = new Promise((resolve) => {
      this.end = () => resolve({ code: null, signal: 'SIGKILL' });
    });
  }

  countIn(): void {}
  socketUse(): Promise<null> {
    return Promise.resolve(null);
  }

  async close(): Promise<void> {
    this.closes += 1;
    this.end();
  }
}

function pool({ keep = true, slow = false } = {}) {
  const clock = new ManualClock();
  const made: FakeNetwork[] = [];
  /** Callbacks that finish the creation of each network, if creation is slow. */
  const finish: (() => void)[] = [];
  const networks = new NetworkPool({
    clock,
    keep,
    mediaPorts: null,
    open: async () => {
      const network = new FakeNetwork();
      made.push(network);
      if (slow) await new Promise<void>((resolve) => finish.push(resolve));
      return network;
    },
  });
  const settled = () => new Promise(setImmediate);
  const refilled = async () => {
    clock.advance(REFILL_AFTER_MS);
    await settled();
  };
  return { networks, clock, made, finish, settled, refilled };
}

describe('a network is prefetched', () => {
  test('for the next app, and another is created a second after it was taken', async () => {
    const { networks, made, refilled } = pool();
    expect(made).toHaveLength(1);
    expect(await networks.take()).toBe(made[0]);
    expect(made).toHaveLength(1);
    await refilled();
    expect(made).toHaveLength(2);
    expect(await networks.take()).toBe(made[1]);
  });

  test('apps that start together never share one', async () => {
    const { networks, made } = pool();
    const taken = await Promise.all([networks.take(), networks.take(), networks.take()]);
    expect(new Set(taken).size).toBe(3);
    expect(made).toHaveLength(3);
  });

  test('an app waits for a network that is still being created', async () => {
    const { networks, made, finish } = pool({ slow: true });
    const taken = networks.take();
    finish[0]?.();
    expect(await taken).toBe(made[0]);
    expect(made).toHaveLength(1);
  });

  test('one is prefetched, however many were taken', async () => {
    const { networks, made, refilled } = pool();
    await Promise.all([networks.take(), networks.take(), networks.take()]);
    await refilled();
    await refilled();
    expect(made).toHaveLength(4);
  });

  test('not if prefetching is disabled', async () => {
    const { networks, made, refilled } = pool({ keep: false });
    expect(made).toHaveLength(0);
    expect(await networks.take()).toBe(made[0]);
    await refilled();
    expect(made).toHaveLength(1);
  });
});

describe('an app never gets a prefetched network', () => {
  test('whose process has ended', async () => {
    const { networks, made, settled } = pool();
    await settled();
    made[0]?.end();
    await settled();
    expect(await networks.take()).toBe(made[1]);
    expect(made[0]?.closes).toBe(1);
  });

  test('that was created when the host had other addresses or resolvers', async () => {
    const { networks, made, settled } = pool();
    await settled();
    if (made[0]) made[0].isCurrent = false;
    expect(await networks.take()).toBe(made[1]);
    expect(made[0]?.closes).toBe(1);
  });

  test('without a connection; a new attempt reports why', async () => {
    const { networks, made, finish, settled } = pool({ slow: true });
    if (made[0]) made[0].problem = 'no route';
    finish[0]?.();
    await settled();
    expect(made[0]?.closes).toBe(1);
    const taken = networks.take();
    await settled();
    if (made[1]) made[1].problem = 'still no route';
    finish[1]?.();
    expect(await taken).toBe(made[1]);
    expect(made[1]?.closes).toBe(0);
  });
});

describe('when the pool closes', () => {
  test('the prefetched one ends, and no other is created', async () => {
    const { networks, made, clock, settled } = pool();
    await settled();
    await networks.close();
    expect(made[0]?.closes).toBe(1);
    clock.advance(10 * REFILL_AFTER_MS);
    expect(made).toHaveLength(1);
  });

  test('one that is being created ends too', async () => {
    const { networks, made, finish } = pool({ slow: true });
    const closed = networks.close();
    finish[0]?.();
    await closed;
    expect(made[0]?.closes).toBe(1);
  });

  test('a taken one is not affected, and is not replaced', async () => {
    const { networks, made, refilled } = pool();
    await networks.take();
    await networks.close();
    await refilled();
    expect(made.map(({ closes }) => closes)).toEqual([0]);
  });
});
