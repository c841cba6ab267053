import { describe, expect, test } from 'vitest';
import { Reachability } from './reachability.ts';

/** A fake browser: the test answers its sockets and runs its timers. */
function world() {
  const sockets: { url: string; onopen?: () => void; onclose?: () => void; closed: boolean }[] = [];
  const timers: { work: () => void; atMs: number }[] = [];
  const told: boolean[] = [];
  let nowMs = 0;
  const reachability = new Reachability(
    {
      setTimeout: (work, ms) => {
        const timer = { work, atMs: nowMs + ms };
        timers.push(timer);
        return { cancel: () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1)) };
      },
      createWebSocket(url) {
        const socket = {
          url,
          closed: false,
          close() {
            socket.closed = true;
          },
        };
        sockets.push(socket);
        return socket as unknown as WebSocket;
      },
    },
    (reachable) => told.push(reachable),
  );
  /** Advances the time; timers that are due run in order. */
  const pass = (ms: number) => {
    const untilMs = nowMs + ms;
    for (;;) {
      const [next] = timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      timers.splice(timers.indexOf(next), 1);
      nowMs = next.atMs;
      next.work();
    }
    nowMs = untilMs;
  };
  return { reachability, sockets, timers, told, pass, newest: () => sockets.at(-1) };
}

const URL = 'wss://host/v1/signal?token=secret';

describe('the question whether the service answers', () => {
  test('opens a socket without a token, and a refusal counts as an answer', () => {
    const { reachability, sockets, told, pass, newest } = world();
    reachability.start(URL);
    expect(newest()?.url).toBe('wss://host/v1/signal');
    newest()?.onclose?.();
    expect(told).toEqual([]);
    pass(4_999);
    expect(sockets).toHaveLength(1);
    pass(1);
    expect(sockets).toHaveLength(2);
  });

  test('without an answer for four seconds is reported once, and repeated at once with another socket', () => {
    const { reachability, sockets, told, pass, newest } = world();
    reachability.start(URL);
    pass(20_000);
    expect(told).toEqual([false]);
    expect(sockets).toHaveLength(6);
    expect(sockets.filter(({ closed }) => !closed)).toHaveLength(1);
    newest()?.onopen?.();
    expect(told).toEqual([false, true]);
  });

  test('is asked less often after 48 seconds, because failed sockets delay the next one', () => {
    const { reachability, sockets, pass } = world();
    reachability.start(URL);
    pass(47_999);
    expect(sockets).toHaveLength(12);
    pass(120_000);
    expect(sockets).toHaveLength(22);
  });

  test('is paused for an attempt, and asked again when that takes long', () => {
    const { reachability, sockets, pass, told } = world();
    reachability.giveWay();
    expect(sockets).toEqual([]);
    reachability.start(URL);
    pass(1_000);
    reachability.giveWay();
    expect(sockets[0]?.closed).toBe(true);
    pass(4_999);
    expect(sockets).toHaveLength(1);
    pass(1);
    expect([sockets.length, told]).toEqual([2, []]);
  });

  test('ends with stop, which frees socket and timer; a late answer has no effect', () => {
    const { reachability, sockets, timers, told, pass } = world();
    reachability.start(URL);
    const [first] = sockets;
    reachability.stop();
    expect(first?.closed).toBe(true);
    expect(timers).toEqual([]);
    first?.onclose?.();
    pass(5_000);
    expect([sockets.length, told]).toEqual([1, []]);
    // A second interruption starts like the first.
    reachability.start(URL);
    pass(4_000);
    expect(told).toEqual([false]);
  });
});
