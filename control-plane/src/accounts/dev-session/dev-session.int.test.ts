import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '@footlight/platform';
import { devSession } from '@footlight/protocol/rest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  addHost,
  addSession,
  createTestApp,
  describeDatabases,
  dumpDatabase,
  ManualClock,
  type Person,
  type TestApp,
} from '../../testing/index.ts';

const ROUTE = '/v1/dev/agent-session';
const ON = { SERVICE_DEV_AGENT_AUTH: '1' };
/** Each control plane has its own key. Several in one folder would overwrite each other's file. */
const ONE_KEY = { replicas: 1 };

const keyFileOf = (app: TestApp): string => join(app.dir, 'run', 'dev-agent-key');
const linesOf = (app: TestApp, event: string): Record<string, unknown>[] =>
  app.log.map((line) => JSON.parse(line)).filter((line) => line.event === event);

describeDatabases("developers' sessions", ({ fresh }) => {
  let app: TestApp;
  let key: string;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: { ...ON, SERVICE_MIN_CLIENT_VERSION: '1.0.0', SERVICE_LATEST_CLIENT_VERSION: '1.3.0' },
      ...ONE_KEY,
    });
    key = readFileSync(keyFileOf(app), 'utf8').trim();
  });
  afterAll(() => app.close());

  const open = (body?: unknown, header: string | null = key): Promise<Answer> =>
    app.call(null, 'POST', ROUTE, {
      ...(body !== undefined && { body }),
      headers: header === null ? {} : { 'x-service-dev-key': header },
    });
  const people = (plane: Pick<typeof app.plane, 'platform'>) =>
    plane.platform.database.db.selectFrom('users').where('internal', '=', 0);
  const users = () => people(app.plane);
  const exists = async (id: string) =>
    (await users().select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
  const reap = () => app.plane.jobs.runNow('devauth.reaper');
  const personOf = ({ body }: Answer): Person => ({ ...body.user, token: body.access_token });

  test('the key is in a file that only its owner reads, and the log names the file and the switch only', () => {
    expect(readFileSync(keyFileOf(app), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(keyFileOf(app)).mode & 0o777).toBe(0o600);
    expect(statSync(join(app.dir, 'run')).mode & 0o777).toBe(0o700);
    expect(linesOf(app, 'accounts.dev_agent_auth_on')).toMatchObject([
      { level: 'warn', variable: 'SERVICE_DEV_AGENT_AUTH', path: keyFileOf(app) },
    ]);
    expect(app.log.join('')).not.toContain(key);
  });

  test('one is a new account with a token; both expire at the same moment', async () => {
    const answer = await open();
    expect(answer.status).toBe(200);
    const { body } = answer;
    expect(devSession.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({
      token_type: 'Bearer',
      min_client_version: '1.0.0',
      latest_client_version: '1.3.0',
    });
    const expiresAt = app.clock.nowMs() + 30 * MINUTE_MS;
    expect(body.expires_at).toBe(new Date(expiresAt).toISOString());
    const uuid = /^agent-([0-9a-f-]{36})@dev\.invalid$/.exec(body.user.email)?.[1] as string;
    expect(body.user.username).toMatch(new RegExp(`^agent-${uuid.slice(0, 8)}-[0-9a-f]{8}$`));
    expect(body.user).toMatchObject({ role: 'user', created_at: new Date(app.clock.nowMs()).toISOString() });
    expect(body.storage_keys).toEqual({
      'service.auth.token': body.access_token,
      'service.auth.expires_at': body.expires_at,
      'service.auth.user': JSON.stringify(body.user),
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers).not.toHaveProperty('set-cookie');
    const row = await users().selectAll().where('id', '=', body.user.id).executeTakeFirstOrThrow();
    expect(row).toMatchObject({ ephemeral_expires_at: expiresAt, internal: 0, max_concurrent_sessions: 3 });
    expect(row.password_hash).toMatch(
      /^\$argon2id\$v=19\$m=65536,t=3,p=2\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    const me = await app.call(personOf(answer), 'GET', '/v1/me');
    expect(me.body).toEqual({ user: body.user, sign_in_methods: [] });
    const token = await app.plane.platform.database.db
      .selectFrom('auth_tokens')
      .selectAll()
      .where('user_id', '=', body.user.id)
      .executeTakeFirstOrThrow();
    expect(token).toMatchObject({ device_id: null, expires_at: expiresAt });
    expect(app.log.join('') + (await dumpDatabase(app.plane.platform.database))).not.toContain(
      body.access_token,
    );
    // The account is real: the checks of its role apply, and administrators see it.
    expect((await app.call(personOf(answer), 'GET', '/v1/users')).status).toBe(403);
    const listed = await app.call(app.people.admin, 'GET', `/v1/users?q=${body.user.username}`);
    expect(listed.body.items).toHaveLength(1);
    const login = { email: body.user.email, password: '' };
    expect((await app.call(null, 'POST', '/v1/auth/login', { body: login })).status).toBe(401);
  });

  test("an administrator's opens the pages too, and is logged with the address it was asked from", async () => {
    const answer = await open({ role: 'admin', ttl_seconds: 60 });
    expect(answer.headers['set-cookie']).toMatch(/^service_page=[\w-]{43}; Path=\/admin;.* Max-Age=60$/);
    expect((await app.call(personOf(answer), 'GET', '/v1/users')).status).toBe(200);
    expect(linesOf(app, 'accounts.dev_session_opened').at(-1)).toMatchObject({
      level: 'warn',
      role: 'admin',
      user_id: answer.body.user.id,
      address: '127.0.0.1',
    });
  });

  test('the body may be empty, nulls count as absent, and unknown keys are ignored', async () => {
    for (const body of [
      undefined,
      '',
      {},
      { role: null, ttl_seconds: null },
      { device_key: 'x', more: {} },
    ]) {
      expect((await open(body)).body.expires_at).toBe(
        new Date(app.clock.nowMs() + 30 * MINUTE_MS).toISOString(),
      );
    }
    for (const ttl_seconds of [60, 28_800]) expect((await open({ ttl_seconds })).status).toBe(200);
  });

  test.each([
    { ttl_seconds: 59 },
    { ttl_seconds: 28_801 },
    { ttl_seconds: 60.5 },
    { ttl_seconds: '60' },
    { role: 'owner' },
    { more: 'x'.repeat(4_096) },
  ])('refuses %j', async (body) => {
    expect((await open(body)).body.error.code).toBe('validation_failed');
  });

  test('without the right key the body is not read, and the answer is always the same', async () => {
    const answers = [];
    for (const header of [null, '', 'wrong', `${key}0`, key.toUpperCase().replace(/^./, 'G')])
      answers.push(await open('{', header));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
  });

  describe('the reaper', () => {
    test('deletes expired accounts as an administrator would, and adds no activity entry', async () => {
      const [short, long] = [await open({ ttl_seconds: 60 }), await open({ ttl_seconds: 600 })];
      const before = await activityCount();
      await app.clock.pass(60 * SECOND_MS - 1);
      await reap();
      expect(await exists(short.body.user.id)).toBe(true);
      await app.clock.pass(1);
      expect((await app.call(personOf(short), 'GET', '/v1/me')).status).toBe(401);
      await reap();
      expect(await exists(short.body.user.id)).toBe(false);
      expect(await exists(long.body.user.id)).toBe(true);
      expect((await app.call(personOf(long), 'GET', '/v1/me')).status).toBe(200);
      expect(await exists(app.people.alice.id)).toBe(true);
      expect(await activityCount()).toBe(before);
    });

    test('keeps an account with a live session, and deletes it once the session has ended', async () => {
      const { db } = app.plane.platform.database;
      const answer = await open({ ttl_seconds: 60 });
      const id = answer.body.user.id as string;
      const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Held' } });
      const session = { appId: made.body.app.id, userId: id, hostId: await addHost(app, 'hosta') };
      await addSession(app, { ...session, state: 'stopping' });
      await db
        .insertInto('storage_homes')
        .values({
          id: crypto.randomUUID(),
          user_id: id,
          app_id: session.appId,
          host_id: session.hostId,
          provider: 'local',
          ref: '/homes/agent',
          bytes_used: 0,
          created_at: 1,
          last_used_at: 1,
          gc_after: null,
        })
        .execute();
      await app.clock.pass(MINUTE_MS);
      await reap();
      expect(await exists(id)).toBe(true);
      expect((await app.call(personOf(answer), 'GET', '/v1/me')).status).toBe(401);
      await db.updateTable('sessions').set({ state: 'stopped' }).where('user_id', '=', id).execute();
      await app.clock.pass(MINUTE_MS);
      await reap();
      expect(await exists(id)).toBe(false);
      const homes = await db.selectFrom('storage_homes').selectAll().execute();
      expect(homes).toMatchObject([{ user_id: null, gc_after: app.clock.nowMs() }]);
    });

    test('deletes at most 500 accounts in one sweep, those that expired first', async () => {
      const { db } = app.plane.platform.database;
      const now = app.clock.nowMs();
      const ids = Array.from({ length: 503 }, () => crypto.randomUUID());
      for (let from = 0; from < ids.length; from += 50) {
        await db
          .insertInto('users')
          .values(
            ids.slice(from, from + 50).map((id, i) => ({
              id,
              email: id,
              username: id,
              password_hash: '',
              role: 'user' as const,
              max_concurrent_sessions: 3,
              internal: 0 as const,
              ephemeral_expires_at: now - 1_000 + from + i,
              created_at: 1,
              updated_at: 1,
            })),
          )
          .execute();
      }
      const left = async () => {
        const rows = await users().select('id').where('password_hash', '=', '').execute();
        return rows.map(({ id }) => id).sort();
      };
      await reap();
      expect(await left()).toEqual(ids.slice(500).sort());
      await reap();
      expect(await left()).toEqual([]);
    });

    test('runs at boot and every minute, even if the feature is off, and keeps the last administrator', async () => {
      const target = await fresh();
      const first = await createTestApp(target, { env: ON, ...ONE_KEY, seedPeople: false });
      const right = { 'x-service-dev-key': readFileSync(keyFileOf(first), 'utf8').trim() };
      const openThere = async (body: object) =>
        (await first.call(null, 'POST', ROUTE, { body, headers: right })).body.user.id as string;
      const ids = {
        admin: await openThere({ role: 'admin', ttl_seconds: 60 }),
        early: await openThere({ ttl_seconds: 60 }),
        late: await openThere({ ttl_seconds: 3_660 }),
      };
      await first.close();

      const clock = new ManualClock();
      await clock.pass(HOUR_MS);
      const second = await createTestApp(target, { seedPeople: false, overrides: { clock } });
      const there = async () => {
        const rows = await people(second.plane).select('id').execute();
        return new Set(rows.map(({ id }) => id));
      };
      expect(await there()).toEqual(new Set([ids.admin, ids.late]));
      expect((await second.call(null, 'POST', ROUTE, { headers: right })).status).toBe(404);
      await second.plane.listen();
      await expect
        .poll(async () => {
          await clock.pass(10_000);
          return there();
        })
        .toEqual(new Set([ids.admin]));
      await second.close();
    });
  });

  describe('where they are switched off', () => {
    test.each([
      ['unset', {}],
      ['another text', { SERVICE_DEV_AGENT_AUTH: 'true' }],
    ])('by %s: the path is unknown, and no key is written', async (_, env) => {
      const other = await createTestApp(await fresh(), { env: env as Record<string, string> });
      const unknown = await other.call(null, 'POST', `${ROUTE}-unknown`);
      for (const method of ['POST', 'GET', 'DELETE']) {
        const answer = await other.call(null, method, ROUTE, { headers: { 'x-service-dev-key': key } });
        expect([answer.status, answer.text]).toEqual([404, unknown.text.replace('-unknown', '')]);
        expect(answer.headers.allow).toBeUndefined();
      }
      expect(existsSync(keyFileOf(other))).toBe(false);
      expect(linesOf(other, 'accounts.dev_agent_auth_on')).toEqual([]);
      expect(other.plane.server.unhandled()).toEqual([]);
      await other.close();
    });
  });

  test('a key file that cannot be written is logged, and then no key is valid', async () => {
    const blocked = join(app.dir, 'a-file');
    writeFileSync(blocked, '');
    const other = await createTestApp(await fresh(), {
      env: { ...ON, SERVICE_DEV_AGENT_KEY_PATH: join(blocked, 'key') },
      ...ONE_KEY,
    });
    expect(linesOf(other, 'accounts.dev_agent_key_unwritten')).toMatchObject([
      { level: 'error', path: join(blocked, 'key') },
    ]);
    for (const header of ['', key, 'undefined', 'null'])
      expect(
        (await other.call(null, 'POST', ROUTE, { headers: { 'x-service-dev-key': header } })).status,
      ).toBe(401);
    await other.close();
  });

  async function activityCount(): Promise<number> {
    const rows = await app.plane.platform.database.db.selectFrom('activity').select('id').execute();
    return rows.length;
  }
});
