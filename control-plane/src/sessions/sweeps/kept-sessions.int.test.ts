import { DAY_MS, SECOND_MS } from '@footlight/platform';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addHost, addSession, createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';
import { KEPT_SESSIONS_SWEEP } from './kept-sessions.ts';

const LOG = 'x'.repeat(64 * 1024);
/** More rows than one transaction of the sweep deletes. */
const WITH_LOG = 620;
const LAUNCHED = 10_620;
const ROWS_AT_ONCE = 400;

describeDatabases('ended sessions of a person', (databases) => {
  let app: TestApp;
  let facts: { appId: string; hostId: string; state: 'failed' };
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Talkative' } });
    facts = { appId: made.body.app.id, hostId: await addHost(app, 'hosta'), state: 'failed' };
  });
  afterAll(() => app.close());

  const sweep = () => app.plane.platform.leader.runNow(KEPT_SESSIONS_SWEEP);
  const rowsOf = (userId: string) =>
    app.plane.platform.database.db
      .selectFrom('sessions')
      .select(['created_at', 'state', 'app_log_tail'])
      .where('user_id', '=', userId)
      .execute();

  test('keep the logs of the newest hundred, whatever that person launches', async () => {
    const { database } = app.plane.platform;
    await database.transaction(async (tx) => {
      const add = (userId: string, ageDays: number) => {
        const at = app.clock.nowMs() - ageDays * DAY_MS;
        return addSession(app, { ...facts, userId, createdAtMs: at, endedAtMs: at }, tx);
      };
      for (let n = 0; n < WITH_LOG; n += 1) await add(app.people.alice.id, n);
      for (let n = 0; n < 3; n += 1) await add(app.people.bob.id, 900 + n);
    });
    await database.db.updateTable('sessions').set({ app_log_tail: LOG }).execute();
    await sweep();
    const kept = (await rowsOf(app.people.alice.id)).filter(({ app_log_tail }) => app_log_tail !== null);
    expect(kept).toHaveLength(100);
    expect(Math.min(...kept.map(({ created_at }) => created_at))).toBe(app.clock.nowMs() - 99 * DAY_MS);
    const bobs = await rowsOf(app.people.bob.id);
    expect(bobs.filter(({ app_log_tail }) => app_log_tail !== null)).toHaveLength(3);
  });

  test('are ten thousand at most; live ones stay', async () => {
    const { database, random } = app.plane.platform;
    const userId = app.people.bob.id;
    const nowMs = app.clock.nowMs();
    const id = await addSession(app, { ...facts, userId, createdAtMs: nowMs, endedAtMs: nowMs });
    const row = await database.db
      .selectFrom('sessions')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    for (let from = 1; from < LAUNCHED; from += ROWS_AT_ONCE) {
      const rows = Array.from({ length: Math.min(ROWS_AT_ONCE, LAUNCHED - from) }, (_, n) => {
        const at = nowMs - (from + n) * SECOND_MS;
        // The oldest session is still running.
        const state = from + n === LAUNCHED - 1 ? ('running' as const) : row.state;
        return { ...row, id: random.uuid(), state, created_at: at, ended_at: at };
      });
      await database.db.insertInto('sessions').values(rows).execute();
    }
    await sweep();
    const kept = await rowsOf(userId);
    expect(kept).toHaveLength(10_001);
    expect(kept.filter(({ state }) => state === 'running')).toHaveLength(1);
    const ended = kept.filter(({ state }) => state !== 'running').map(({ created_at }) => created_at);
    expect(Math.min(...ended)).toBe(nowMs - 9_999 * SECOND_MS);
    expect(await rowsOf(app.people.alice.id)).toHaveLength(WITH_LOG);
  }, 60_000);
});
