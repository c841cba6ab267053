// @vitest-environment happy-dom

import { ManualClock, TEST_EPOCH_MS } from '@footlight/platform/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { readToken, saveLogin } from './api/auth-store.ts';
import { clock, runIn } from './clock.ts';
import { dialEarly } from './launch/early-socket.ts';

const user = { id: '1', email: 'a@example.net', username: 'alice', role: 'user' } as const;

let leave = () => {};
afterEach(() => leave());

describe('the page runs on another clock', () => {
  test('a login expires by that clock', () => {
    const time = new ManualClock();
    leave = runIn(time);
    saveLogin({ access_token: 'token', expires_at: new Date(TEST_EPOCH_MS + 60_000).toISOString(), user });
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
    const time = new ManualClock();
    leave = runIn(time);
    dialEarly('wss://early');
    time.advance(3_999);
    expect(closed).toEqual([]);
    time.advance(1);
    expect(closed).toEqual(['wss://early']);
    globalThis.WebSocket = real;
  });

  test("the browser's time is back afterwards", () => {
    runIn(new ManualClock())();
    const before = Date.now();
    const now = clock.nowMs();
    expect([before <= now, now <= Date.now()]).toEqual([true, true]);
  });
});
