import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { dialEarly, takeSocket } from './early-socket.ts';

class FakeSocket {
  static readonly OPEN = 1;
  readyState = 0;
  constructor(readonly url: string) {
    dialled.push(this);
  }
  close() {
    this.readyState = 3;
  }
}
let dialled: FakeSocket[];

beforeEach(() => {
  dialled = [];
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a socket that was opened early is taken once', () => {
  dialEarly('wss://a');
  const [early] = dialled;
  expect(takeSocket('wss://a')).toBe(early);
  vi.runAllTimers();
  expect(early?.readyState).toBe(0);
  expect(takeSocket('wss://a')).not.toBe(early);
});

test('for another URL, or after a failure, a new socket is opened', () => {
  dialEarly('wss://a');
  expect(takeSocket('wss://b')).toMatchObject({ url: 'wss://b' });
  dialled[0]?.close();
  expect(takeSocket('wss://a')).not.toBe(dialled[0]);
});

test('at most one socket is kept, and an unused one is closed', () => {
  dialEarly('wss://a');
  dialEarly('wss://b');
  expect(dialled.map(({ readyState }) => readyState)).toEqual([3, 0]);
  vi.runAllTimers();
  expect(dialled.map(({ readyState }) => readyState)).toEqual([3, 3]);
});
