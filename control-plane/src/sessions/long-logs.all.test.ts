import type { Session } from '@footlight/protocol/rest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  type Person,
  type TestApp,
} from '../testing/index.ts';

/** The longest log that a host may report of a session. */
const LOG = 'x'.repeat(64 * 1024);
const SESSIONS = 100;
/** 2 MiB of logs, plus the other fields of the records. */
const LONGEST_ANSWER = 2.5 * 1024 * 1024;

describeDatabases('lists of sessions whose apps wrote much', (databases) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Talkative' } });
    const facts = {
      appId: made.body.app.id as string,
      userId: app.people.alice.id,
      hostId: await addHost(app, 'hosta'),
      state: 'failed' as const,
    };
    const { database } = app.plane.platform;
    await database.transaction(async (tx) => {
      for (let n = 0; n < SESSIONS; n += 1) await addSession(app, { ...facts, ageDays: n }, tx);
    });
    await database.db.updateTable('sessions').set({ app_log_tail: LOG }).execute();
  });
  afterAll(() => app.close());

  /** Reads all pages of a list. */
  async function readAll(as: Person, url: string): Promise<{ sessions: Session[]; longest: number }> {
    const sessions: Session[] = [];
    let longest = 0;
    let cursor: string | null = '';
    while (cursor !== null) {
      const answer = await app.call(as, 'GET', cursor === '' ? url : `${url}&cursor=${cursor}`);
      expect(answer.status).toBe(200);
      longest = Math.max(longest, answer.text.length);
      sessions.push(...answer.body.items);
      cursor = answer.body.next_cursor;
    }
    return { sessions, longest };
  }

  test.each([
    ['their owner', 'alice', '/v1/sessions?limit=1000'],
    ['an administrator', 'admin', '/v1/admin/sessions?limit=1000'],
    ['an administrator who searches', 'admin', '/v1/admin/sessions?q=talk&limit=1000'],
  ] as const)('%s gets short pages, and each session once', async (_who, name, url) => {
    const { sessions, longest } = await readAll(app.people[name], url);
    expect(longest).toBeLessThan(LONGEST_ANSWER);
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(SESSIONS);
    const newestFirst = sessions.map(({ created_at }) => created_at);
    expect(newestFirst).toEqual([...newestFirst].sort().reverse());
    expect(sessions.every(({ app_log_tail }) => app_log_tail === LOG)).toBe(true);
  });

  test('a page that has room for them is as long as asked for', async () => {
    const answer = await app.call(app.people.alice, 'GET', '/v1/sessions?limit=20');
    expect(answer.body.items).toHaveLength(20);
  });
});
