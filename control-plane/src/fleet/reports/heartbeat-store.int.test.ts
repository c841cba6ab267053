import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addHost, createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';
import { writeHeartbeatBatch } from './heartbeat-store.ts';

const HOSTS = 100;
const HEARTBEATS = 60;

describeDatabases('heartbeats', ({ fresh, dialect }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await fresh());
  });
  afterAll(() => app.close());

  test.runIf(dialect === 'postgres')('do not let the table of hosts grow with each', async () => {
    const { database } = app.plane.platform;
    const ids: string[] = [];
    for (let n = 0; n < HOSTS; n += 1) ids.push(await addHost(app, `host-${n}`));
    // The reported texts of a host fill a good part of a database page.
    await database.db
      .updateTable('hosts')
      .set({ readiness: JSON.stringify(ids.slice(0, 40)) })
      .execute();
    await sql`vacuum full hosts`.execute(database.db);
    const bytes = async () =>
      Number(
        (await sql<{ bytes: number }>`select pg_relation_size('hosts') as bytes`.execute(database.db)).rows[0]
          ?.bytes,
      );
    const before = await bytes();
    for (let at = 1; at <= HEARTBEATS; at += 1)
      await app.plane.platform.writeBatch.run({ hosts: ids }, (tx) =>
        writeHeartbeatBatch(
          tx,
          ids.map((hostId) => ({ hostId, heartbeatAt: at, report: null })),
          [],
        ),
      );
    // At most twice the size, or more while another transaction (such as an analyze) needs old row versions. Without
    // free space in the pages every heartbeat adds a row version: 61 times the size.
    expect((await bytes()) / before).toBeLessThanOrEqual(HEARTBEATS / 2);
  });
});
