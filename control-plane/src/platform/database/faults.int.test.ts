import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';
import { systemClock } from '../clock.ts';

/** Stands between the service and its Postgres and misbehaves on request. */
class Relay {
  mode: 'pass' | 'stall' | 'refuse' = 'pass';
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(target: URL): Promise<Relay> {
    const relay = new Relay(createServer());
    relay.#server.on('connection', (near) => relay.#join(near, target));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks every connection there is. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: Socket, target: URL): void {
    if (this.mode === 'refuse') {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => {
        if (this.mode !== 'stall') to.write(chunk);
      });
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}

describeDatabases('a database that fails', (databases) => {
  if (databases.dialect === 'sqlite') {
    describe('locked by another process', () => {
      let folder: string;
      let app: TestApp;
      beforeEach(async () => {
        folder = mkdtempSync(join(tmpdir(), 'footlight-locked-'));
        app = await createTestApp({ dialect: 'sqlite', file: join(folder, 'control.db') });
      });
      afterEach(async () => {
        await app.close();
        rmSync(folder, { recursive: true, force: true });
      });

      test('reads answer, a write is 503 with Retry-After after five seconds, and nothing is half written', async () => {
        const { admin, alice } = app.people;
        const other = new BetterSqlite3(join(folder, 'control.db'));
        other.exec('begin exclusive');
        const startedMs = performance.now();
        const write = app.call(admin, 'POST', '/v1/apps', { body: { name: 'Locked out' } });
        // SQLite's one blocking wait is over by then.
        await new Promise((resolve) => setTimeout(resolve, 400));
        const askedMs = performance.now();
        expect((await app.call(alice, 'GET', '/v1/apps')).status).toBe(200);
        expect((await app.call(null, 'GET', '/health')).status).toBe(200);
        expect(performance.now() - askedMs).toBeLessThan(1_000);
        const answer = await write;
        expect([answer.status, answer.body.error.code, answer.headers['retry-after']]).toEqual([
          503,
          'internal',
          '1',
        ]);
        expect(performance.now() - startedMs).toBeGreaterThan(4_900);
        other.exec('rollback');
        other.close();
        expect((await app.call(admin, 'GET', '/v1/admin/apps')).body.items).toEqual([]);
        expect((await app.call(admin, 'POST', '/v1/apps', { body: { name: 'In' } })).status).toBe(201);
      });
    });

    describe('on a full disk', () => {
      test('new writes are refused, reads and what frees resources go on, and it recovers', async () => {
        const app = await createTestApp(await databases.fresh(), { overrides: { clock: systemClock } });
        const { admin, alice } = app.people;
        const { db } = app.plane.platform.database;
        const create = (description: string) =>
          app.call(admin, 'POST', '/v1/apps', { body: { name: 'Full', description } });
        // A file that may not grow answers exactly as a full disk does.
        const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db);
        await sql.raw(`pragma max_page_count = ${rows[0]?.page_count}`).execute(db);
        const met = await create('x'.repeat(200_000));
        expect([met.status, met.body.error.code]).toEqual([503, 'internal']);
        const refused = await create('');
        expect([refused.status, refused.headers['retry-after']]).toEqual([503, '30']);
        expect((await app.call(alice, 'GET', '/v1/apps')).status).toBe(200);
        expect(
          (await app.call(admin, 'DELETE', `/v1/sessions/${app.plane.platform.random.uuid()}`)).status,
        ).toBe(404);
        expect((await app.call(alice, 'POST', '/v1/auth/logout')).status).toBe(204);
        await app.close();
      });
    });
    return;
  }

  describe('behind a broken network', () => {
    let relay: Relay;
    let app: TestApp;
    beforeAll(async () => {
      const target = await databases.fresh();
      if (target.dialect !== 'postgres') throw new Error('this suite is about Postgres');
      const url = new URL(target.url);
      relay = await Relay.to(url);
      const relayed = new URL(url);
      relayed.port = String(relay.port);
      app = await createTestApp(
        { dialect: 'postgres', url: relayed.href },
        { overrides: { clock: systemClock } },
      );
    });
    afterAll(async () => {
      relay.mode = 'pass';
      await app.close();
      relay.close();
    });

    test('refused: 503 until it is back, by the same process', async () => {
      relay.mode = 'refuse';
      relay.cut();
      const answer = await app.call(app.people.alice, 'GET', '/v1/apps');
      expect([answer.status, answer.body.error.code, answer.headers['retry-after']]).toEqual([
        503,
        'internal',
        '1',
      ]);
      expect((await app.call(null, 'GET', '/health')).status).toBe(503);
      relay.mode = 'pass';
      await expect.poll(async () => (await app.call(null, 'GET', '/health')).status).toBe(200);
      expect((await app.call(app.people.alice, 'GET', '/v1/apps')).status).toBe(200);
    });

    test('half-open: /health says so within its second, the pool is not drained, and it recovers', async () => {
      relay.mode = 'stall';
      for (let round = 0; round < 3; round += 1) {
        const askedMs = performance.now();
        const health = await app.call(null, 'GET', '/health');
        expect([health.status, health.body]).toEqual([503, { status: 'degraded', db: 'error' }]);
        expect(performance.now() - askedMs).toBeLessThan(1_500);
      }
      relay.mode = 'pass';
      relay.cut();
      await expect
        .poll(async () => (await app.call(null, 'GET', '/health')).status, { timeout: 15_000 })
        .toBe(200);
    });

    test('a connection that breaks inside a transaction leaves nothing of it', async () => {
      const { database } = app.plane.platform;
      await expect(
        database.transaction(async (tx) => {
          await tx.updateTable('catalog_version').set({ version: 999 }).where('id', '=', 1).execute();
          relay.cut();
          await tx.updateTable('catalog_version').set({ version: 1_000 }).where('id', '=', 1).execute();
        }),
      ).rejects.toThrow();
      const row = await database.db.selectFrom('catalog_version').selectAll().executeTakeFirst();
      expect(row?.version).toBeLessThan(999);
    });
  });
});
