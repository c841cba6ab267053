import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  addHost,
  addSession,
  createTestApp,
  describeSqlite,
  type Person,
  type TestApp,
} from '../../../testing/index.ts';

/** Sessions with logs of 64 KiB: one answer has 2 MiB. */
const SESSIONS = 33;
/** The kernel buffers the first answers of each connection, and one more waits in the service. */
const CONNECTIONS = 30;
const PIPELINED = 16;

describeSqlite('a client that reads none of its answers', (databases) => {
  let app: TestApp;
  let http: string;
  const opened: Socket[] = [];
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    ({ http } = await app.plane.listen());
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Talkative' } });
    const hostId = await addHost(app, 'hosta');
    for (const { id: userId } of [app.people.alice, app.people.bob])
      for (let n = 0; n < SESSIONS; n += 1)
        await addSession(app, { appId: made.body.app.id, userId, hostId, state: 'failed' });
    const log = 'x'.repeat(64 * 1024);
    await app.plane.platform.database.db.updateTable('sessions').set({ app_log_tail: log }).execute();
  });
  afterAll(async () => {
    for (const socket of opened) socket.destroy();
    await app.close();
  });

  /** Sends many requests on connections that are not read. @returns when the first answer has begun */
  async function askMuch(as: Person): Promise<Socket[]> {
    const request = `GET /v1/sessions?limit=1000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${as.token}\r\n\r\n`;
    const sockets = Array.from({ length: CONNECTIONS }, () =>
      connect(Number(new URL(http).port), '127.0.0.1'),
    );
    opened.push(...sockets);
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(request.repeat(PIPELINED));
    }
    await Promise.race(sockets.map((socket) => once(socket, 'readable')));
    return sockets;
  }

  const list = (as: Person) =>
    fetch(`${http}/v1/sessions?limit=1000`, { headers: { authorization: `Bearer ${as.token}` } });

  test('gets no more of them beyond the limit, and others are not affected', async () => {
    const { alice, bob } = app.people;
    const sockets = await askMuch(alice);
    await expect.poll(async () => (await list(alice)).status).toBe(503);
    const refused = await list(alice);
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
      503,
      '1',
      'close',
    ]);
    expect(await refused.json()).toMatchObject({ error: { code: 'internal' } });
    const answer = await list(bob);
    expect([answer.status, ((await answer.json()) as { items: unknown[] }).items.length > 1]).toEqual([
      200,
      true,
    ]);
    const me = await fetch(`${http}/v1/me`, { headers: { authorization: `Bearer ${alice.token}` } });
    expect(me.status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await list(alice)).status).toBe(200);
  });

  test('keeps none of those that are made after the connection has gone', async () => {
    for (const socket of await askMuch(app.people.bob)) socket.destroy();
    // Lists of one account are read one after another, so this answer follows all others.
    const answer = await list(app.people.bob);
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
    await expect.poll(async () => (await list(app.people.bob)).status).toBe(200);
  });

  test('a person who reads the answers is never refused', async () => {
    for (let n = 0; n < 40; n += 1) {
      const answer = await list(app.people.bob);
      await answer.arrayBuffer();
      expect(answer.status).toBe(200);
    }
  });
});
