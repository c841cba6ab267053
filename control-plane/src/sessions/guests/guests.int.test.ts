import { randomBytes } from 'node:crypto';
import { MINUTE_MS } from '@footlight/platform';
import { AGENT_FEATURES, type ControlSignaling, type SessionGuests } from '@footlight/protocol/agent';
import type { Session } from '@footlight/protocol/rest';
import type { FakeAgent } from '@footlight/test-harness';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Agents } from '../../fleet/agents.ts';
import { openPage, type SignalPage } from '../../signaling/testing/page.ts';
import { describeDatabases, ofOneProcess, takeOverLease } from '../../testing/index.ts';
import { sent, waitSent } from '../testing/commands.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../testing/world.ts';

describeDatabases('guests of a session', (databases) => {
  let world: SessionsWorld;
  let agent: FakeAgent;
  let session: Session;
  let frames: ControlSignaling[];
  const pages: SignalPage[] = [];

  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
    frames = [];
    agent = await world.host('hosta', { onSignaling: (frame) => void frames.push(frame) });
    session = await world.running(world.people.alice, await world.app());
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    for (const page of pages.splice(0)) page.socket.terminate();
    await world.close();
  });

  const pathOf = ({ id }: Pick<Session, 'id'>) => `/v1/sessions/${id}/guests`;
  const share = (role = 'watch', minutes = 60, of: Session = session) =>
    world.call(world.people.alice, 'POST', pathOf(of), { body: { role, minutes } });
  const join = (secret: string, name = 'Ada') =>
    world.call(null, 'POST', '/v1/guests/join', { body: { secret, name } });
  const list = async () => (await world.call(world.people.alice, 'GET', pathOf(session))).body;
  const remove = (guestId: string) =>
    world.call(world.people.alice, 'DELETE', `${pathOf(session)}/${guestId}`);
  async function open(token: string): Promise<SignalPage> {
    const page = await openPage(world.url, token);
    pages.push(page);
    return page;
  }
  /** Joins and waits until the guest's page is attached at the agent. */
  async function watch(secret: string, name?: string): Promise<{ page: SignalPage; conn: number }> {
    const page = await open((await join(secret, name)).body.signaling.token);
    page.hello();
    const { conn } = await page.next('ready');
    await eventually('attached', () => frames.find((one) => one.conn === conn && one.msg.type === 'attach'));
    return { page, conn };
  }
  const lists = () => sent(agent, 'session_guests', session.id) as unknown as SessionGuests[];

  test('the owner makes a link, a guest joins with a name, and the host learns who may do what', async () => {
    const shared = await share('gamepad', 60);
    expect(shared.status).toBe(201);
    const { guest, secret } = shared.body;
    expect(guest).toMatchObject({ role: 'gamepad', pad_index: 1, name: null });
    expect(Date.parse(guest.expires_at)).toBe(world.clock.nowMs() + 60 * MINUTE_MS);
    expect(lists().at(-1)?.guests).toEqual([
      { id: guest.id, role: 'gamepad', pad_index: 1, ends_in_ms: 60 * MINUTE_MS },
    ]);
    const joined = await join(secret, '  Ada \u202e L.\n');
    expect([joined.status, joined.body.guest]).toEqual([
      201,
      { id: guest.id, role: 'gamepad', pad_index: 1 },
    ]);
    const page = await open(joined.body.signaling.token);
    page.hello();
    const ready = await page.next('ready');
    expect(ready.session.state_detail).toBeNull();
    const attach = await eventually('attached', () => frames.find((one) => one.msg.type === 'attach'));
    expect(attach.msg).toMatchObject({ guest: { id: guest.id, name: 'Ada L.' } });
    expect((await list()).guests).toMatchObject([{ id: guest.id, name: 'Ada L.' }]);
    expect(await world.activity('session.shared')).toHaveLength(1);
  });

  test('a link is at the public address if there is one, otherwise at the address of the request', async () => {
    const make = (of: SessionsWorld, id: string) =>
      of.call(of.people.alice, 'POST', pathOf({ id }), {
        body: { role: 'watch', minutes: 60 },
        headers: { host: 'play.example.org' },
      });
    expect((await make(world, session.id)).body.url).toBeNull();
    const named = await openSessionsWorld(await databases.fresh(), undefined, {
      PUBLIC_BASE_URL: 'https://footlight.example.org:8443',
    });
    try {
      await named.host('hosta');
      const { id } = await named.running(named.people.alice, await named.app());
      const { secret, url } = (await make(named, id)).body;
      expect(url).toBe(`https://footlight.example.org:8443/join#${secret}`);
    } finally {
      await named.close();
    }
  });

  test('the TURN credentials of a guest are not those of the owner, because the server counts relays by them', async () => {
    const turn = await openSessionsWorld(await databases.fresh(), undefined, {
      SERVICE_TURN_URLS: 'turn:turn.example.org',
      SERVICE_TURN_SECRET: 'a-turn-secret-of-24-chars',
    });
    try {
      await turn.host('hosta');
      const { id } = await turn.running(turn.people.alice, await turn.app());
      const made = await turn.call(turn.people.alice, 'POST', pathOf({ id }), {
        body: { role: 'watch', minutes: 60 },
      });
      const { secret, guest } = made.body;
      const joined = await turn.call(null, 'POST', '/v1/guests/join', { body: { secret, name: 'Ada' } });
      expect(joined.body.signaling.ice_servers[0].username).toMatch(new RegExp(`^\\d+:${guest.id}$`));
    } finally {
      await turn.close();
    }
  });

  test('the secret is stored and logged only as a digest', async () => {
    const { secret } = (await share()).body;
    await join(secret);
    const { db } = world.plane.platform.database;
    const rows = [
      await db.selectFrom('session_guests').selectAll().execute(),
      await db.selectFrom('guest_tokens').selectAll().execute(),
    ];
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(world.log.join('')).not.toContain(secret);
  });

  test('a guest and the owner do not replace each other, and their sockets have numbers of their own', async () => {
    const ownToken = async () =>
      (await world.call(world.people.alice, 'POST', `/v1/sessions/${session.id}/signaling-token`)).body
        .signaling.token;
    const own = await open(await ownToken());
    own.hello();
    const ownConn = (await own.next('ready')).conn;
    const { page, conn } = await watch((await share()).body.secret);
    expect(conn).toBeGreaterThan(100_000_000_000_000);
    expect(ownConn).toBeLessThan(100_000_000_000_000);
    const second = await open(await ownToken());
    second.hello();
    expect((await own.closed).code).toBe(4410);
    expect(page.socket.readyState).toBe(page.socket.OPEN);
    // The same link in another browser replaces the first guest.
    await watch((await share()).body.secret, 'Bob');
    expect(page.socket.readyState).toBe(page.socket.OPEN);
  });

  test('the same link in another browser replaces the first one', async () => {
    const { secret } = (await share()).body;
    const { page } = await watch(secret);
    await watch(secret, 'Bob');
    expect((await page.closed).code).toBe(4410);
    expect((await list()).guests).toMatchObject([{ name: 'Bob' }]);
  });

  test('messages of the host for the owner do not reach a guest', async () => {
    const { page, conn } = await watch((await share()).body.secret);
    const offer = { type: 'offer', pc_id: session.id, sdp: 'v=0', reason: 'first' } as const;
    agent.signal(session.id, conn - 1, offer);
    agent.signal(session.id, conn, { ...offer, sdp: 'v=0 for the guest' });
    expect((await page.next('offer')).sdp).toBe('v=0 for the guest');
  });

  describe('a removed guest', () => {
    test('loses the socket at once, the host disconnects the media, and neither link nor ticket works again', async () => {
      const { guest, secret } = (await share('full')).body;
      const { page } = await watch(secret);
      const early = (await join(secret)).body.signaling.token;
      const before = lists().length;
      expect((await remove(guest.id)).status).toBe(204);
      expect((await page.closed).code).toBe(4403);
      await waitSent(agent, 'session_guests', session.id, before + 1);
      expect(lists().at(-1)?.guests).toEqual([]);
      expect(lists().at(-1)?.version).toBeGreaterThan(lists().at(-2)?.version ?? 0);
      expect((await (await open(early)).closed).code).toBe(4401);
      const again = await join(secret);
      expect([again.status, again.body.error.code]).toEqual([404, 'guest_link_invalid']);
      expect((await list()).guests).toEqual([]);
      expect((await remove(guest.id)).status).toBe(204);
    });

    test('whose host did not confirm: the owner learns it, and the host is told again until it confirms', async () => {
      const { guest } = (await share('full')).body;
      const { answer } = agent.behaviour;
      agent.behaviour.answer = () => ({ code: 'busy', error: 'not now' });
      for (const _ of ['first', 'repeated']) {
        const refused = await remove(guest.id);
        expect([refused.status, refused.body.error.code]).toEqual([503, 'agent_not_connected']);
      }
      expect(await world.activity('session.guest_removed')).toHaveLength(1);
      agent.behaviour.answer = answer;
      const before = lists().length;
      await world.plane.platform.leader.runNow('sessions.guests');
      expect(lists()).toHaveLength(before + 1);
      expect(lists().at(-1)?.guests).toEqual([]);
      await world.plane.platform.leader.runNow('sessions.guests');
      expect(lists()).toHaveLength(before + 1);
      expect((await remove(guest.id)).status).toBe(204);
    });

    test('is also removed from a draining host, whose sessions go on, when it confirms later', async () => {
      const { guest } = (await share()).body;
      await world.call(world.people.admin, 'POST', `/v1/hosts/${agent.hostId}/drain`);
      const { answer } = agent.behaviour;
      agent.behaviour.answer = () => ({ code: 'busy', error: 'not now' });
      expect((await remove(guest.id)).status).toBe(503);
      agent.behaviour.answer = answer;
      const before = lists().length;
      await world.plane.platform.leader.runNow('sessions.guests');
      expect(lists().slice(before)).toMatchObject([{ guests: [] }]);
    });

    test('is removed from a host that was not connected as soon as it is', async () => {
      const { guest } = (await share()).body;
      const { guest: stays } = (await share()).body;
      await agent.drop();
      await remove(guest.id);
      agent.hold({ session_id: session.id, app_id: session.app_id });
      const before = lists().length;
      await world.reconnect(agent);
      await waitSent(agent, 'session_guests', session.id, before + 1);
      expect(
        lists()
          .at(-1)
          ?.guests.map(({ id }) => id),
      ).toEqual([stays.id]);
    });
  });

  test('when the time is over the socket is closed, and the link does not work', async () => {
    const { secret } = (await share('watch', 5)).body;
    const { page } = await watch(secret);
    await world.pass(5 * MINUTE_MS, agent);
    expect((await page.closed).code).toBe(4403);
    expect((await join(secret)).body.error.code).toBe('guest_link_invalid');
    expect((await list()).guests).toEqual([]);
  });

  test('a link works only for its session, and not after the end of the session', async () => {
    const other = await world.running(world.people.bob, await world.app());
    const { secret } = (await share()).body;
    const { page } = await watch(secret);
    expect((await page.next('ready')).session.id).toBe(session.id);
    expect(frames.every(({ session_id }) => session_id !== other.id)).toBe(true);
    await world.call(world.people.alice, 'DELETE', `/v1/sessions/${session.id}`);
    expect((await page.closed).code).toBe(4404);
    expect((await join(secret)).body.error.code).toBe('guest_link_invalid');
  });

  test('a guest of an account that was disabled cannot join', async () => {
    const { secret } = (await share()).body;
    const early = (await join(secret)).body.signaling.token;
    const disabled = { disabled: true };
    await world.call(world.people.admin, 'PATCH', `/v1/users/${world.people.alice.id}`, { body: disabled });
    expect((await join(secret)).body.error.code).toBe('guest_link_invalid');
    expect((await (await open(early)).closed).code).toBe(4401);
  });

  test('a secret is no token: neither of the API nor of the socket', async () => {
    const { secret } = (await share('full')).body;
    const { token } = (await join(secret)).body.signaling;
    for (const stolen of [secret, token]) {
      const headers = { authorization: `Bearer ${stolen}` };
      for (const [method, path] of [
        ['DELETE', `/v1/sessions/${session.id}`],
        ['POST', `/v1/sessions/${session.id}/signaling-token`],
        ['GET', pathOf(session)],
        ['GET', '/v1/me'],
      ] as const)
        expect((await world.call(null, method, path, { headers })).status).toBe(401);
    }
    expect((await (await open(secret)).closed).code).toBe(4401);
    expect((await world.session(session.id)).state).toBe('running');
  });

  test('only the owner sees, makes and ends links', async () => {
    const { guest } = (await share()).body;
    for (const person of [world.people.bob, world.people.admin]) {
      expect((await world.call(person, 'GET', pathOf(session))).status).toBe(403);
      expect((await world.call(person, 'DELETE', `${pathOf(session)}/${guest.id}`)).status).toBe(403);
      const made = await world.call(person, 'POST', pathOf(session), { body: { role: 'full', minutes: 60 } });
      expect(made.status).toBe(403);
    }
    const other = await world.running(world.people.bob, await world.app());
    const foreign = await world.call(world.people.bob, 'DELETE', `${pathOf(other)}/${guest.id}`);
    expect(foreign.status).toBe(404);
    expect((await list()).guests).toHaveLength(1);
  });

  test('is refused for an old agent, with a message', async () => {
    await agent.drop();
    await world.host('hostb', { features: AGENT_FEATURES.filter((feature) => feature !== 'guests') });
    const old = await world.running(world.people.bob, await world.app());
    const answer = await world.call(world.people.bob, 'POST', pathOf(old), {
      body: { role: 'watch', minutes: 60 },
    });
    expect([answer.status, answer.body.error.code]).toEqual([409, 'sharing_unsupported']);
    expect((await world.call(world.people.bob, 'GET', pathOf(old))).body.can_share).toBe(false);
  });

  test('a link that the host did not accept does not stay', async () => {
    await agent.drop();
    const answer = await share();
    expect([answer.status, answer.body.error.code]).toEqual([503, 'agent_not_connected']);
    expect((await list()).guests).toEqual([]);
  });

  describe('when an administrator switches sharing off', () => {
    const change = (guest_sharing_enabled: boolean) =>
      world.call(world.people.admin, 'PATCH', '/v1/admin/settings', { body: { guest_sharing_enabled } });

    test('all guests of all sessions are disconnected at once, and their links never work again', async () => {
      const other = await world.running(world.people.bob, await world.app());
      const others = `/v1/sessions/${other.id}/guests`;
      const shared = await world.call(world.people.bob, 'POST', others, {
        body: { role: 'full', minutes: 60 },
      });
      const { page: player } = await watch(shared.body.secret, 'Cy');
      const { secret } = (await share()).body;
      const { page: watcher } = await watch(secret);
      const unused = (await join((await share()).body.secret)).body.signaling.token;

      expect((await change(false)).status).toBe(200);
      for (const { id } of [session, other])
        await eventually('the host is told', () => {
          const told = sent(agent, 'session_guests', id) as unknown as SessionGuests[];
          return told.at(-1)?.guests.length === 0 || undefined;
        });
      expect((await watcher.closed).code).toBe(4403);
      expect((await player.closed).code).toBe(4403);
      expect((await (await open(unused)).closed).code).toBe(4401);
      expect(await list()).toMatchObject({ can_share: false, guests: [] });

      await change(true);
      expect((await join(secret)).body.error.code).toBe('guest_link_invalid');
      expect((await share()).status).toBe(201);
    });

    test('the answer does not wait for a host that is silent, and its guests are disconnected', async () => {
      const { page } = await watch((await share()).body.secret);
      agent.behaviour.answer = () => 'silence';
      expect((await change(false)).status).toBe(200);
      expect((await page.closed).code).toBe(4403);
    });

    test('no link can be made or used', async () => {
      const { secret } = (await share()).body;
      await change(false);
      expect((await share()).body.error.code).toBe('sharing_disabled');
      expect((await join(secret)).body.error.code).toBe('sharing_disabled');
    });

    test('a host that was not connected is told when it connects', async () => {
      await share();
      await agent.drop();
      agent.hold({ session_id: session.id, app_id: session.app_id });
      await change(false);
      const before = lists().length;
      await world.reconnect(agent);
      await waitSent(agent, 'session_guests', session.id, before + 1);
      expect(lists().at(-1)?.guests).toEqual([]);
    });

    const sweep = () => world.plane.platform.leader.runNow('sessions.guests');
    /** Switches sharing off, and stores a link that another replica made at the same moment. */
    async function switchOffWithLink(): Promise<void> {
      const { guest } = (await share()).body;
      await change(false);
      const { db } = world.plane.platform.database;
      await db.updateTable('session_guests').set({ ended_at: null }).where('id', '=', guest.id).execute();
    }

    test('a link that another replica made at this moment ends with the next run of the leader', async () => {
      const { page } = await watch((await share()).body.secret);
      await switchOffWithLink();
      await sweep();
      expect((await page.closed).code).toBe(4403);
      expect((await list()).guests).toEqual([]);
    });

    // A second process would take the lease and end the link.
    ofOneProcess('a former leader ends no link', async () => {
      await sweep();
      await switchOffWithLink();
      await takeOverLease(world.plane.platform.database, 'sessions.guests');
      await sweep();
      expect((await list()).guests).toHaveLength(1);
    });

    test('a leader that read the setting before sharing was switched on again ends no link', async () => {
      await switchOffWithLink();
      const { db } = world.plane.platform.database;
      // Stored without the message to the replicas, so they still use the value that they read before.
      await db.updateTable('instance_settings').set({ guest_sharing_enabled: 1 }).execute();
      await sweep();
      expect((await list()).guests).toHaveLength(1);
    });
  });

  test('the owner sees the guests also if the replica with the link of the host does not answer', async () => {
    await share();
    vi.spyOn(Agents.prototype, 'link').mockRejectedValue(new Error('no answer'));
    expect(await list()).toMatchObject({ can_share: false, guests: [{}] });
  });

  test.each([
    ['no role', { minutes: 60 }],
    ['an unknown role', { role: 'owner', minutes: 60 }],
    ['four minutes', { role: 'watch', minutes: 4 }],
    ['more than a day', { role: 'watch', minutes: 24 * 60 + 1 }],
  ])('%s is refused', async (_, body) => {
    expect((await world.call(world.people.alice, 'POST', pathOf(session), { body })).status).toBe(400);
  });

  ofOneProcess('ten wrong secrets of an address in a minute: no more, but a valid link works', async () => {
    const { secret } = (await share()).body;
    const guess = () => join(randomBytes(32).toString('hex'));
    for (let count = 0; count < 10; count += 1) expect((await guess()).status).toBe(404);
    expect((await guess()).status).toBe(429);
    expect((await join(secret)).status).toBe(201);
    await world.clock.pass(MINUTE_MS);
    expect((await guess()).status).toBe(404);
  });

  ofOneProcess('a link gets 20 tokens in a minute, from whatever address', async () => {
    const [{ secret }, other] = [(await share()).body, (await share()).body];
    for (let count = 0; count < 20; count += 1) expect((await join(secret)).status).toBe(201);
    expect((await join(secret)).status).toBe(429);
    expect((await join(other.secret)).status).toBe(201);
    await world.clock.pass(MINUTE_MS);
    expect((await join(secret)).status).toBe(201);
  });

  test('a name of spaces or of invisible characters is refused', async () => {
    const { secret } = (await share()).body;
    for (const name of ['', '   ', '\u202e\u0007', '\u200b\u2060\u00ad\u200e\u061c\u{e0041}'])
      expect((await join(secret, name)).status).toBe(400);
    const { status } = await join(secret, 'é'.repeat(40));
    expect(status).toBe(201);
    expect((await list()).guests[0].name).toBe('é'.repeat(32));
  });
});
