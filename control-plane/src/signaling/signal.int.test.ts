import { randomBytes, randomUUID } from 'node:crypto';
import type { ControlSignaling } from '@footlight/protocol/agent';
import type { Session } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hostSubjects } from '../fleet/index.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { describeDatabases, ofOneProcess } from '../testing/index.ts';
import { openPage, type SignalPage } from './testing/page.ts';
import { createSignalingTokens } from './tokens.ts';

describeDatabases('signaling', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let frames: ControlSignaling[];
  const pages: SignalPage[] = [];
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
    frames = [];
    agent = await world.host('hosta', { onSignaling: (frame) => void frames.push(frame) });
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) page.socket.terminate();
    await world.close();
  });

  const running = async () => world.running(world.people.alice, await world.app());
  const token = async (session: Session): Promise<string> =>
    (await world.call(world.people.alice, 'POST', `/v1/sessions/${session.id}/signaling-token`)).body
      .signaling.token;
  async function open(
    text: string | null,
    options: Parameters<typeof openPage>[2] = {},
  ): Promise<SignalPage> {
    const page = await openPage(world.url, text, options);
    pages.push(page);
    return page;
  }
  /** A page that is attached to the agent. */
  async function viewer(session: Session, options: Parameters<typeof openPage>[2] = {}): Promise<SignalPage> {
    const page = await open(await token(session), options);
    page.hello();
    const { conn } = await page.next('ready');
    await frame((one) => one.conn === conn && one.msg.type === 'attach');
    return page;
  }
  const frame = (match: (one: ControlSignaling) => boolean) =>
    eventually('the agent got the frame', () => frames.find(match));
  const conn = async (page: SignalPage) => (await page.next('ready')).conn;
  /** Fills the connection of an agent that does not read, with messages for a socket that no longer exists. */
  async function fillQueue({ id }: Session): Promise<void> {
    const { agents } = world.plane.fleet;
    let isRefused = false;
    const refusals = world.plane.platform.bus.subscribe(hostSubjects.signalRefused, id, () => {
      isRefused = true;
    });
    const takes = async (bytes: number) => {
      const text = JSON.stringify({ type: 'renegotiate', pc_id: randomUUID(), p: 'x'.repeat(bytes) });
      isRefused = false;
      agents.signal(agent.hostId as string, { session_id: id, conn: 1, text });
      await agents.link(agent.hostId as string);
      return !isRefused;
    };
    let refused = 0;
    await eventually('the queue towards the agent is full', async () => {
      refused += 1;
      // The system buffers a part of the data; the queue is full when no more messages are accepted.
      while ((await takes(60_000)) || (await takes(0))) refused = 0;
      return refused > 10 ? true : undefined;
    });
    refusals.close();
  }

  describe('before the upgrade', () => {
    test.each([
      ['another origin', { origin: 'https://evil.example' }, 403],
      ['an origin that cannot be read', { origin: 'null' }, 403],
      ['the same origin', { origin: 'SAME' }, 101],
      ['the same host on another port', { origin: 'http://127.0.0.1:1' }, 403],
      ['no origin', {}, 101],
    ] as const)('%s: %j → %i', async (_what, headers, status) => {
      const text = await token(await running());
      const given =
        'origin' in headers ? { origin: headers.origin === 'SAME' ? world.url : headers.origin } : {};
      const outcome = await open(text, { headers: given }).then(
        () => 101,
        (refused: { status: number }) => refused.status,
      );
      expect(outcome).toBe(status);
    });

    ofOneProcess('in this order: origin, limiter, token, upgrade', async () => {
      const answer = async (headers: Record<string, string>, query = '') => {
        const { status, body } = await world.call(null, 'GET', `/v1/signal${query}`, { headers });
        return [status, body.error.code, body.error.message];
      };
      const evil = { origin: 'https://evil.example' };
      expect((await answer({}, '?token=x'))[2]).not.toMatch(/token/);
      expect((await answer({}))[2]).toMatch(/token/);
      for (let count = 0; count < 10; count += 1) await (await open(randomBytes(32).toString('hex'))).closed;
      expect((await answer({})).slice(0, 2)).toEqual([429, 'rate_limited']);
      expect((await answer(evil)).slice(0, 2)).toEqual([403, 'forbidden']);
    });

    test('a listed origin passes', async () => {
      await world.plane.platform.database.db
        .updateTable('instance_settings')
        .set({ allowed_origins: '["https://play.example"]' })
        .execute();
      await world.clock.pass(3_000);
      const text = await token(await running());
      const page = await open(text, { headers: { origin: 'https://play.example' } });
      page.hello();
      await page.next('ready');
    });

    test('an origin that only looks like a listed one is refused, and the token stays valid for the right page', async () => {
      await world.plane.platform.database.db
        .updateTable('instance_settings')
        .set({ allowed_origins: '["https://play.example","https://xn--bcher-kva.example"]' })
        .execute();
      await world.clock.pass(3_000);
      const session = await running();
      const text = await token(session);
      const { port } = new URL(world.url);
      for (const origin of [
        'null',
        '',
        '*',
        'http://play.example',
        'https://play.example:8443',
        'https://play.example.',
        'https://play.example/',
        'https://play.example.evil.test',
        'https://play.example@evil.test',
        'https://evil.test#https://play.example',
        'https://play.example https://evil.test',
        'https://b\xfccher.example',
        'https://xn--bcher-kva.example.',
        `http://localhost:${port}`,
      ]) {
        const outcome = await open(text, { headers: { origin } }).then(
          () => 101,
          (refused: { status: number }) => refused.status,
        );
        expect([origin, outcome]).toEqual([origin, 403]);
      }
      const page = await open(text, { headers: { origin: 'HTTPS://Play.Example:443' } });
      page.hello();
      await page.next('ready');
      await viewer(session, { headers: { origin: 'https://XN--Bcher-KVA.example' } });
      // The right origin alone is not sufficient; a valid token is required.
      const stranger = await open(randomBytes(32).toString('hex'), {
        headers: { origin: 'https://play.example' },
      });
      expect((await stranger.closed).code).toBe(4401);
    });

    test('no token is 400, and so is no upgrade', async () => {
      await expect(open(null)).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'validation_failed' } },
      });
      expect((await world.call(null, 'GET', '/v1/signal?token=x')).status).toBe(400);
    });

    ofOneProcess(
      'ten bad tokens block the address with 429, a good one among them too, for a minute',
      async () => {
        const session = await running();
        for (let count = 0; count < 10; count += 1) {
          const page = await open(randomBytes(32).toString('hex'));
          expect((await page.closed).code).toBe(4401);
        }
        await expect(open(await token(session))).rejects.toMatchObject({
          status: 429,
          body: { error: { code: 'rate_limited' } },
        });
        await world.pass(61_000, agent);
        await viewer(session);
      },
    );

    ofOneProcess(
      'more than ten handshakes in flight of one address are 429; finished ones do not count',
      async () => {
        const session = await running();
        const first = await viewer(session);
        const waiting = await Promise.all(Array.from({ length: 10 }, async () => open(await token(session))));
        await expect(open(await token(session))).rejects.toMatchObject({ status: 429 });
        for (const page of waiting) page.socket.terminate();
        await eventually('room again', async () => {
          const outcome = await open(await token(session)).catch(() => undefined);
          return outcome;
        });
        expect(first.socket.readyState).toBe(1);
      },
    );
  });

  describe('the token', () => {
    test('is good once', async () => {
      const session = await running();
      const text = await token(session);
      const page = await open(text);
      page.hello();
      await page.next('ready');
      expect((await (await open(text)).closed).code).toBe(4401);
      expect(page.socket.readyState).toBe(1);
    });

    test('one of an account that was disabled since: 4401', async () => {
      const text = await token(await running());
      const { admin, alice } = world.people;
      await world.call(admin, 'PATCH', `/v1/users/${alice.id}`, { body: { disabled: true } });
      expect((await (await open(text)).closed).code).toBe(4401);
    });

    test('100 parallel uses: one wins, the others 4401', async () => {
      const session = await running();
      const text = await token(session);
      const service = createSignalingTokens(world.plane.platform);
      const outcomes = await Promise.all(Array.from({ length: 100 }, () => service.consume(text)));
      expect(outcomes.filter((one) => one?.sessionId === session.id)).toHaveLength(1);
      expect(outcomes.filter((one) => one === null)).toHaveLength(99);
    });

    test('parallel sockets with one token: one is let in', async () => {
      const text = await token(await running());
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const page = await open(text);
          page.hello();
          return page.next('ready').then(
            () => 'ready',
            () => page.closed.then(({ code }) => code),
          );
        }),
      );
      expect(outcomes.sort()).toEqual([4401, 4401, 4401, 4401, 4401, 4401, 4401, 'ready']);
    });

    test('dies after 60 s', async () => {
      const session = await running();
      const [early, late] = [await token(session), await token(session)];
      // Only the wall clock advances, so the sweep of old tokens does not run.
      world.clock.jump(59_999);
      const page = await open(early);
      page.hello();
      await page.next('ready');
      world.clock.jump(1);
      expect((await (await open(late)).closed).code).toBe(4401);
    });

    test('of a session that is over: 4404', async () => {
      const session = await running();
      const text = await token(session);
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      await world.until(session.id, 'stopped');
      expect((await (await open(text)).closed).code).toBe(4404);
    });

    test('of a session whose host is away: 4500', async () => {
      const text = await token(await running());
      await agent.drop();
      const page = await open(text);
      expect((await page.closed).code).toBe(4500);
      expect(page.messages).toMatchObject([{ type: 'error', code: 'relay_unavailable', fatal: true }]);
    });

    test('never shows in the log', async () => {
      const text = await token(await running());
      const page = await open(text);
      page.hello();
      await page.next('ready');
      // A request that does not become a socket has its own log line.
      expect((await world.call(null, 'GET', `/v1/signal?token=${text}`)).status).toBe(400);
      expect(world.log.join('')).toContain('"path":"/v1/signal"');
      expect(world.log.join('')).not.toContain(text);
    });
  });

  describe('hello', () => {
    test('is answered with ready, and the agent gets attach', async () => {
      const session = await world.running(world.people.alice, await world.app(), { profile_id: '1080p60' });
      const page = await open(await token(session));
      page.hello();
      const ready = await page.next('ready');
      expect(ready).toEqual({
        type: 'ready',
        protocol: 1,
        session: { id: session.id, state: 'running', state_detail: 'app presented' },
        stream: {
          codec: 'h264',
          width: 1920,
          height: 1080,
          fps: 60,
          audio: true,
          mic: false,
          recording: false,
        },
        ice_servers: [],
        conn: ready.conn,
      });
      expect(ready.conn).toBeGreaterThanOrEqual(world.clock.nowMs());
      const attach = await frame((one) => one.msg.type === 'attach');
      expect(attach).toMatchObject({
        session_id: session.id,
        conn: ready.conn,
        msg: { client_id: page.clientId, hello: { type: 'hello', codecs: ['h264'] }, ice_servers: [] },
      });
      expect(page.odd).toEqual([]);
    });

    test('must come within 5 s: 4408', async () => {
      const page = await open(await token(await running()));
      await eventually('closed', async () => {
        await world.pass(1_000, agent);
        return page.socket.readyState === 3 ? true : undefined;
      });
      expect((await page.closed).code).toBe(4408);
    });

    test.each([
      ['another message first', { type: 'bye' }],
      ['no JSON', 'nope'],
      ['no object', '[1]'],
      ['a hello that lacks a field', { type: 'hello', protocol: 1 }],
      [
        'a client id that is none',
        { type: 'hello', protocol: 1, client_id: 'x', client: { kind: 'browser' }, codecs: [] },
      ],
    ])('%s closes with 4400', async (_what, message) => {
      const page = await open(await token(await running()));
      page.send(message);
      expect((await page.closed).code).toBe(4400);
      expect(page.messages).toMatchObject([{ type: 'error', code: 'invalid_message', fatal: true }]);
    });

    test('a second one closes with 4400', async () => {
      const page = await viewer(await running());
      page.hello();
      expect((await page.closed).code).toBe(4400);
    });

    test('of another protocol version closes with 4406', async () => {
      const page = await open(await token(await running()));
      page.hello({ protocol: 2 });
      expect((await page.closed).code).toBe(4406);
    });

    test('without the codec of the session: an error, then 4415', async () => {
      const session = await running();
      await world.plane.platform.database.db.updateTable('sessions').set({ stream_codec: 'av1' }).execute();
      const page = await open(await token(session));
      page.hello({ codecs: ['h265'] });
      expect((await page.closed).code).toBe(4415);
      expect(page.messages).toMatchObject([{ type: 'error', code: 'codec_unsupported', fatal: true }]);
    });

    test('an unknown message before it is ignored', async () => {
      const page = await open(await token(await running()));
      page.send({ type: 'from_the_future' });
      page.hello();
      await page.next('ready');
    });

    test('a binary frame closes with 1003, one over 256 KiB with 1009', async () => {
      const session = await running();
      const binary = await open(await token(session));
      binary.socket.send(Buffer.from([1, 2]));
      expect((await binary.closed).code).toBe(1003);
      const large = await open(await token(session));
      large.send(`"${'x'.repeat(256 * 1024)}"`);
      expect((await large.closed).code).toBe(1009);
    });
  });

  describe('while the session starts', () => {
    test('session messages follow it, and attach comes with "starting encoder", not before', async () => {
      agent.behaviour.launch = [{ state: 'starting', detail: 'starting app' }];
      const { body } = await world.launch(world.people.alice, await world.app());
      const session = await world.until(body.session.id, 'starting');
      const page = await open(await token(session));
      page.hello();
      await page.next('ready');
      agent.reportState(session.id, 'starting', { detail: 'preparing more' });
      await page.next('session', (message) => message.state_detail === 'preparing more');
      expect(frames).toEqual([]);
      agent.reportState(session.id, 'starting', { detail: 'starting encoder' });
      await frame((one) => one.msg.type === 'attach');
      agent.reportState(session.id, 'running', { detail: 'app booting' });
      await page.next('session', (message) => message.state === 'running');
      expect(frames.filter((one) => one.msg.type === 'attach')).toHaveLength(1);
    });

    test('app_launch_state is told', async () => {
      const session = await running();
      const page = await viewer(session);
      agent.send({
        type: 'session_metrics',
        session_id: session.id,
        ts: 1,
        window_ms: 5000,
        metrics: {},
        app_launch_state: 'game_running',
      });
      await page.next('session', (message) => message.app_launch_state === 'game_running');
    });
  });

  describe('the relay', () => {
    const pc_id = randomUUID();

    test("carries the agent's messages to the page", async () => {
      const session = await running();
      const page = await viewer(session);
      const offer = { type: 'offer', pc_id, sdp: 'v=0', reason: 'first' } as const;
      agent.signal(session.id, await conn(page), offer);
      expect(await page.next('offer')).toEqual(offer);
      agent.signal(session.id, await conn(page), { type: 'candidate', pc_id, candidate: 'c', mid: '0' });
      agent.signal(session.id, await conn(page), { type: 'resumed', pc_id });
      await page.next('resumed');
      expect(page.messages.map((message) => message.type)).toEqual([
        'ready',
        'offer',
        'candidate',
        'resumed',
      ]);
    });

    test("and the page's to the agent", async () => {
      const session = await running();
      const page = await viewer(session);
      const messages = [
        { type: 'answer', pc_id, sdp: 'v=0' },
        { type: 'candidate', pc_id, candidate: 'c', mid: null },
        { type: 'renegotiate', pc_id, reason: 'user' },
        { type: 'bye', reason: 'leaving' },
      ];
      for (const message of messages) page.send(message);
      await frame((one) => one.msg.type === 'bye');
      expect(frames.slice(1).map((one) => one.msg)).toEqual(messages);
      expect(new Set(frames.map((one) => one.conn))).toEqual(new Set([await conn(page)]));
    });

    test('drops messages for an older connection', async () => {
      const session = await running();
      const page = await viewer(session);
      const number = await conn(page);
      agent.signal(session.id, number - 1, { type: 'resumed', pc_id: randomUUID() });
      agent.signal(session.id, number, { type: 'resumed', pc_id });
      expect((await page.next('resumed')).pc_id).toBe(pc_id);
    });

    test("drops another host's frames", async () => {
      const session = await running();
      const page = await viewer(session);
      const stranger = await world.host('hostb');
      stranger.signal(session.id, await conn(page), { type: 'bye', reason: 'session_ended' });
      await stranger.heard();
      expect(page.messages.map((message) => message.type)).toEqual(['ready']);
    });

    test('ignores surplus candidates and hasty renegotiations', async () => {
      const page = await viewer(await running());
      for (let count = 0; count < 80; count += 1)
        page.send({ type: 'candidate', pc_id, candidate: `${count}`, mid: null });
      for (let count = 0; count < 3; count += 1) page.send({ type: 'renegotiate', pc_id, reason: 'user' });
      page.send({ type: 'bye' });
      await frame((one) => one.msg.type === 'bye');
      expect(frames.filter((one) => one.msg.type === 'candidate')).toHaveLength(64);
      expect(frames.filter((one) => one.msg.type === 'renegotiate')).toHaveLength(1);
    });

    test('a flood closes with 4429, and the agent is told; the session goes on', async () => {
      const session = await running();
      const page = await viewer(session);
      for (let count = 0; count < 201; count += 1) page.send({ type: 'noise' });
      expect((await page.closed).code).toBe(4429);
      await frame((one) => one.msg.type === 'detach' && one.msg.reason === 'closed');
      expect((await world.session(session.id)).state).toBe('running');
    });

    test('an agent that does not read: the page is closed with 4429, and the agent is told when it reads again', async () => {
      const session = await running();
      const page = await viewer(session);
      agent.deafen();
      await fillQueue(session);
      page.send({ type: 'renegotiate', pc_id, reason: 'user' });
      expect((await page.closed).code).toBe(4429);
      agent.hearAgain();
      const number = await conn(page);
      await frame((one) => one.conn === number && one.msg.type === 'detach' && one.msg.reason === 'closed');
    });

    test('a page that leaves is detached', async () => {
      const page = await viewer(await running());
      const number = await conn(page);
      page.socket.close();
      await frame((one) => one.conn === number && one.msg.type === 'detach');
    });

    test.each([
      ['codec_unsupported', 4415],
      ['invalid_message', 4400],
      ['internal', 4500],
    ] as const)('a fatal %s of the agent closes with %i', async (code, close) => {
      const session = await running();
      const page = await viewer(session);
      agent.signal(session.id, await conn(page), { type: 'error', code, message: 'no', fatal: true });
      expect((await page.closed).code).toBe(close);
      expect(page.messages.at(-1)).toMatchObject({ type: 'error', code });
    });

    test('an error that is not fatal closes nothing', async () => {
      const session = await running();
      const page = await viewer(session);
      agent.signal(session.id, await conn(page), {
        type: 'error',
        code: 'ice_timeout',
        message: 'no',
        fatal: false,
      });
      await page.next('error');
      expect(page.socket.readyState).toBe(1);
    });
  });

  describe('one viewer at a time', () => {
    test('another page takes over: bye, 4410, and a higher conn attaches', async () => {
      const session = await running();
      const older = await viewer(session);
      const newer = await viewer(session);
      expect((await older.closed).code).toBe(4410);
      expect(older.messages.at(-1)).toEqual({ type: 'bye', reason: 'taken_over' });
      expect(await conn(newer)).toBeGreaterThan(await conn(older));
      expect(newer.socket.readyState).toBe(1);
    });

    test('the same page with a new socket replaces its own without a takeover', async () => {
      const session = await running();
      const older = await viewer(session);
      const newer = await viewer(session, { clientId: older.clientId });
      expect((await older.closed).code).toBe(1000);
      expect(older.messages.map((message) => message.type)).toEqual(['ready']);
      expect(frames.filter((one) => one.msg.type === 'detach')).toEqual([]);
      expect(newer.socket.readyState).toBe(1);
    });

    test('a newer socket of the page that is never attached leaves no older one attached', async () => {
      const session = await running();
      const older = await viewer(session);
      agent.deafen();
      await fillQueue(session);
      const newer = await open(await token(session), { clientId: older.clientId });
      newer.hello();
      expect((await older.closed).code).toBe(1000);
      expect((await newer.closed).code).toBe(4429);
      agent.hearAgain();
      const number = await conn(older);
      await frame((one) => one.conn === number && one.msg.type === 'detach' && one.msg.reason === 'closed');
    });
  });

  describe('ends', () => {
    test('with the session: bye session_ended, 4404', async () => {
      const session = await running();
      const page = await viewer(session);
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
      expect((await page.closed).code).toBe(4404);
      expect(page.messages.at(-1)).toEqual({ type: 'bye', reason: 'session_ended' });
    });

    test("with the host's link: 4500, while the session waits", async () => {
      const session = await running();
      const page = await viewer(session);
      await agent.drop();
      expect((await page.closed).code).toBe(4500);
      expect((await world.session(session.id)).state).toBe('running');
    });

    test('with the service: 1012', async () => {
      const page = await viewer(await running());
      await world.plane.close();
      expect((await page.closed).code).toBe(1012);
      expect(page.messages.at(-1)).toEqual({ type: 'bye', reason: 'going_away' });
    });

    test('after 120 s of silence: 4408; a pong counts as a message', async () => {
      const session = await running();
      const lively = await viewer(session);
      await world.pass(125_000, agent);
      expect(lively.socket.readyState).toBe(1);
      const silent = await viewer(session, { autoPong: false });
      await eventually('closed', async () => {
        await world.pass(30_000, agent);
        return silent.socket.readyState === 3 ? true : undefined;
      });
      expect((await silent.closed).code).toBe(4408);
    });
  });
});
