import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@footlight/platform';
import { FakeAgent, startPostgres, startPostgresPair, TcpRelay } from '@footlight/test-harness';
import BetterSqlite3 from 'better-sqlite3';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, createTestApp, describeDatabases, type TestApp } from '../../../testing/index.ts';
import { isUnavailable } from '../index.ts';

const ENROLLMENT = 'a-fixed-enrollment-token';
const LONG = process.env.FOOTLIGHT_LONG === '1';
const PATIENTLY = { timeout: 15_000 };

/** A database that fails and is later started again at the same address with all committed data. */
interface ServerThatGoes {
  readonly url: string;
  goes(): Promise<void>;
  comesBack(): Promise<void>;
  stop(): Promise<void>;
}

async function crashingServer(): Promise<ServerThatGoes> {
  const server = await startPostgres({ keepsCommits: true });
  const { url } = await server.createDatabase();
  return { url, goes: server.crash, comesBack: server.start, stop: server.stop };
}

async function replacedServer(): Promise<ServerThatGoes> {
  const { primary, standby } = await startPostgresPair();
  const { url } = await primary.createDatabase();
  const relay = await TcpRelay.to(new URL(url));
  const relayed = new URL(url);
  relayed.port = String(relay.port);
  return {
    url: relayed.href,
    goes: primary.crash,
    async comesBack() {
      await standby.takeOver();
      relay.targets = [new URL(standby.url)];
    },
    async stop() {
      relay.close();
      await Promise.all([primary.stop(), standby.stop()]);
    },
  };
}

