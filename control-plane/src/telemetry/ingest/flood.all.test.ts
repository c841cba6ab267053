import { afterAll, beforeAll, expect, test } from 'vitest';
import { addSession, createTestApp, describeSqlite, type TestApp } from '../../testing/index.ts';

const POSTS = 10_000;
const AT_ONCE = 50;
const MIB = 1024 * 1024;

describeSqlite('a viewer that floods', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
  });
  afterAll(() => app.close());

  test('with 10,000 posts of samples and events of all times leaves bounded rows and takes bounded memory', async () => {
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Demo' } });
    const { alice } = app.people;
    const id = await addSession(app, { appId: made.body.app.id, userId: alice.id, state: 'pending' });
    const statuses: Record<number, number> = {};
    let sent = 0;

    async function post(): Promise<void> {
      sent += 1;
      const n = sent;
      const ts = (k: number) => [app.clock.nowMs() - n * 64 - k, k, -k, 1e15 + k][k % 4] as number;
      const items = Array.from({ length: 64 }, (_, k) => ({
        ts_unix_ms: ts(k),
        metrics: { fps: k, [`key_${n}_${k}`]: k },
        type: 'client.freeze_detected',
        payload: { text: 'x'.repeat(200) },
      }));
      const [what, body] = n % 2 === 0 ? ['stats', { samples: items }] : ['trace/events', { events: items }];
      const { status } = await app.call(alice, 'POST', `/v1/sessions/${id}/${what}`, { body });
      statuses[status] = (statuses[status] ?? 0) + 1;
    }

    let warm = 0;
    for (let round = 0; round < POSTS / AT_ONCE; round += 1) {
      await Promise.all(Array.from({ length: AT_ONCE }, post));
      await app.clock.pass(1_000);
      await app.plane.platform.periodicWriter.flush();
      if (round === POSTS / AT_ONCE / 5) warm = process.memoryUsage().rss;
    }
    expect(process.memoryUsage().rss - warm).toBeLessThan(128 * MIB);

    // Each of the two routes accepts a burst of 10 posts, and then one post every two seconds.
    expect(statuses[202]).toBeLessThanOrEqual(2 * (10 + POSTS / AT_ONCE / 2));
    expect(Object.keys(statuses).sort()).toEqual(['202', '429']);
    const { db } = app.plane.platform.database;
    const rows = (table: 'session_samples' | 'session_trace_events' | 'session_rejected_times') =>
      db.selectFrom(table).select('session_id').execute();
    expect((await rows('session_samples')).length).toBeLessThanOrEqual(4_096 + 512);
    expect((await rows('session_trace_events')).length).toBeLessThanOrEqual(1_000 + 128);
    expect((await rows('session_rejected_times')).length).toBeLessThanOrEqual(6);
  });
});
