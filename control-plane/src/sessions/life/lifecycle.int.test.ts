import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { Session } from '@footlight/protocol/rest';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Person } from '../../testing/index.ts';
import { describeDatabases } from '../../testing/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

/** An open event stream and what it sent. */
interface Stream {
  status: number;
  headers: Record<string, unknown>;
  events: Session[];
  text(): string;
  ended: boolean;
  close(): void;
}

describeDatabases('sessions', (databases) => {
  let world: SessionsWorld;
  const streams: Stream[] = [];
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.close();
    await world.close();
  });

  function follow(as: Person | null, id: string): Promise<Stream> {
    return new Promise((resolve, reject) => {
      let text = '';
      const headers = as === null ? {} : { authorization: `Bearer ${as.token}` };
      const sent = request(`${world.url}/v1/sessions/${id}/events`, { headers }, (response) => {
        const stream: Stream = {
          status: response.statusCode ?? 0,
          headers: response.headers,
          events: [],
          text: () => text,
          ended: false,
          close: () => void sent.destroy(),
        };
        streams.push(stream);
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          stream.events = [...text.matchAll(/^event: session\ndata: (.*)$/gm)].map(
            (match) => (JSON.parse(match[1] as string) as { session: Session }).session,
          );
        });
        response.on('close', () => {
          stream.ended = true;
        });
        resolve(stream);
      });
      sent.on('error', (error) => (streams.length === 0 ? reject(error) : undefined));
      sent.end();
    });
  }

  describe('DELETE', () => {
    test('202 stopping, the host is told, then stopped with everything given back', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const answer = await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect(answer.status).toBe(202);
      expect(answer.body.session).toMatchObject({
        state: 'stopping',
        state_detail: 'stop requested',
        end_reason: null,
      });
      const stopped = await world.until(session.id, 'stopped');
      expect(stopped).toMatchObject({
        end_reason: 'user_requested',
        error_message: null,
        failure_code: null,
      });
      expect(stopped.ended_at).not.toBeNull();
      expect(agent.commands.at(-1)).toMatchObject({ type: 'session_stop', reason: 'user_requested' });
      expect(await world.slotsUsed(agent)).toBe(0);
      expect(agent.sessions.size).toBe(0);
    });

    test('again while stopping is 202, once ended 200', async () => {
      await world.host('hosta', {
        behaviour: { answer: (c) => (c.type === 'session_stop' ? 'silence' : 'ok') },
      });
      const session = await world.running(world.people.alice, await world.app());
      const stop = () => world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect((await stop()).status).toBe(202);
      expect((await stop()).status).toBe(202);
      await world.plane.platform.database.db
        .updateTable('sessions')
        .set({ state: 'stopped', end_reason: 'user_requested', ended_at: 1 })
        .execute();
      const ended = await stop();
      expect([ended.status, ended.body.session.state]).toEqual([200, 'stopped']);
    });

    test("an administrator stops anybody's, and that is audited", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      expect((await world.call(world.people.admin, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(202);
      await world.until(session.id, 'stopped');
      expect((await world.call(world.people.admin, 'DELETE', `/v1/sessions/${session.id}`)).status).toBe(200);
      expect(await world.audit('session.stop')).toMatchObject([
        { actor_user_id: world.people.admin.id, target_id: session.id, details: { already_terminal: false } },
        { details: { already_terminal: true } },
      ]);
    });

    test("one's own stop is not audited", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect(await world.audit('session.stop')).toEqual([]);
    });
  });

  test('is launched from the device of its sign-in, and stopped when that device is revoked', async () => {
    const agent = await world.host('hosta');
    const { alice } = world.people;
    const { db } = world.plane.platform.database;
    const posted = await world.call(alice, 'POST', '/v1/me/devices', { body: { device_key: 'laptop' } });
    const deviceId = posted.body.device.id;
    // Posting a measurement binds no token, so this session is launched from no device.
    const other = await world.running(alice, await world.app());
    await db
      .updateTable('auth_tokens')
      .set({ device_id: deviceId })
      .where('user_id', '=', alice.id)
      .execute();
    const session = await world.running(alice, await world.app());
    const listed = await world.call(alice, 'GET', '/v1/me/devices');
    expect(listed.body.devices[0]).toMatchObject({ current: true, active_session_id: session.id });

    expect((await world.call(alice, 'DELETE', `/v1/me/devices/${deviceId}`)).status).toBe(204);
    expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'device_revoked' });
    expect(agent.commands.at(-1)).toMatchObject({ type: 'session_stop', reason: 'device_revoked' });
    expect((await world.session(other.id)).state).toBe('running');
  });

  describe('of an account that is disabled', () => {
    test('are stopped with end_sessions in any state, and other people’s are not', async () => {
      const agent = await world.host('hosta');
      const { admin, alice, bob } = world.people;
      const mine = [
        await world.running(alice, await world.app()),
        await world.running(alice, await world.app()),
      ];
      const others = await world.running(bob, await world.app());
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, {
        body: { disabled: true, end_sessions: true },
      });
      expect([answer.status, answer.body.user?.disabled]).toEqual([200, true]);
      for (const session of mine)
        expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'account_disabled' });
      const stops = agent.commands.filter((command) => command.type === 'session_stop');
      expect(stops.map((command) => command.reason)).toEqual(['account_disabled', 'account_disabled']);
      expect((await world.session(others.id)).state).toBe('running');
    });

    test.each([
      ['without end_sessions', { disabled: true }],
      ['with end_sessions: false', { disabled: true, end_sessions: false }],
      ['with end_sessions: null', { disabled: true, end_sessions: null }],
      ['where it is not disabled by the same request', { end_sessions: true }],
      ['where it is enabled', { disabled: false, end_sessions: true }],
    ])('go on %s', async (_, body) => {
      await world.host('hosta');
      const { admin, alice } = world.people;
      const session = await world.running(alice, await world.app());
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, { body });
      expect(answer.status).toBe(200);
      expect((await world.session(session.id)).state).toBe('running');
    });

    test('end_sessions is true or false', async () => {
      const { admin, alice } = world.people;
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, {
        body: { disabled: true, end_sessions: 'yes' },
      });
      expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_failed']);
    });

    test('is disabled although a host cannot be told to stop', async () => {
      const agent = await world.host('hosta');
      const { admin, alice } = world.people;
      const session = await world.running(alice, await world.app());
      await agent.drop();
      const answer = await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, {
        body: { disabled: true, end_sessions: true },
      });
      expect([answer.status, answer.body.user?.disabled]).toEqual([200, true]);
      expect((await world.session(session.id)).state).toBe('stopping');
    });
  });

  describe('who may', () => {
    const operations = [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/events'],
      ['POST', '/signaling-token'],
    ] as const;

    test.each(operations)(
      '%s …%s: a stranger cannot tell a foreign session from none',
      async (method, tail) => {
        await world.host('hosta');
        const session = await world.running(world.people.alice, await world.app());
        const foreign = await world.call(world.people.bob, method, `/v1/sessions/${session.id}${tail}`);
        const unknown = await world.call(world.people.bob, method, `/v1/sessions/${randomUUID()}${tail}`);
        expect(foreign.status).toBe(403);
        expect([unknown.status, unknown.text]).toEqual([foreign.status, foreign.text]);
        expect((await world.session(session.id)).state).toBe('running');
      },
    );

    test.each(operations)('%s …%s: an administrator gets 404 for none', async (method, tail) => {
      const answer = await world.call(world.people.admin, method, `/v1/sessions/${randomUUID()}${tail}`);
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found']);
    });

    test.each(operations)('%s …%s: a malformed id is 400, nobody is 401', async (method, tail) => {
      expect((await world.call(world.people.alice, method, `/v1/sessions/nope${tail}`)).status).toBe(400);
      expect((await world.call(null, method, `/v1/sessions/${randomUUID()}${tail}`)).status).toBe(401);
    });

    test("an administrator reads anybody's, but gets no token for it", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const path = `/v1/sessions/${session.id}`;
      expect((await world.call(world.people.admin, 'GET', path)).status).toBe(200);
      expect((await world.call(world.people.admin, 'POST', `${path}/signaling-token`)).status).toBe(403);
    });
  });

  describe('signaling-token', () => {
    test('201 with another token, the session untouched', async () => {
      await world.host('hosta');
      const { body } = await world.launch(world.people.alice, await world.app());
      const path = `/v1/sessions/${body.session.id}/signaling-token`;
      const first = await world.call(world.people.alice, 'POST', path, { body: 'ignored' });
      expect(first.status).toBe(201);
      expect(first.body.signaling.token).not.toBe(body.signaling.token);
      const expires = Date.parse(first.body.signaling.expires_at);
      expect(expires).toBe(world.clock.nowMs() + 60_000);
    });

    test('300 a minute to one person, and another is not slowed', async () => {
      await world.host('hosta');
      const { body } = await world.launch(world.people.alice, await world.app());
      const path = `/v1/sessions/${body.session.id}/signaling-token`;
      const ask = async (count: number) => {
        const statuses: number[] = [];
        for (let n = 0; n < count; n += 1)
          statuses.push((await world.call(world.people.alice, 'POST', path)).status);
        return statuses;
      };
      expect(new Set(await ask(300))).toEqual(new Set([201]));
      const refused = await world.call(world.people.alice, 'POST', path);
      expect([refused.status, refused.body.error?.code, refused.headers['retry-after']]).toEqual([
        429,
        'rate_limited',
        '60',
      ]);
      expect((await world.call(world.people.bob, 'POST', path)).status).toBe(403);
      await world.clock.pass(59_999);
      expect(await ask(1)).toEqual([429]);
      await world.clock.pass(1);
      expect(new Set(await ask(300))).toEqual(new Set([201]));
      expect(await ask(1)).toEqual([429]);
    });

    test('409 once it is stopping', async () => {
      await world.host('hosta', {
        behaviour: { answer: (c) => (c.type === 'session_stop' ? 'silence' : 'ok') },
      });
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      const answer = await world.call(
        world.people.alice,
        'POST',
        `/v1/sessions/${session.id}/signaling-token`,
      );
      expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict']);
    });

    test('the url follows the proxy in front', async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const answer = await world.call(
        world.people.alice,
        'POST',
        `/v1/sessions/${session.id}/signaling-token`,
        {
          headers: { host: 'inner', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'play.example' },
        },
      );
      expect(answer.body.signaling.url).toBe('wss://play.example/v1/signal');
    });

    test('tokens are stored only as digests', async () => {
      await world.host('hosta');
      const { body } = await world.launch(world.people.alice, await world.app());
      const rows = await world.plane.platform.database.db
        .selectFrom('signaling_tokens')
        .selectAll()
        .execute();
      expect(JSON.stringify(rows)).not.toContain(body.signaling.token);
      expect(world.log.join('')).not.toContain(body.signaling.token);
    });
  });

  describe('lists', () => {
    test("one's own, newest first, in pages", async () => {
      await world.host('hosta');
      const app = await world.app();
      const ids: string[] = [];
      for (let count = 0; count < 3; count += 1) {
        ids.unshift((await world.launch(world.people.alice, app)).body.session.id);
        await world.clock.pass(1);
      }
      await world.launch(world.people.bob, app);
      const first = (await world.call(world.people.alice, 'GET', '/v1/sessions?limit=2')).body;
      expect(first.items.map((item: Session) => item.id)).toEqual(ids.slice(0, 2));
      const second = (
        await world.call(world.people.alice, 'GET', `/v1/sessions?limit=2&cursor=${first.next_cursor}`)
      ).body;
      expect(second.items.map((item: Session) => item.id)).toEqual(ids.slice(2));
      expect(second.next_cursor).toBeNull();
      expect((await world.call(world.people.alice, 'GET', '/v1/sessions?cursor=nope')).status).toBe(400);
    });

    test('sessions of one instant keep one order over pages', async () => {
      await world.host('hosta');
      const app = await world.app();
      for (const person of [world.people.alice, world.people.bob, world.people.admin])
        await world.launch(person, app);
      const all = (await world.list()).map((item) => item.id);
      const paged: string[] = [];
      let cursor = '';
      for (let page = 0; page < 3; page += 1) {
        const { body } = await world.call(world.people.admin, 'GET', `/v1/admin/sessions?limit=1${cursor}`);
        paged.push(body.items[0].id);
        cursor = `&cursor=${body.next_cursor}`;
      }
      expect(paged).toEqual(all);
    });

    test("an administrator's list: names, state filter, search", async () => {
      const agent = await world.host('hosta');
      const wild = await world.app({ name: '100% Wild_Game' });
      const plain = await world.app({ name: 'Plain' });
      const active = await world.running(world.people.alice, wild);
      const ended = await world.running(world.people.bob, plain);
      await world.call(world.people.bob, 'DELETE', `/v1/sessions/${ended.id}`);
      await world.until(ended.id, 'stopped');
      const failed = await world.running(world.people.bob, plain);
      agent.reportState(failed.id, 'failed', { error: 'x', failure_code: 'app_crashed' });
      await world.until(failed.id, 'failed');

      expect((await world.list()).find((item) => item.id === active.id)).toMatchObject({
        username: 'alice',
        app_name: '100% Wild_Game',
        host_name: 'hosta',
        latest_metrics: {},
      });
      const ids = async (query: string) => (await world.list(query)).map((item) => item.id);
      expect(await ids('?state=active')).toEqual([active.id]);
      expect(await ids('?state=ended')).toEqual([ended.id]);
      expect(await ids('?state=failed')).toEqual([failed.id]);
      expect(await ids('?state=all')).toHaveLength(3);
      expect(await ids('?q=WILD_G')).toEqual([active.id]);
      expect(await ids('?q=100%25')).toEqual([active.id]);
      expect(await ids('?q=_')).toEqual([active.id]);
      expect(await ids('?q=bob')).toHaveLength(2);
      expect(await ids('?q=HOSTA')).toHaveLength(3);
      expect(await ids('?q=%20')).toHaveLength(3);
      const odd = await world.call(world.people.admin, 'GET', '/v1/admin/sessions?state=live');
      expect([odd.status, odd.body.error.code]).toEqual([400, 'invalid_state']);
      expect(
        (await world.call(world.people.admin, 'GET', `/v1/admin/sessions?q=${'x'.repeat(101)}`)).status,
      ).toBe(400);
      expect((await world.call(world.people.alice, 'GET', '/v1/admin/sessions')).status).toBe(403);
    });

    test('the newest metrics are shown while the session lives', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      agent.send({
        type: 'session_metrics',
        session_id: session.id,
        ts: 77,
        window_ms: 5000,
        metrics: { fps: 59.5, live_write_stable: true, encoder: 'openh264' },
        app_launch_state: 'game_running',
      });
      const item = await eventually(async () => {
        const [first] = await world.list();
        return first?.latest_metrics.agent === undefined ? undefined : first;
      }, 'metrics are listed');
      expect(item.latest_metrics.agent).toEqual({
        source: 'agent',
        ts_unix_ms: 77,
        metrics: { fps: 59.5, live_write_stable: 1 },
      });
      expect(item.app_launch_state).toBe('game_running');
    });

    test('idle_ends_at follows what the host says, and is not served before it says anything', async () => {
      const agent = await world.host('hosta');
      const { id } = await world.running(world.people.alice, await world.app());
      expect(await world.session(id)).not.toHaveProperty('idle_ends_at');
      const says = async (idle_ends_in_s: number | null | undefined, late: boolean, ts: number) => {
        agent.send({
          type: 'session_metrics',
          session_id: id,
          ts,
          window_ms: 5000,
          metrics: { fps: ts },
          ...(idle_ends_in_s !== undefined && { idle_ends_in_s }),
          ...(late && { late: true }),
        });
        if (!late)
          await eventually(async () => {
            const [item] = await world.list();
            return item?.latest_metrics.agent?.ts_unix_ms === ts ? true : undefined;
          }, 'the sample is listed');
        return world.session(id);
      };
      const inSeconds = (seconds: number) => new Date(world.clock.nowMs() + seconds * 1000).toISOString();
      expect((await says(480, false, 1)).idle_ends_at).toBe(inSeconds(480));
      expect((await says(3, true, 2)).idle_ends_at).toBe(inSeconds(480));
      expect((await says(null, false, 3)).idle_ends_at).toBeNull();
      expect(await says(undefined, false, 4)).not.toHaveProperty('idle_ends_at');
      await says(1e9, false, 5);
      agent.send({
        type: 'session_trace_event',
        session_id: id,
        ts: 6,
        event: 'webrtc.state_changed',
        payload: { kind: 'connection', from: 'new', to: 'connected', pc: 'a' },
      });
      await eventually(
        async () => ((await world.session(id)).idle_ends_at === null ? true : undefined),
        'a viewer came',
      );
    });

    test('negotiated_codec is what the viewer answered, from the first answer on', async () => {
      const agent = await world.host('hosta');
      const app = await world.app();
      const session = await world.running(world.people.alice, app);
      expect(session.negotiated_codec).toBeNull();
      const answered = (codec: string, { rejected = false, id = session.id } = {}) => ({
        type: 'session_trace_event' as const,
        session_id: id,
        ts: 1,
        event: 'sdp.answer_applied',
        payload: { pc: 'x', m_lines: [{ mid: 'video', kind: 'video', codec, rejected }], rejected_count: 0 },
      });
      const codec = async (id = session.id) => (await world.session(id)).negotiated_codec;
      agent.report(answered('AV1', { rejected: true }));
      agent.report(answered('H265'));
      await expect.poll(codec).toBe('h265');
      agent.report(answered('AV1'));
      await expect.poll(codec).toBe('av1');
      // Another host has no say; what it tells of its own comes after what it told of this one.
      const stranger = await world.host('hostb');
      const theirs = await world.running(world.people.bob, app);
      expect(theirs.host_id).toBe(stranger.hostId);
      stranger.report(answered('VP8'));
      stranger.report(answered('H264', { id: theirs.id }));
      await expect.poll(() => codec(theirs.id)).toBe('h264');
      expect(await codec()).toBe('av1');
    });

    test("another host's metrics and reports change nothing", async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const stranger = await world.host('hostb');
      stranger.send({
        type: 'session_metrics',
        session_id: session.id,
        ts: 1,
        window_ms: 1,
        metrics: { fps: 1 },
      });
      stranger.report({
        type: 'session_state',
        session_id: session.id,
        ts: 1,
        state: 'failed',
        error: 'forged',
      });
      await expect.poll(() => stranger.unseen).toBe(0);
      expect(await world.session(session.id)).toMatchObject({ state: 'running', error_message: null });
      expect((await world.list())[0]?.latest_metrics).toEqual({});
    });
  });

  describe('events', () => {
    test('a snapshot, then every change, then the end', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const stream = await follow(world.people.alice, session.id);
      expect(stream.status).toBe(200);
      expect(stream.headers['content-type']).toBe('text/event-stream');
      await expect.poll(() => stream.events.length).toBe(1);
      agent.reportState(session.id, 'running', { detail: 'still here' });
      await expect.poll(() => stream.events.at(-1)?.state_detail).toBe('still here');
      agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
      await expect.poll(() => stream.ended).toBe(true);
      expect(stream.events.at(-1)).toMatchObject({ state: 'stopped', end_reason: 'idle_timeout' });
    });

    test('changes that come at once have an event each, in their order', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const stream = await follow(world.people.alice, session.id);
      await expect.poll(() => stream.events.length).toBe(1);
      const details = Array.from({ length: 8 }, (_, n) => `step ${n}`);
      for (const detail of details) agent.reportState(session.id, 'running', { detail });
      agent.reportState(session.id, 'stopping', { detail: 'on its way' });
      agent.reportState(session.id, 'stopped', { reason: 'idle_timeout' });
      await expect.poll(() => stream.ended).toBe(true);
      expect(
        stream.events.slice(1).map(({ state, state_detail, ended_at }) => [state, state_detail, ended_at]),
      ).toEqual([
        ...details.map((detail) => ['running', detail, null]),
        ['stopping', 'on its way', null],
        ['stopped', 'on its way', expect.any(String)],
      ]);
    });

    test('an ended session gives one event', async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      await world.until(session.id, 'stopped');
      const stream = await follow(world.people.admin, session.id);
      await expect.poll(() => stream.ended).toBe(true);
      expect(stream.events.map((event) => event.state)).toEqual(['stopped']);
    });

    test('a comment every 25 s', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const stream = await follow(world.people.alice, session.id);
      await expect.poll(() => stream.events.length).toBeGreaterThan(0);
      await world.pass(25_000, agent);
      await expect.poll(() => stream.text()).toContain('\n: keep-alive\n');
    });

    test('at most 20 for one person, and room again when one closes', async () => {
      await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const open = await Promise.all(
        Array.from({ length: 20 }, () => follow(world.people.alice, session.id)),
      );
      expect(open.map((stream) => stream.status)).toEqual(Array(20).fill(200));
      const one = await follow(world.people.alice, session.id);
      expect(one.status).toBe(429);
      expect((await follow(world.people.admin, session.id)).status).toBe(200);
      open[0]?.close();
      await expect
        .poll(async () => {
          const stream = await follow(world.people.alice, session.id);
          return stream.status;
        })
        .toBe(200);
    });

    test("of somebody else's session ends when its reader is no administrator any more", async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const stream = await follow(world.people.admin, session.id);
      await expect.poll(() => stream.events.length).toBeGreaterThan(0);
      const { db } = world.plane.platform.database;
      await db.updateTable('users').set({ role: 'user' }).where('id', '=', world.people.admin.id).execute();
      agent.reportState(session.id, 'running', { detail: 'not for everybody' });
      await expect.poll(() => stream.ended).toBe(true);
      expect(stream.text()).not.toContain('not for everybody');
    });

    test.each([
      ['signs out', (reader: Person) => world.call(reader, 'POST', '/v1/auth/logout')],
      ['is disabled', (reader: Person) => change(reader, { disabled: true })],
      ['is demoted', (reader: Person) => change(reader, { role: 'user' })],
      ['is deleted', (reader: Person) => world.call(world.people.admin, 'DELETE', `/v1/users/${reader.id}`)],
    ])('ends within 5 s when its reader %s, though nothing happens to the session', async (_, end) => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app());
      const reader = await world.addPerson('reader', 'admin');
      const [stream, kept] = [await follow(reader, session.id), await follow(world.people.alice, session.id)];
      await expect.poll(() => stream.events.length).toBeGreaterThan(0);
      expect((await end(reader)).status).toBeLessThan(300);
      await world.pass(5_000, agent);
      await expect.poll(() => stream.ended).toBe(true);
      expect(kept.ended).toBe(false);
    });

    const change = (person: Person, body: object) =>
      world.call(world.people.admin, 'PATCH', `/v1/users/${person.id}`, { body });
  });

  test('a forced drain stops what runs on the host', async () => {
    const agent = await world.host('hosta');
    const app = await world.app();
    const one = await world.running(world.people.alice, app);
    const two = await world.running(world.people.bob, app);
    const answer = await world.call(world.people.admin, 'POST', `/v1/hosts/${agent.hostId}/drain`, {
      body: { force: true },
    });
    expect(answer.status).toBe(200);
    for (const session of [one, two])
      expect(await world.until(session.id, 'stopped')).toMatchObject({ end_reason: 'host_draining' });
  });

  test('a forced drain of a silent host answers within its budget', async () => {
    const agent = await world.host('hosta', {
      behaviour: { answer: (c) => (c.type === 'session_stop' ? 'silence' : 'ok') },
    });
    const session = await world.running(world.people.alice, await world.app());
    const answer = world.call(world.people.admin, 'POST', `/v1/hosts/${agent.hostId}/drain`, {
      body: { force: true },
    });
    await eventually(
      () => (agent.commands.some((command) => command.type === 'session_stop') ? true : undefined),
      'the stop was sent',
    );
    await world.pass(8_000, agent);
    expect((await answer).status).toBe(200);
    expect((await world.session(session.id)).state).toBe('stopping');
  });
});
