import { HOUR_MS } from '@footlight/platform';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { addSession, createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';

const SESSIONS = 2_000;
const AT_ONCE = 20;

describeDatabases('highlights of a person with thousands of sessions', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Played' } });
    const at = app.clock.nowMs();
    const session = {
      appId: made.body.app.id as string,
      userId: app.people.alice.id,
      state: 'stopped' as const,
      createdAtMs: at - HOUR_MS,
      startedAtMs: at - HOUR_MS,
      endedAtMs: at - HOUR_MS + 1_000,
    };
    await app.plane.platform.database.transaction(async (tx) => {
      for (let n = 0; n < SESSIONS; n += 1) await addSession(app, session, tx);
    });
  });
  afterAll(() => app.close());

  const highlights = () => app.call(app.people.alice, 'GET', '/v1/me/highlights');

  test('are read as one row for each app', async () => {
    let rows = 0;
    const executor = app.plane.platform.database.db.getExecutor();
    const execute = executor.executeQuery.bind(executor);
    const spy = vi.spyOn(executor, 'executeQuery').mockImplementation(async (...call) => {
      const result = await execute(...call);
      rows += result.rows.length;
      return result as never;
    });
    const { body } = await highlights();
    spy.mockRestore();
    expect(body.items).toMatchObject([{ reason: 'most_played', play_seconds: SESSIONS }]);
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThan(20);
  });

  test('let other requests run between two of them', async () => {
    let turns = 0;
    let answered = 0;
    const all = Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const { status } = await highlights();
        if (answered === 0) turns = 0;
        answered += 1;
        return status;
      }),
    );
    while (answered < AT_ONCE) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    expect(await all).toEqual(Array.from({ length: AT_ONCE }, () => 200));
    expect(turns).toBeGreaterThanOrEqual(AT_ONCE - 1);
  });
});
