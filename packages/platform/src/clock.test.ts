import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';
import type { Timer } from './timer.ts';

/** Blocks this process, like a stop signal or a long computation. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('after the process was paused', () => {
  const servers: Server[] = [];
  const timers: Timer[] = [];
  afterEach(() => {
    for (const timer of timers.splice(0)) timer.cancel();
    for (const server of servers.splice(0)) server.close();
  });

  async function connected(): Promise<[Socket, Socket]> {
    const server = createServer().listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const client = connect((server.address() as { port: number }).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    return [client, socket];
  }

  test.each([
    ['a deadline', systemClock.setTimeout],
    ['a tick', systemClock.setInterval],
  ])('data that arrived in time is read before %s fires', async (_what, schedule) => {
    const [client, socket] = await connected();
    const order: string[] = [];
    const bothHappened = new Promise<void>((resolve) => {
      const note = (what: string) => {
        order.push(what);
        if (order.length === 2) resolve();
      };
      socket.once('data', () => note('read'));
      timers.push(schedule(() => note('judged'), 50));
    });
    client.write('in time');
    standStill(1_100);
    await bothHappened;
    expect(order[0]).toBe('read');
    client.destroy();
  });

  test('a deadline that is cancelled before its turn does not fire', async () => {
    const [client, socket] = await connected();
    const schedule = systemClock.setTimeout;
    const fired: string[] = [];
    const deadline = schedule(() => fired.push('judged'), 50);
    socket.once('data', () => deadline.cancel());
    client.write('in time');
    standStill(1_100);
    // A timer with a later deadline fires after all earlier timers.
    await new Promise<void>((resolve) => timers.push(schedule(resolve, 50)));
    expect(fired).toEqual([]);
    client.destroy();
  });
});

test.each([
  ['a deadline', systemClock.setTimeout],
  ['a tick', systemClock.setInterval],
])('%s beyond the longest timer of Node is not due at once', (_what, schedule) => {
  vi.useFakeTimers();
  try {
    const fired = vi.fn();
    schedule(fired, 2 ** 31 * 1_000);
    vi.advanceTimersByTime(1_000);
    expect(fired).not.toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});
