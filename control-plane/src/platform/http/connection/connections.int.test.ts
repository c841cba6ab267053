import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { FakeAgent } from '@footlight/test-harness';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../../testing/index.ts';
import type { Addresses } from './listeners.ts';

const ENROLLMENT = 'a-fixed-enrollment-token';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'footlight-connections-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A service on both listeners. */
async function serve(name: string, env: Record<string, string>): Promise<[TestApp, Addresses]> {
  const app = await createTestApp(
    { dialect: 'sqlite', file: join(folder, `${name}.db`) },
    {
      env: { SERVICE_TLS: 'auto', SERVICE_ENROLLMENT_TOKEN: ENROLLMENT, ...env },
      overrides: { clock: systemClock },
    },
  );
  return [app, await app.plane.listen()];
}

const portOf = (url: string | null): number => Number(new URL(url ?? '').port);

/**
 * Connects and requests /health. @returns the socket, and whether there was an answer; false: the connection was closed
 * without one
 */
async function ask(port: number, localAddress = '127.0.0.1'): Promise<[Socket, boolean]> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  const answered = await new Promise<boolean>((resolve) => {
    socket.once('data', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
  });
  return [socket, answered];
}

describe('connections of one address are capped', () => {
  let app: TestApp;
  let addresses: Addresses;
  const held: Socket[] = [];
  const hold = async (count: number, port: number, from?: string): Promise<boolean[]> => {
    const answers = [];
    for (let n = 0; n < count; n += 1) {
      const [socket, answered] = await ask(port, from);
      held.push(socket);
      answers.push(answered);
    }
    return answers;
  };
  beforeAll(async () => {
    [app, addresses] = await serve('capped', {
      SERVICE_CONNECTIONS_PER_ADDRESS: '5',
      SERVICE_TRUSTED_PROXIES: '127.0.0.9',
    });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    const closed = held.splice(0).map((socket) => {
      if (socket.destroyed) return Promise.resolve();
      const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.destroy();
      return gone;
    });
    await Promise.all(closed);
    // Poll, because the service sees the closed connection a moment later.
    await expect
      .poll(async () => {
        const [socket, answered] = await ask(portOf(addresses.http));
        socket.destroy();
        return answered;
      })
      .toBe(true);
  });

  test('the one over the cap is closed unread, and another address is served', async () => {
    const port = portOf(addresses.http);
    await expect.poll(async () => (await hold(1, port))[0]).toBe(true);
    const more = await hold(10, port);
    expect(more.filter(Boolean).length).toBeLessThanOrEqual(4);
    expect(more.slice(4).some(Boolean)).toBe(false);
    expect(await hold(5, port, '127.0.0.2')).toEqual([true, true, true, true, true]);
    expect(await hold(1, port, '127.0.0.2')).toEqual([false]);
  });

  test('both listeners count together, unfinished handshakes included', async () => {
    const tls = portOf(addresses.https);
    for (let n = 0; n < 5; n += 1) {
      const socket = connect({ host: '127.0.0.1', port: tls, localAddress: '127.0.0.3' });
      held.push(socket);
      await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    }
    expect(await hold(1, portOf(addresses.http), '127.0.0.3')).toEqual([false]);
    held.at(0)?.destroy();
    await expect.poll(async () => (await hold(1, portOf(addresses.http), '127.0.0.3'))[0]).toBe(true);
  });

  test('a trusted proxy has as many as it needs', async () => {
    const answers = await hold(20, portOf(addresses.http), '127.0.0.9');
    expect(answers.every(Boolean)).toBe(true);
  });

  test('the socket of an agent counts', async () => {
    const agent = new FakeAgent({
      url: addresses.http,
      nodeName: 'hosta',
      credential: { token: ENROLLMENT },
      heartbeatMs: 0,
    });
    await agent.connect();
    const answers = await hold(8, portOf(addresses.http));
    expect(answers.filter(Boolean).length).toBeLessThanOrEqual(4);
    await agent.heard();
    await agent.drop();
  });
});

test('0 lifts the cap', async () => {
  const [app, addresses] = await serve('lifted', { SERVICE_CONNECTIONS_PER_ADDRESS: '0' });
  const sockets = [];
  for (let n = 0; n < 50; n += 1) sockets.push(await ask(portOf(addresses.http)));
  expect(sockets.every(([, answered]) => answered)).toBe(true);
  for (const [socket] of sockets) socket.destroy();
  await app.close();
});
