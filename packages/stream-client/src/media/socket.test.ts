import { afterEach, expect, test, vi } from 'vitest';
import { browserEnvironment } from '../environment.ts';
import { SignalingSocket } from './socket.ts';

afterEach(() => vi.unstubAllGlobals());

test.each([
  ['open already', 1],
  ['still being dialled', 0],
])('a socket that was dialled earlier and is %s reports open once', async (_what, readyState) => {
  vi.stubGlobal('WebSocket', { OPEN: 1 });
  const dialled = { readyState, onopen: () => {}, close: () => {} };
  let opened = 0;
  const socket = new SignalingSocket(
    { ...browserEnvironment(), createWebSocket: () => dialled as unknown as WebSocket },
    { onOpen: () => opened++, onMessage: () => {}, onClose: () => {} },
  );
  socket.open('wss://a');
  // The event is not sent from within open(), because the caller is not ready for events yet.
  expect(opened).toBe(0);
  await Promise.resolve();
  if (readyState === 0) dialled.onopen();
  expect(opened).toBe(1);
});
