import { MINUTE_MS } from '@footlight/platform';
import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { addHost, createTestApp, describeSqlite, type TestApp } from '../testing/index.ts';

describeSqlite('an idle instance on SQLite', ({ fresh }) => {
  let app: TestApp | null = null;
  afterEach(async () => {
    await app?.close();
    app = null;
  });

  /** Rows that the service's only connection has changed since it was opened. */
  async function changedRows({ plane }: TestApp): Promise<number> {
    const { rows } = await sql<{ changed: number }>`select total_changes() as changed`.execute(
      plane.platform.database.db,
    );
    return rows[0]?.changed ?? Number.NaN;
  }

  test('writes nothing for ten minutes, although its background tasks run and keep their leases', async () => {
    // Jobs record their runs. With this interval none becomes due in the ten minutes.
    const key = Buffer.alloc(32, 1).toString('base64');
    app = await createTestApp(await fresh(), {
      env: {
        SERVICE_JOBS_TICK_SECS: '3600',
        SERVICE_SECRET_KEY: key,
        SERVICE_WEBHOOK_URL: 'https://127.0.0.1/',
        SERVICE_WEBHOOK_SECRET: `whsec_${key}`,
      },
    });
    const { clock, plane } = app;
    await addHost(app, 'gpu-01');
    await plane.listen();
    // A task takes its lease at its first run, at the latest after ten minutes. This is stored.
    await clock.pass(11 * MINUTE_MS);
    const before = await changedRows(app);
    const taken = await plane.platform.database.db.selectFrom('leases').select('name').execute();
    expect(taken.length).toBeGreaterThan(7);
    await clock.pass(10 * MINUTE_MS);
    // A lease lasts 30 s, so it was renewed.
    expect(plane.platform.leader.held()).toContain('jobs.dispatch');
    expect(await changedRows(app)).toBe(before);
  });
});
