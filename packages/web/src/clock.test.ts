// @vitest-environment happy-dom

import type { Clock } from '@footlight/platform/timer';
import { afterEach, describe, expect, test } from 'vitest';
import { readToken, saveLogin } from './api/auth-store.ts';
import { clock, runIn } from './clock.ts';
import { dialEarly } from './launch/early-socket.ts';

const START_MS = Date.UTC(2030, 0, 1);
const user = { id: '1', email: 'a@example.net', username: 'alice', role: 'user' } as const;

/** A clock that a test moves; timers fire when it passes them. */
function manualClock(): Clock & { advance(byMs: number): void } {
  let sinceMs = 0;
  const pending = new Map<object, { dueMs: number; work: () => void }>();
  const add = (work: () => void, delayMs: number) => {
    const timer = { cancel: () => void pending.delete(timer) };
    pending.set(timer, { dueMs: sinceMs + delayMs, work });
    return timer;
  };
  return {
    nowMs: () => START_MS + sinceMs,
    monotonicMs: () => sinceMs,
    setTimeout: add,
    setInterval: add,
    advance(byMs) {
      sinceMs += byMs;
      for (const [timer, { dueMs, work }] of pending) {
        if (dueMs > sinceMs) continue;
        pending.delete(timer);
        work();
      }
    },
  };
}

let leave = () => {};
afterEach(() => leave());

describe('the page runs on another clock', () => {
  test('a login expires by that clock', () => {
    const time = manualClock();
    leave = runIn(time);
    saveLogin({ access_token: 'token', expires_at: new Date(START_MS + 60_000).toISOString(), user });
    time.advance(59_999);
    expect(readToken()).toBe('token');
    time.advance(1);
    expect(readToken()).toBeNull();
  });

  test('an early socket that no page takes is closed by that clock', () => {
    const closed: string[] = [];
    const real = globalThis.WebSocket;
    globalThis.WebSocket = class {
      readonly url: string;
      constructor(url: string) {
        this.url = url;
      }
      close() {
        closed.push(this.url);
      }
    } as unknown as typeof WebSocket;
    const time = manualClock();
    leave = runIn(time);
    dialEarly('wss://early');
    time.advance(3_999);
    expect(closed).toEqual([]);
    time.advance(1);
    expect(closed).toEqual(['wss://early']);
    globalThis.WebSocket = real;
  });

  test("the browser's time is back afterwards", () => {
    runIn(manualClock())();
    const before = Date.now();
    const now = clock.nowMs();
    expect([before <= now, now <= Date.now()]).toEqual([true, true]);
  });
});