describeDatabases('a database that fails', (databases) => {
  if (databases.dialect === 'sqlite') {
    describe('locked by another process', () => {
      let folder: string;
      let app: TestApp;
      beforeEach(async () => {
        folder = mkdtempSync(join(tmpdir(), 'footlight-locked-'));
        app = await createTestApp(
          { dialect: 'sqlite', file: join(folder, 'control.db') },
          { env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT } },
        );
      });
      afterEach(async () => {
        await app.close();
        rmSync(folder, { recursive: true, force: true });
      });

      test('reads and heartbeats are answered, a write is 503 with Retry-After after five seconds, and nothing is half written', async () => {
        const { admin, alice } = app.people;
        const { http: url } = await app.plane.listen();
        const credential = { token: ENROLLMENT };
        const agent = new FakeAgent({ url, nodeName: 'hosta', credential, heartbeatMs: 0 });
        await agent.connect();
        const other = new BetterSqlite3(join(folder, 'control.db'));
        other.exec('begin exclusive');
        const startedMs = performance.now();
        const order: string[] = [];
        const write = app.call(admin, 'POST', '/v1/apps', { body: { name: 'Locked out' } });
        void write.then(() => order.push('write'));
        expect((await app.call(alice, 'GET', '/v1/apps')).status).toBe(200);
        expect((await app.call(null, 'GET', '/health')).status).toBe(200);
        await agent.heard();
        order.push('reads');
        const answer = await write;
        expect(order).toEqual(['reads', 'write']);
        // The agent's reports wait for the database, and the link stays open.
        expect(agent.isOpen).toBe(true);
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
        await agent.drop();
      });
    });

    describe('on a full disk', () => {
      test('new writes are refused, reads and what frees resources go on, and it recovers', async () => {
        const app = await createTestApp(await databases.fresh(), { overrides: { clock: systemClock } });
        const { admin, alice } = app.people;
        const { db } = app.plane.platform.database;
        const create = (description: string) =>
          app.call(admin, 'POST', '/v1/apps', { body: { name: 'Full', description } });
        // A database file that must not grow gives the same errors as a full disk.
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
    let relay: TcpRelay;
    let app: TestApp;
    beforeAll(async () => {
      const target = await databases.fresh();
      if (target.dialect !== 'postgres') throw new Error('this suite is about Postgres');
      const url = new URL(target.url);
      relay = await TcpRelay.to(url);
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

    test('half-open: /health says so, the pool is not drained, and it recovers', async () => {
      relay.mode = 'stall';
      for (let round = 0; round < 3; round += 1) {
        const health = await app.call(null, 'GET', '/health');
        expect([health.status, health.body]).toEqual([503, { status: 'degraded', db: 'error' }]);
      }
      relay.mode = 'pass';
      relay.cut();
      await expect.poll(async () => (await app.call(null, 'GET', '/health')).status).toBe(200);
    });

    test('slow by 5 s: /health says so before, the pool is not drained, and it recovers by itself', async () => {
      relay.delayMs = 5_000;
      let answered = 0;
      const slow = Array.from({ length: 30 }, () =>
        app.call(app.people.alice, 'GET', '/v1/apps').finally(() => {
          answered += 1;
        }),
      );
      expect((await app.call(null, 'GET', '/health')).body).toEqual({ status: 'degraded', db: 'error' });
      expect(answered).toBe(0);
      relay.delayMs = 0;
      for (const { status, headers } of await Promise.all(slow))
        expect([status, headers['retry-after']]).toEqual(status === 200 ? [200, undefined] : [503, '1']);
      expect((await app.call(null, 'GET', '/health')).status).toBe(200);
      const after = await Promise.all(
        Array.from({ length: 30 }, () => app.call(app.people.alice, 'GET', '/v1/apps')),
      );
      expect(after.map(({ status }) => status)).toEqual(after.map(() => 200));
    });

    test.runIf(LONG)(
      'half-open for good: callers that wait get an error, and the pool fills up again by itself',
      async () => {
        relay.loseConnections();
        const calls = Array.from({ length: 30 }, () => app.call(app.people.alice, 'GET', '/v1/apps'));
        for (const { status, headers } of await Promise.all(calls))
          expect([status, headers['retry-after']]).toEqual(status === 200 ? [200, undefined] : [503, '1']);
        await expect.poll(async () => (await app.call(null, 'GET', '/health')).status).toBe(200);
        expect((await app.call(app.people.alice, 'GET', '/v1/apps')).status).toBe(200);
      },
    );

    test('a statement that does not end is ended, and its caller is told to retry', async () => {
      const { database } = app.plane.platform;
      const { rows } = await sql`select current_setting('statement_timeout') as limit_of_one`.execute(
        database.db,
      );
      expect(rows).toEqual([{ limit_of_one: '10s' }]);
      await expect(
        database.transaction(async (tx) => {
          await sql`set local statement_timeout = 100`.execute(tx);
          await sql`select pg_sleep(60)`.execute(tx);
        }),
      ).rejects.toSatisfy(isUnavailable);
      expect((await app.call(null, 'GET', '/health')).status).toBe(200);
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

  describe.each([
    ['that crashes and comes back', crashingServer],
    ['that is lost, and whose follower takes over', replacedServer],
  ])('%s while it is used', (_what, startServer) => {
    let server: ServerThatGoes;
    let app: TestApp;
    let agent: FakeAgent;
    beforeAll(async () => {
      server = await startServer();
      app = await createTestApp(
        { dialect: 'postgres', url: server.url },
        { env: { SERVICE_ENROLLMENT_TOKEN: ENROLLMENT }, overrides: { clock: systemClock } },
      );
      const { http } = await app.plane.listen();
      agent = new FakeAgent({ url: http, nodeName: 'hosta', credential: { token: ENROLLMENT } });
      await agent.connect();
    });
    afterAll(async () => {
      await agent.drop();
      await app.close();
      await server.stop();
    });

    test('every answer is the right one or 503, nothing acknowledged is lost, and links and reports outlast it', async () => {
      const { admin, alice } = app.people;
      const acknowledged: string[] = [];
      const odd: unknown[] = [];
      let refused = 0;
      let over = false;
      const note = ({ status, headers, text }: Answer, wanted: number): boolean => {
        if (status === 503 && headers['retry-after'] === '1') refused += 1;
        else if (status !== wanted) odd.push([status, headers, text]);
        return status === wanted;
      };
      const reader = async () => {
        while (!over) note(await app.call(alice, 'GET', '/v1/apps'), 200);
      };
      const writer = async (_: unknown, index: number) => {
        for (let n = 0; !over; n += 1) {
          const name = `App ${index}-${n}`;
          if (note(await app.call(admin, 'POST', '/v1/apps', { body: { name } }), 201))
            acknowledged.push(name);
        }
      };
      const load = [...Array.from({ length: 4 }, reader), ...Array.from({ length: 4 }, writer)];
      try {
        await expect.poll(() => acknowledged.length, PATIENTLY).toBeGreaterThan(20);
        await server.goes();
        agent.reportState(app.plane.platform.random.uuid(), 'running');
        await expect.poll(() => refused, PATIENTLY).toBeGreaterThan(0);
        expect((await app.call(null, 'GET', '/health')).body).toEqual({ status: 'degraded', db: 'error' });
        await server.comesBack();
        await expect.poll(async () => (await app.call(null, 'GET', '/health')).status, PATIENTLY).toBe(200);
        const before = acknowledged.length;
        await expect.poll(() => acknowledged.length, PATIENTLY).toBeGreaterThan(before + 20);
      } finally {
        over = true;
        await Promise.all(load);
      }
      expect(odd).toEqual([]);
      const kept = await app.plane.platform.database.db.selectFrom('apps').select('name').execute();
      expect(kept.map(({ name }) => name)).toEqual(expect.arrayContaining(acknowledged));
      // The report that arrived meanwhile has waited for the database and is stored now.
      await expect.poll(() => agent.unseen, PATIENTLY).toBe(0);
      expect(app.log.filter((line) => line.includes('agent.report_failed'))).toEqual([]);
      expect(agent.isOpen).toBe(true);
    });
  });
});
