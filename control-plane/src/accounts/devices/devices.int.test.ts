import { DAY_MS, SECOND_MS } from '@footlight/platform';
import type { Device } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CachedBody } from '../../platform/http/message/cached-body.ts';
import {
  addSession,
  createTestApp,
  describeDatabases,
  FREE_SIGN_IN,
  OPEN_REGISTRATION,
  ofOneProcess,
  openEventStream,
  type Person,
  refused,
  signIn,
  signUp,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';
import { loadLatestProbe } from './store.ts';

describeDatabases('devices', ({ fresh }) => {
  let app: TestApp;
  let appId: string;
  let origin: string;
  /** A new account for each test, so that tests do not share lists. */
  let alice: Person;
  let number = 0;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      env: OPEN_REGISTRATION,
      overrides: { accountLimits: FREE_SIGN_IN },
    });
    origin = (await app.plane.listen()).http;
    const made = await app.call(app.people.admin, 'POST', '/v1/apps', { body: { name: 'Demo' } });
    appId = made.body.app.id;
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    await app.clock.pass(SECOND_MS);
    number += 1;
    alice = await signUp(app, `alice${number}`);
  });

  const now = (): string => new Date(app.clock.nowMs()).toISOString();
  const list = async (as: Person): Promise<Device[]> => {
    const answer = await app.call(as, 'GET', '/v1/me/devices');
    expect(answer.status).toBe(200);
    return answer.body.devices;
  };
  const post = (as: Person, body: unknown, headers = {}) =>
    app.call(as, 'POST', '/v1/me/devices', { body, headers });
  const patch = (as: Person, id: string, body: unknown) =>
    app.call(as, 'PATCH', `/v1/me/devices/${id}`, { body });
  const remove = (as: Person, id: string) => app.call(as, 'DELETE', `/v1/me/devices/${id}`);
  const device = async (as: Person, key = 'laptop', capabilities?: object): Promise<string> => {
    const answer = await post(as, { device_key: key, capabilities });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.device.id;
  };
  const isSignedIn = async (as: Person) => (await app.call(as, 'GET', '/v1/me')).status === 200;

  describe('GET', () => {
    test('is empty at first, and shows every field of a device after a sign-in with its key', async () => {
      expect(await list(alice)).toEqual([]);
      const at = now();
      const here = await signIn(app, alice.username, 'laptop');
      await app.clock.pass(SECOND_MS);
      const shown = {
        id: expect.any(String),
        device_key: 'laptop',
        name: null,
        trusted: false,
        first_seen_at: at,
        last_seen_at: at,
        current: true,
        active_session_id: null,
        capabilities: {},
      };
      expect(await list(here)).toEqual([shown]);
      // Another token of the same person is not bound to this device.
      expect(await list(alice)).toEqual([{ ...shown, current: false }]);
      expect(await list(app.people.bob)).toEqual([]);
    });

    test('lists the device seen last first', async () => {
      for (const key of ['one', 'two', 'three', 'one']) {
        await app.clock.pass(SECOND_MS);
        await device(alice, key);
      }
      expect((await list(alice)).map((row) => row.device_key)).toEqual(['one', 'three', 'two']);
    });

    test('names the newest session launched from it that has not ended', async () => {
      const deviceId = await device(alice);
      const session = { appId, userId: alice.id, deviceId };
      await addSession(app, { ...session, state: 'pending', ageDays: 2 });
      const newest = await addSession(app, { ...session, state: 'pending', ageDays: 1 });
      await addSession(app, { ...session, state: 'stopped' });
      await addSession(app, { appId, userId: alice.id, state: 'pending' });
      expect((await list(alice))[0]?.active_session_id).toBe(newest);
    });
  });

  describe('POST', () => {
    test('makes the device, then replaces what it measured and keeps what its owner set', async () => {
      const first = await post(alice, { device_key: 'tv', capabilities: { rtt_ms: 5, platform: 'a' } });
      const seen = { id: expect.any(String), first_seen_at: now(), last_seen_at: now() };
      expect([first.status, first.body]).toEqual([200, { device: seen }]);
      const { id } = first.body.device;
      await patch(alice, id, { name: 'TV', trusted: true });
      await app.clock.pass(SECOND_MS);
      const second = await post(alice, { device_key: 'tv', capabilities: { rtt_ms: 9 } });
      expect([second.status, second.body]).toEqual([
        200,
        { device: { id, first_seen_at: seen.first_seen_at, last_seen_at: now() } },
      ]);
      expect(await list(alice)).toEqual([
        {
          id,
          device_key: 'tv',
          name: 'TV',
          trusted: true,
          first_seen_at: seen.first_seen_at,
          last_seen_at: now(),
          // The post does not bind the calling token to the device.
          current: false,
          active_session_id: null,
          capabilities: { rtt_ms: 9, measured_at: now() },
        },
      ]);
    });

    test('keeps one device per person and key', async () => {
      const mine = await device(alice, 'shared');
      const bobs = await device(app.people.bob, 'shared');
      expect(bobs).not.toBe(mine);
      expect(await device(alice, 'shared')).toBe(mine);
    });

    test('stores the user agent and never shows it', async () => {
      const agent = `Browser/${'9'.repeat(600)}`;
      const id = (await post(alice, { device_key: 'tv' }, { 'user-agent': agent })).body.device.id;
      const { db } = app.plane.platform.database;
      const row = () => db.selectFrom('devices').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      expect((await row()).user_agent).toBe(agent.slice(0, 512));
      expect(JSON.stringify(await list(alice))).not.toContain('Browser');
    });

    test.each([
      ['left out', '{"device_key":"k"}'],
      ['null', '{"device_key":"k","capabilities":null}'],
      ['empty', '{"device_key":"k","capabilities":{}}'],
    ])('stores capabilities that are %s as an empty measurement with its time', async (_, body) => {
      expect((await post(alice, body)).status).toBe(200);
      expect((await list(alice))[0]?.capabilities).toEqual({ measured_at: now() });
    });

    test('cuts excess capabilities, and keeps odd keys as data', async () => {
      const deep = `${'{"a":'.repeat(12)}1${'}'.repeat(12)}`;
      const body = `{"device_key":"k","capabilities":{"deep":${deep},"inf":1e999,"nul":"a\\u0000b","half":"\\ud800",
        "long":"${'x'.repeat(600)}","__proto__":{"polluted":true},"measured_at":"1999-01-01T00:00:00Z","client_type":"tv"}}`;
      expect((await post(alice, body)).status).toBe(200);
      const shown = (await app.call(alice, 'GET', '/v1/me/devices')).text;
      expect(JSON.stringify(JSON.parse(shown).devices[0].capabilities)).toBe(
        JSON.stringify(
          JSON.parse(
            `{"__proto__":{"polluted":true},"client_type":"web","deep":${'{"a":'.repeat(7)}{}${'}'.repeat(7)},
            "half":"\\ud800","long":"${'x'.repeat(512)}","nul":"a\\u0000b","measured_at":"${now()}"}`,
          ),
        ),
      );
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    });

    test('ignores keys that it does not know, __proto__ among them', async () => {
      const body = '{"device_key":"k","name":"x","trusted":true,"__proto__":{"trusted":true}}';
      expect((await post(alice, body)).status).toBe(200);
      expect((await list(alice))[0]).toMatchObject({ name: null, trusted: false });
    });

    test.each([
      ['no device_key', {}],
      ['an empty device_key', { device_key: '' }],
      ['a device_key of 257 characters', { device_key: '😀'.repeat(257) }],
      ['a device_key with a NUL', { device_key: 'a\0' }],
      ['a device_key that is a number', { device_key: 5 }],
      ['capabilities that are a list', { device_key: 'k', capabilities: [] }],
      ['capabilities that are text', { device_key: 'k', capabilities: '{}' }],
      ['a body over 8 KiB', { device_key: 'k', capabilities: { a: 'x'.repeat(8192) } }],
      ['a body over 8 KiB of unknown keys', { device_key: 'k', more: 'x'.repeat(8192) }],
    ])('refuses %s with 400 and stores nothing', async (_, body) => {
      refused(await post(alice, body), 400, 'validation_failed');
      expect(await list(alice)).toEqual([]);
    });

    test('takes a device_key of 256 characters, and a body of 8 KiB', async () => {
      await device(alice, '😀'.repeat(256));
      const empty = JSON.stringify({ device_key: 'k', more: '' });
      const body = JSON.stringify({ device_key: 'k', more: 'x'.repeat(8192 - empty.length) });
      expect((await post(alice, body)).status).toBe(200);
    });

    ofOneProcess('fifty requests for a long list need few reads, so other requests do not wait', async () => {
      const capabilities = { text: Array.from({ length: 14 }, () => 'x'.repeat(500)) };
      for (let index = 0; index < 20; index += 1) await device(alice, `long ${index}`, capabilities);
      const lists = new Set<CachedBody>();
      const { compressed } = CachedBody.prototype;
      const spy = vi.spyOn(CachedBody.prototype, 'compressed').mockImplementation(function (
        this: CachedBody,
      ) {
        lists.add(this);
        return compressed.call(this);
      });
      onTestFinished(() => spy.mockRestore());
      const parse = vi.spyOn(JSON, 'parse');
      onTestFinished(() => parse.mockRestore());
      const ask = () => app.call(alice, 'GET', '/v1/me/devices', { headers: { 'accept-encoding': 'gzip' } });
      const answers = await Promise.all(Array.from({ length: 50 }, ask));
      expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
      const parsed = parse.mock.calls.filter(([text]) => text.startsWith('{') && text.includes('xxx'));
      expect(parsed).toHaveLength(0);
      expect(lists.size).toBeGreaterThan(0);
      expect(lists.size).toBeLessThanOrEqual(10);
      // A list always contains the changes from before its request.
      await device(alice, 'one more');
      expect(await list(alice)).toHaveLength(21);
    });

    test('an account keeps 200 devices, in addition to those that a sign-in or a session uses', async () => {
      const signedIn = await signIn(app, alice.username, 'signed-in');
      const streaming = await device(alice, 'streaming');
      await addSession(app, { appId, userId: alice.id, deviceId: streaming, state: 'pending' });
      const others = await device(app.people.bob, 'not hers');
      for (let index = 0; index < 250; index += 1) {
        await app.clock.pass(1);
        await device(alice, `key ${index}`);
      }
      const keys = (await list(alice)).map((row) => row.device_key);
      expect(keys.slice(0, 200)).toEqual(Array.from({ length: 200 }, (_, index) => `key ${249 - index}`));
      expect(keys.slice(200).sort()).toEqual(['signed-in', 'streaming']);
      expect(await isSignedIn(signedIn)).toBe(true);
      expect((await list(app.people.bob)).map((row) => row.id)).toContain(others);
    });

    test('an account keeps 500 signed-in devices without a session; one more signs out the one seen longest ago', async () => {
      const { database, random } = app.plane.platform;
      const streaming = await signIn(app, alice.username, 'streaming');
      const [{ id: deviceId } = { id: '' }] = await list(streaming);
      await addSession(app, { appId, userId: alice.id, deviceId, state: 'pending' });
      await app.clock.pass(1);
      const oldest = await signIn(app, alice.username, 'oldest');
      const inUse = Array.from({ length: 498 }, () => random.uuid());
      const [seen] = await database.db.selectFrom('devices').selectAll().where('id', '=', deviceId).execute();
      const [token] = await database.db
        .selectFrom('auth_tokens')
        .selectAll()
        .where('device_id', '=', deviceId)
        .execute();
      await app.clock.pass(1);
      const times = { first_seen_at: app.clock.nowMs(), last_seen_at: app.clock.nowMs() };
      for (const id of inUse) {
        await database.db
          .insertInto('devices')
          .values({ ...seen!, ...times, id, device_key: id })
          .execute();
        const of = { id: random.uuid(), device_id: id, token_hash: id, page_hash: id };
        await database.db
          .insertInto('auth_tokens')
          .values({ ...token!, ...of })
          .execute();
      }
      await app.clock.pass(1);
      await signIn(app, alice.username, 'the 500th');
      expect(await list(alice)).toHaveLength(501);
      expect(await isSignedIn(oldest)).toBe(true);
      await app.clock.pass(1);
      const newest = await signIn(app, alice.username, 'the 501st');
      const keys = (await list(alice)).map((row) => row.device_key);
      expect(keys).toHaveLength(501);
      expect(keys).not.toContain('oldest');
      expect(keys).toContain('streaming');
      expect(await Promise.all([oldest, streaming, newest].map(isSignedIn))).toEqual([false, true, true]);
    });
  });

  test('the probe of the device seen last is used', async () => {
    const { db } = app.plane.platform.database;
    const load = () => loadLatestProbe(db, alice.id, app.clock.nowMs());
    expect(await load()).toEqual({ deviceId: null, probe: { kind: 'missing' } });
    const tv = await device(alice, 'tv', { rtt_ms: 5 });
    await app.clock.pass(SECOND_MS);
    // A sign-in updates last_seen_at, but stores no measurement.
    await signIn(app, alice.username, 'laptop');
    expect((await load()).probe).toEqual({ kind: 'missing' });
    await app.clock.pass(SECOND_MS);
    const measuredAtMs = app.clock.nowMs();
    await device(alice, 'tv', { rtt_ms: 7 });
    expect(await load()).toMatchObject({
      deviceId: tv,
      probe: { kind: 'fresh', measuredAtMs, facts: { rtt_ms: 7 } },
    });
    const later = app.clock.nowMs() + 30 * DAY_MS + 1;
    expect((await loadLatestProbe(db, alice.id, later)).probe).toEqual({ kind: 'stale', measuredAtMs });
  });

  describe('PATCH', () => {
    test('sets the name and the mark, each alone', async () => {
      const id = await device(alice);
      const named = await patch(alice, id, { name: 'Küche' });
      expect([named.status, named.body.device]).toEqual([200, (await list(alice))[0]]);
      expect(named.body.device).toMatchObject({ name: 'Küche', trusted: false });
      expect((await patch(alice, id, { trusted: true })).body.device).toMatchObject({
        name: 'Küche',
        trusted: true,
      });
      expect((await patch(alice, id, { trusted: false })).body.device).toMatchObject({ trusted: false });
    });

    test('a missing or null field changes nothing, and an empty name is stored', async () => {
      const id = await device(alice);
      await patch(alice, id, { name: 'Desk', trusted: true });
      for (const body of [{}, { name: null, trusted: null }]) {
        const answer = await patch(alice, id, body);
        expect([answer.status, answer.body.device.name, answer.body.device.trusted]).toEqual([
          200,
          'Desk',
          true,
        ]);
      }
      expect((await patch(alice, id, { name: '' })).body.device.name).toBe('');
    });

    test('takes a name of 128 characters, and refuses more and other types', async () => {
      const id = await device(alice);
      expect((await patch(alice, id, { name: '😀'.repeat(128) })).status).toBe(200);
      for (const body of [
        { name: '😀'.repeat(129) },
        { name: 5 },
        { trusted: 'yes' },
        { trusted: 1 },
        { id: UNKNOWN_ID },
      ])
        refused(await patch(alice, id, body), 400, 'validation_failed');
    });

    test('answers 403 for an unknown id and for another person’s alike, administrators included', async () => {
      const id = await device(alice);
      const answers = [];
      for (const as of [app.people.bob, app.people.admin])
        for (const other of [id, UNKNOWN_ID]) answers.push(await patch(as, other, { name: 'mine now' }));
      for (const answer of answers) refused(answer, 403, 'forbidden');
      expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
      expect((await list(alice))[0]?.name).toBeNull();
      // The body is checked before the owner.
      refused(await patch(app.people.bob, id, { name: 5 }), 400, 'validation_failed');
    });
  });

  describe('DELETE', () => {
    test('ends every token bound to it with the next request, and no other', async () => {
      const tokens = [await signIn(app, alice.username, 'lost'), await signIn(app, alice.username, 'lost')];
      const kept = await signIn(app, alice.username, 'kept');
      const id = (await list(alice)).find((row) => row.device_key === 'lost')?.id as string;
      expect((await remove(alice, id)).status).toBe(204);
      for (const token of tokens) refused(await app.call(token, 'GET', '/v1/me'), 401, 'unauthorized');
      expect([await isSignedIn(kept), await isSignedIn(alice)]).toEqual([true, true]);
      expect((await list(alice)).map((row) => row.device_key)).toEqual(['kept']);
      // A person who has deleted the device gets the same answer as for an unknown device.
      refused(await remove(alice, id), 403, 'forbidden');
    });

    test('of the current device ends the token of the request', async () => {
      const here = await signIn(app, alice.username, 'here');
      const id = (await list(here))[0]?.id as string;
      expect((await remove(here, id)).status).toBe(204);
      refused(await remove(here, id), 401, 'unauthorized');
    });

    test('lets the device come back as a new one, and the old tokens stay invalid', async () => {
      const before = await signIn(app, alice.username, 'tv');
      const [old] = await list(before);
      await patch(alice, old?.id as string, { name: 'TV', trusted: true });
      await remove(alice, old?.id as string);
      await app.clock.pass(SECOND_MS);
      const after = await signIn(app, alice.username, 'tv');
      const [device] = await list(after);
      expect(device).toMatchObject({
        device_key: 'tv',
        name: null,
        trusted: false,
        current: true,
        first_seen_at: now(),
      });
      expect(device?.id).not.toBe(old?.id);
      expect([await isSignedIn(before), await isSignedIn(after)]).toEqual([false, true]);
    });

    test('stops the sessions launched from it, with the reason, and no others', async () => {
      const [deviceId, otherId] = [await device(alice, 'lost'), await device(alice, 'kept')];
      const session = { appId, userId: alice.id, state: 'pending' } as const;
      const launched = [
        await addSession(app, { ...session, deviceId }),
        await addSession(app, { ...session, deviceId }),
      ];
      const others = [
        await addSession(app, { ...session, deviceId: otherId }),
        await addSession(app, session),
        await addSession(app, {
          ...session,
          deviceId: await device(app.people.bob),
          userId: app.people.bob.id,
        }),
      ];
      expect((await remove(alice, deviceId)).status).toBe(204);
      const { db } = app.plane.platform.database;
      const rows = await db
        .selectFrom('sessions')
        .select(['id', 'state', 'end_reason', 'device_id'])
        .execute();
      const of = (ids: string[]) => ids.map((id) => rows.find((row) => row.id === id));
      for (const row of of(launched))
        expect(row).toMatchObject({ state: 'stopped', end_reason: 'device_revoked', device_id: null });
      for (const row of of(others)) expect(row?.state).toBe('pending');
    });

    test('ends event streams that one of its tokens opened', async () => {
      const lost = await signIn(app, alice.username, 'lost');
      const sessionId = await addSession(app, { appId, userId: alice.id, state: 'pending' });
      const stream = await openEventStream(origin, lost, sessionId);
      const [{ id }] = (await list(lost)) as [Device];
      await remove(alice, id);
      await app.clock.pass(6 * SECOND_MS);
      expect(await stream.ended).toContain('"state":"pending"');
    });

    test('answers 403 for an unknown id and for another person’s alike, and touches nothing', async () => {
      const second = await signIn(app, alice.username, 'second');
      const [{ id }] = (await list(second)) as [Device];
      const answers = [];
      for (const as of [app.people.bob, app.people.admin])
        for (const other of [id, UNKNOWN_ID]) answers.push(await remove(as, other));
      for (const answer of answers) refused(answer, 403, 'forbidden');
      expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
      expect(await isSignedIn(second)).toBe(true);
    });

    test('a launch that was under way from the device is refused', async () => {
      const { id: userId, username, email, role } = alice;
      const caller = { userId, username, email, role, tokenId: UNKNOWN_ID, deviceId: await device(alice) };
      await remove(alice, caller.deviceId);
      const launch = app.plane.sessions.launch(caller, { app_id: appId, mic: false });
      await expect(launch).rejects.toMatchObject({ code: 'unauthorized' });
    });
  });
});
