import { DAY_MS, HOUR_MS } from '@footlight/platform';
import type { Highlight } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  type Person,
  type SessionColumns,
  type TestApp,
} from '../../testing/index.ts';

describeDatabases('GET /v1/me/highlights', ({ fresh }) => {
  let app: TestApp;
  let person: Person;
  let number = 0;
  /** Six apps that everybody may launch, oldest first. */
  const apps: string[] = [];
  beforeAll(async () => {
    app = await createTestApp(await fresh());
    for (let index = 0; index < 6; index += 1) {
      await app.clock.pass(1_000);
      apps.push(await create());
    }
    app.clock.jump(200 * DAY_MS);
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    number += 1;
    person = await app.addPerson(`person${number}`);
  });

  async function create(body: object = {}): Promise<string> {
    const answer = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Demo', ...body } });
    return answer.body.app.id;
  }
  const ago = (ms: number): number => app.clock.nowMs() - ms;
  const at = (ms: number): string => new Date(ms).toISOString();
  const session = (appId: string, facts: Partial<SessionColumns>) =>
    addSession(app, { appId, userId: person.id, state: 'stopped', ...facts });
  const played = (appId: string, fromAgoMs: number, toAgoMs: number, facts: Partial<SessionColumns> = {}) =>
    session(appId, {
      createdAtMs: ago(fromAgoMs),
      startedAtMs: ago(fromAgoMs),
      endedAtMs: ago(toAgoMs),
      ...facts,
    });
  const highlights = async (query = '', as = person): Promise<Highlight[]> => {
    const answer = await app.call(as, 'GET', `/v1/me/highlights${query}`);
    expect(answer.status, answer.text).toBe(200);
    return answer.body.items;
  };
  const [oldest, b, c, d, e, newest] = [0, 1, 2, 3, 4, 5].map((index) => () => apps[index] as string) as [
    () => string,
    () => string,
    () => string,
    () => string,
    () => string,
    () => string,
  ];

  test('is empty for a user without sessions, or with failed sessions only', async () => {
    expect(await highlights()).toEqual([]);
    await played(b(), 2 * HOUR_MS, HOUR_MS, { state: 'failed' });
    expect(await highlights()).toEqual([]);
  });

  test('has every field of every card, in the order of its reasons', async () => {
    const live = await session(oldest(), { state: 'pending', createdAtMs: ago(HOUR_MS) });
    const started = await session(b(), {
      state: 'pending',
      createdAtMs: ago(2 * HOUR_MS),
      startedAtMs: ago(2 * HOUR_MS),
    });
    await played(c(), 10 * HOUR_MS, 5 * HOUR_MS);
    await played(d(), 4 * HOUR_MS, 3 * HOUR_MS);
    const none = { session_id: null, session_started_at: null, play_seconds: 0, last_played_at: null };
    expect(await highlights()).toEqual([
      { ...none, app_id: oldest(), reason: 'live', session_id: live },
      {
        ...none,
        app_id: b(),
        reason: 'live',
        session_id: started,
        session_started_at: at(ago(2 * HOUR_MS)),
        play_seconds: 7200,
      },
      {
        ...none,
        app_id: c(),
        reason: 'most_played',
        play_seconds: 18_000,
        last_played_at: at(ago(5 * HOUR_MS)),
      },
      { ...none, app_id: d(), reason: 'resume', play_seconds: 3600, last_played_at: at(ago(3 * HOUR_MS)) },
      { ...none, app_id: newest(), reason: 'recently_added' },
    ]);
  });

  test('counts play within the window, and the last end whenever it was', async () => {
    await played(b(), 8 * DAY_MS, 8 * DAY_MS - HOUR_MS);
    await played(c(), 60 * DAY_MS, 60 * DAY_MS - 2 * HOUR_MS);
    const [first, second] = await highlights();
    expect([first?.app_id, first?.reason, first?.play_seconds]).toEqual([b(), 'resume', 0]);
    expect([second?.app_id, second?.last_played_at]).toEqual([c(), at(ago(60 * DAY_MS - 2 * HOUR_MS))]);
    expect((await highlights('?window_days=8'))[0]).toMatchObject({ app_id: b(), reason: 'most_played' });
    expect((await highlights('?window_days=90'))[0]).toMatchObject({
      app_id: c(),
      reason: 'most_played',
      play_seconds: 7200,
    });
  });

  test('a session counts for 24 h at most, a live one until now, and never for a negative time', async () => {
    await played(b(), 3 * DAY_MS, DAY_MS);
    await played(c(), HOUR_MS, 2 * HOUR_MS);
    await session(d(), { state: 'running', startedAtMs: ago(HOUR_MS), hostId: await addHost(app, 'hosta') });
    const seconds = new Map((await highlights()).map((card) => [card.app_id, card.play_seconds]));
    expect([seconds.get(b()), seconds.get(c()), seconds.get(d())]).toEqual([86_400, 0, 3600]);
  });

  test('gives whole seconds of the sum, not a sum of whole seconds', async () => {
    await played(b(), 10_000, 9_400);
    await played(b(), 5_000, 4_400);
    expect((await highlights())[0]).toMatchObject({ app_id: b(), play_seconds: 1 });
  });

  test('a session that ended in failure counts neither as played nor as the last', async () => {
    await played(b(), 5 * HOUR_MS, 4 * HOUR_MS);
    await played(b(), 3 * HOUR_MS, HOUR_MS, { state: 'failed' });
    expect((await highlights())[0]).toMatchObject({
      play_seconds: 3600,
      last_played_at: at(ago(4 * HOUR_MS)),
    });
  });

  test('leaves out apps that are disabled or not the person’s, administrators included', async () => {
    const [hidden, disabled] = [await create({ entitle: 'none' }), await create({ enabled: false })];
    for (const appId of [hidden, disabled]) {
      await session(appId, { state: 'pending' });
      await session(appId, { state: 'pending', userId: app.people.admin.id });
    }
    expect(await highlights()).toEqual([]);
    expect(await highlights('', app.people.admin)).toEqual([]);
    await app.call(app.people.admin, 'POST', `/v1/admin/apps/${hidden}/entitlements`, {
      body: { subject_type: 'user', subject_id: person.id },
    });
    expect((await highlights())[0]).toMatchObject({ app_id: hidden, reason: 'live' });
  });

  test('ignores what others play', async () => {
    await played(e(), 2 * HOUR_MS, HOUR_MS, { userId: app.people.bob.id });
    expect(await highlights()).toEqual([]);
  });

  test.each(['0', '91', '-1', '1.5', 'seven', '%207', '1e1', '7&window_days=8', '99999999999999999999'])(
    'window_days=%s is 400',
    async (days) => {
      const answer = await app.call(person, 'GET', `/v1/me/highlights?window_days=${days}`);
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    },
  );

  test.each(['?window_days=', '?window_days=1', '?window_days=90', '?other=1'])(
    '%s passes',
    async (query) => {
      expect(await highlights(query)).toEqual([]);
    },
  );
});
