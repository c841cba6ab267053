import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { AGENT_CLOSE, type ControlSignaling } from '@footlight/protocol/agent';
import type { Session } from '@footlight/protocol/rest';
import { FakeAgent, type FakeAgentOptions, softwareCapacity } from '@footlight/test-harness';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startFakeRegistry } from '../images/testing/fake-registry.ts';
import { eventually, openSessionsWorld, type SessionsWorld } from '../sessions/testing/world.ts';
import { openPage } from '../signaling/testing/page.ts';
import { type Answer, describePostgres, type Person } from '../testing/index.ts';
import type { OneReplica } from '../testing/replicas.ts';

const TOKEN = 'a-fixed-enrollment-token';
const SECOND_MS = 1_000;

describePostgres('three control planes on one Postgres and one NATS', ({ fresh }) => {
  let world: SessionsWorld;
  let first: OneReplica;
  let second: OneReplica;
  let third: OneReplica;
  let appId: string;
  const agents: FakeAgent[] = [];

  beforeEach(async () => {
    world = await openSessionsWorld(await fresh(), undefined, {}, { replicas: 3 });
    [first, second, third] = world.replicas!.each as [OneReplica, OneReplica, OneReplica];
    appId = await world.app();
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) await agent.drop();
    await world.close();
  });

  async function at(
    { plane }: OneReplica,
    as: Person,
    method: 'GET' | 'POST' | 'DELETE' | 'PATCH',
    url: string,
    payload?: object,
  ): Promise<Pick<Answer, 'status' | 'body'>> {
    const headers = { authorization: `Bearer ${as.token}` };
    const answer = await plane.inject({ method, url, headers, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.body === '' ? undefined : JSON.parse(answer.body) };
  }
  /** A host that is connected to this replica and accepts sessions. */
  async function hostAt({ url }: OneReplica, options: Partial<FakeAgentOptions> = {}): Promise<FakeAgent> {
    const agent = new FakeAgent({
      ...{ url, nodeName: 'host-a', credential: { token: TOKEN }, heartbeatMs: 0, clock: world.clock },
      ...options,
    });
    agents.push(agent);
    await connected(agent);
    return agent;
  }
  async function connected(agent: FakeAgent): Promise<void> {
    await agent.connect();
    await eventually('the host takes sessions', async () => {
      const { body } = await at(first, world.people.admin, 'GET', `/v1/hosts/${agent.hostId}`);
      return body.status === 'online' && body.capacity_detection === 'ok' ? true : undefined;
    });
  }
  /**
   * Connects the same agent process to another replica, while the first replica still considers the older connection
   * open.
   */
  function sameProcess({ url }: OneReplica, agent: FakeAgent): FakeAgent {
    const same = new FakeAgent({ ...agent.options, url, credential: { secret: agent.secret as string } });
    same.bootId = agent.bootId;
    for (const held of agent.sessions.values()) same.hold(held);
    agents.push(same);
    return same;
  }
  async function movedTo(replica: OneReplica, agent: FakeAgent): Promise<FakeAgent> {
    const moved = sameProcess(replica, agent);
    await connected(moved);
    return moved;
  }
  const launchAt = async (replica: OneReplica): Promise<Session> => {
    const { body } = await at(replica, world.people.alice, 'POST', '/v1/sessions', { app_id: appId });
    return body.session;
  };
  const sessionAt = async (replica: OneReplica, id: string): Promise<Session> =>
    (await at(replica, world.people.alice, 'GET', `/v1/sessions/${id}`)).body.session;
  const untilAt = (replica: OneReplica, id: string, isSo: (session: Session) => boolean, what: string) =>
    eventually(what, async () => {
      const session = await sessionAt(replica, id);
      return isSo(session) ? session : undefined;
    });
  const runs = ({ state }: Session): boolean => state === 'running';

  test('a launch, a stop and a record reach the host, whichever replica they are asked of', async () => {
    const agent = await hostAt(first);
    const { id } = await launchAt(second);
    await untilAt(third, id, runs, 'it runs');
    const metrics = { abr_setpoint_kbps: 4_000 };
    agent.send({
      type: 'session_metrics',
      session_id: id,
      ts: world.clock.nowMs(),
      window_ms: 5_000,
      metrics,
    });
    await eventually('a replica without the link shows what the host measured', async () => {
      const { body } = await at(third, world.people.admin, 'GET', '/v1/admin/sessions');
      return body.items[0]?.latest_metrics.agent?.metrics.abr_setpoint_kbps === 4_000 ? true : undefined;
    });
    expect((await at(third, world.people.alice, 'DELETE', `/v1/sessions/${id}`)).status).toBe(202);
    await untilAt(second, id, ({ state }) => state === 'stopped', 'it has stopped');
    expect(agent.commands.map(({ type }) => type).filter((type) => type.startsWith('session_'))).toEqual([
      'session_assign',
      'session_start',
      'session_stop',
    ]);
  });

  test('a viewer and a host at two replicas talk; a later viewer at the third takes over, though its clock is late', async () => {
    const frames: ControlSignaling[] = [];
    await hostAt(first, { onSignaling: (frame) => void frames.push(frame) });
    const { id } = await launchAt(first);
    await untilAt(second, id, runs, 'it runs');
    const token = async (): Promise<string> =>
      (await at(third, world.people.alice, 'POST', `/v1/sessions/${id}/signaling-token`)).body.signaling
        .token;
    const attached = (conn: number) =>
      eventually('attached', () => frames.find((one) => one.conn === conn && one.msg.type === 'attach'));
    const one = await openPage(second.url, await token());
    one.hello();
    const { conn } = await one.next('ready');
    await attached(conn);
    const agent = agents[0] as FakeAgent;
    agent.signal(id, conn, { type: 'offer', pc_id: randomUUID(), sdp: 'v=0', reason: 'first' });
    await one.next('offer');

    world.clock.jump(-60 * SECOND_MS);
    const other = await openPage(third.url, await token());
    other.hello();
    const later = await other.next('ready');
    expect(later.conn).toBeGreaterThan(conn);
    await attached(later.conn);
    expect((await one.closed).reason).toMatch(/took over/);
    for (const page of [one, other]) page.socket.terminate();
  });

  test('a host that comes to another replica is taken from the first, and goes on with its sessions', async () => {
    const agent = await hostAt(first);
    const { id } = await launchAt(third);
    await untilAt(first, id, runs, 'it runs');
    await eventually('its reports are confirmed', () => (agent.unseen === 0 ? true : undefined));
    const { seen } = agent;
    const closed = agent.closed;
    const moved = sameProcess(second, agent);
    const registered = await moved.connect();
    expect(registered.last_seq).toBe(seen);
    expect((await closed).code).toBe(AGENT_CLOSE.displaced);
    expect(first.plane.fleet.links.holds(agent.hostId as string)).toBe(false);
    await eventually('the host is back', async () => {
      const { body } = await at(third, world.people.admin, 'GET', `/v1/hosts/${agent.hostId}`);
      return body.status === 'online' && body.capacity_detection === 'ok' ? true : undefined;
    });
    expect(await sessionAt(third, id)).toMatchObject({ state: 'running', state_detail: 'host_reconnected' });
    await at(first, world.people.alice, 'DELETE', `/v1/sessions/${id}`);
    await eventually('the stop arrived', () => moved.commands.find(({ type }) => type === 'session_stop'));
  });

  test('the seconds of a viewer are summed, though each post reaches another replica', async () => {
    const agent = await hostAt(first);
    const { id } = await launchAt(first);
    for (const replica of [first, second, third]) await untilAt(replica, id, runs, 'it runs');
    for (let post = 0; post < 5; post += 1) {
      await world.pass(5 * SECOND_MS, agent);
      const samples = [4, 3, 2, 1, 0].map((before) => ({
        ts_unix_ms: world.clock.nowMs() - before * SECOND_MS,
        metrics: { fps: 30 },
        client_health: 'decode_degrading',
      }));
      const replica = [second, third, first][post % 3] as OneReplica;
      const { status } = await at(replica, world.people.alice, 'POST', `/v1/sessions/${id}/stats`, {
        samples,
      });
      expect(status).toBe(202);
      await eventually('the replica with the link has received the post', async () => {
        const { body } = await at(first, world.people.admin, 'GET', '/v1/admin/sessions');
        const ts = body.items[0]?.latest_metrics.browser?.ts_unix_ms;
        return ts === samples[4]?.ts_unix_ms ? true : undefined;
      });
    }
    for (const replica of [first, second, third])
      await untilAt(replica, id, (now) => now.health_state === 'client_decode_degrading', 'all show it');
  });

  test('a host that failed to fetch an image is asked again, though the image was installed at another replica', async () => {
    const registry = await startFakeRegistry();
    try {
      await world.close();
      world = await openSessionsWorld(await fresh(), undefined, registry.env, { replicas: 3 });
      [first, second, third] = world.replicas!.each as [OneReplica, OneReplica, OneReplica];
      const agent = await hostAt(first, {
        behaviour: { pull: [{ state: 'failed', error: 'The disk is full.' }] },
      });
      registry.publish('example/desk', '1');
      const registry_ref = `${registry.host}/example/desk:1`;
      registry.images = [{ id: 'desk', display_name: 'Desk', kind: 'prebuilt', version: '1', registry_ref }];
      await at(second, world.people.admin, 'POST', '/v1/admin/images/sync', {});
      await at(third, world.people.admin, 'POST', '/v1/admin/images/desk/install', {});
      const shows = (state: string) =>
        eventually(`the image is ${state}`, async () => {
          const { body } = await at(second, world.people.admin, 'GET', '/v1/admin/images');
          return body.images[0].hosts[0]?.state === state ? true : undefined;
        });
      await shows('failed');
      await agent.heard();
      agent.behaviour.pull = [{ state: 'ready', bytes: 5 }];
      await world.pass(30 * SECOND_MS, agent);
      await shows('ready');
    } finally {
      await registry.close();
    }
  });

  test('a host fetches an image that another replica installed while NATS was away, though the first read fails', async () => {
    const registry = await startFakeRegistry();
    try {
      await world.close();
      world = await openSessionsWorld(await fresh(), undefined, registry.env, { replicas: 3 });
      [first, second, third] = world.replicas!.each as [OneReplica, OneReplica, OneReplica];
      const agent = await hostAt(first);
      registry.publish('example/desk', '1');
      const registry_ref = `${registry.host}/example/desk:1`;
      registry.images = [{ id: 'desk', display_name: 'Desk', kind: 'prebuilt', version: '1', registry_ref }];
      await at(second, world.people.admin, 'POST', '/v1/admin/images/sync', {});
      const { nats } = world.replicas!;
      await nats.crash();
      await eventually('all know that it is away', () =>
        world.log.filter((line) => line.includes('bus.lost')).length === 3 ? true : undefined,
      );
      await at(third, world.people.admin, 'POST', '/v1/admin/images/desk/install', {});
      expect(agent.commands.filter(({ type }) => type === 'image_ensure')).toEqual([]);
      const { db } = first.plane.platform.database;
      const read = vi.spyOn(db, 'selectFrom').mockImplementation(() => {
        throw new Error('broken by the test');
      });
      await nats.start();
      await eventually('the first read after the gap failed', () =>
        world.log.find((line) => line.includes('images.ensure_failed')),
      );
      read.mockRestore();
      await world.pass(SECOND_MS, agent);
      await eventually('the host is told', () => agent.commands.find(({ type }) => type === 'image_ensure'));
    } finally {
      await registry.close();
    }
  });

  test('a recording is downloaded from one replica while its host sends it to another', async () => {
    const { admin } = world.people;
    await at(first, admin, 'PATCH', '/v1/admin/settings', { flight_recorder_enabled: true });
    const agent = await hostAt(first);
    const { id } = await launchAt(first);
    await untilAt(first, id, runs, 'it runs');
    const path = `/v1/admin/sessions/${id}/recordings`;
    const recording_id = (await at(second, admin, 'POST', path)).body.recording_id as string;
    const file = Buffer.alloc(3 * 1024 * 1024, 'a recording ');
    const event = { type: 'session_trace_event', session_id: id, event: 'session.recording' } as const;
    agent.report({
      ...{ ...event, ts: world.clock.nowMs() },
      payload: { recording_id, state: 'ready', bytes: file.length, duration_ms: 59_000 },
    });
    await eventually('it is ready', async () => {
      const { body } = await at(third, admin, 'GET', path);
      return body.items[0]?.state === 'ready' ? true : undefined;
    });
    const download = fetch(`${second.url}${path}/${recording_id}`, {
      headers: { authorization: `Bearer ${admin.token}` },
    });
    await eventually('the host is asked for it', () =>
      agent.commands.find((one) => one.type === 'session_recording' && one.op === 'upload'),
    );
    const taken = new Promise<number | undefined>((resolve, reject) => {
      const upload = httpRequest(
        new URL(`/v1/agent/recordings/${recording_id}`, third.url),
        {
          method: 'PUT',
          headers: { ...agent.headers(), 'content-type': 'video/mp4', 'content-length': file.length },
        },
        (response) => resolve(response.statusCode),
      );
      upload.once('error', reject);
      upload.end(file);
    });
    const received = Buffer.from(await (await download).arrayBuffer());
    expect(received.equals(file)).toBe(true);
    expect(await taken).toBe(204);
  });

  test('while NATS is away each serves its own hosts, nothing ends, and a host that went to another one is taken over afterwards', async () => {
    const nats = world.replicas!.nats;
    const lines = (event: string) => world.log.filter((line) => line.includes(event)).length;
    const agent = await hostAt(first);
    const before = await launchAt(second);
    await untilAt(third, before.id, runs, 'it runs');
    await nats.crash();
    await eventually('all know that it is away', () => (lines('bus.lost') === 3 ? true : undefined));

    const own = await launchAt(first);
    await untilAt(first, own.id, runs, 'a launch at the replica with the host');
    const elsewhere = await at(second, world.people.alice, 'POST', '/v1/sessions', { app_id: appId });
    expect([elsewhere.status, elsewhere.body.error.code]).toEqual([503, 'no_host_available']);
    const kept = await at(second, world.people.alice, 'GET', '/v1/sessions');
    expect(kept.body.items.map(({ id }: Session) => id).sort()).toEqual([own.id, before.id].sort());
    expect(await sessionAt(third, before.id)).toMatchObject({ state: 'running' });

    const closed = agent.closed;
    const moved = await movedTo(second, agent);
    // No replica can reach the host now.
    await at(third, world.people.alice, 'DELETE', `/v1/sessions/${before.id}`);
    expect(await sessionAt(first, before.id)).toMatchObject({ state: 'stopping' });
    expect(first.plane.fleet.links.holds(agent.hostId as string)).toBe(true);
    await nats.start();
    expect((await closed).code).toBe(AGENT_CLOSE.displaced);
    await untilAt(
      first,
      before.id,
      ({ state }) => state === 'stopped',
      'the session that was stopped meanwhile has stopped',
    );
    await eventually('all are back', () => (lines('bus.connected') === 3 ? true : undefined));
    await at(third, world.people.alice, 'DELETE', `/v1/sessions/${own.id}`);
    await untilAt(first, own.id, ({ state }) => state === 'stopped', 'it has stopped');
    for (const { id } of [before, own])
      expect(moved.commands).toContainEqual(
        expect.objectContaining({ type: 'session_stop', session_id: id }),
      );
  });

  test('a host that was taken for offline while its replica was cut off registers again', async () => {
    const agent = await hostAt(third);
    const closed = agent.closed;
    third.way.mode = 'refuse';
    third.way.cut();
    await eventually('it is cut off', () => world.log.find((line) => line.includes('bus.lost')));
    const { db } = world.plane.platform.database;
    await db.updateTable('hosts').set({ status: 'offline' }).execute();
    third.way.mode = 'pass';
    expect((await closed).code).toBe(AGENT_CLOSE.restarting);
    await connected(agent);
  });

  test('a replica that is cut off from the bus keeps its host and its session, however long, and ends no other one’s', async () => {
    const lines = (event: string) => world.log.filter((line) => line.includes(event)).length;
    const mine = await hostAt(third, { nodeName: 'host-c' });
    const { id } = await launchAt(third);
    await untilAt(first, id, runs, 'it runs');
    const other = await hostAt(first);
    const theirs = await launchAt(second);
    expect(theirs.host_id).toBe(other.hostId);
    await untilAt(first, theirs.id, runs, 'the other one runs');
    third.way.mode = 'refuse';
    third.way.cut();
    await eventually('it is cut off', () => (lines('bus.lost') === 1 ? true : undefined));
    const graceMs = world.plane.platform.config.sessions.graceSecs * SECOND_MS;
    await world.pass(2 * graceMs, mine, other);
    const statusOf = async ({ hostId }: FakeAgent) =>
      (await at(second, world.people.admin, 'GET', `/v1/hosts/${hostId}`)).body.status;
    expect([await statusOf(mine), await statusOf(other)]).toEqual(['online', 'online']);
    const states = [await sessionAt(first, id), await sessionAt(third, theirs.id)].map(({ state }) => state);
    expect(states).toEqual(['running', 'running']);
    third.way.mode = 'pass';
    await eventually('it is back', () => (lines('bus.connected') === 1 ? true : undefined));
    await at(first, world.people.alice, 'DELETE', `/v1/sessions/${id}`);
    await untilAt(second, id, ({ state }) => state === 'stopped', 'a stop reaches it again');
  });

  test('a replica that is cut off from the bus takes no task that asks the others about their hosts', async () => {
    const tasks = ['hosts.presence', 'sessions.stuck', 'sessions.grace', 'sessions.guests', 'sessions.slots'];
    third.way.mode = 'refuse';
    third.way.cut();
    await eventually('it is cut off', () => world.log.find((line) => line.includes('bus.lost')));
    for (const { plane } of [first, second]) await plane.platform.leader.close();
    const { leader } = third.plane.platform;
    for (const task of tasks) await leader.runNow(task);
    expect(leader.held().filter((task) => tasks.includes(task))).toEqual(['sessions.slots']);
    third.way.mode = 'pass';
    await eventually('it is back', () => world.log.find((line) => line.includes('bus.connected')));
    for (const task of tasks) await leader.runNow(task);
    expect(
      leader
        .held()
        .filter((task) => tasks.includes(task))
        .sort(),
    ).toEqual([...tasks].sort());
  });

  test('a removed guest counts as removed only when the host confirms, though the replicas cannot reach each other', async () => {
    const agent = await hostAt(third);
    const { id } = await launchAt(first);
    await untilAt(first, id, runs, 'it runs');
    const { alice } = world.people;
    const path = `/v1/sessions/${id}/guests`;
    const { guest } = (await at(first, alice, 'POST', path, { role: 'watch', minutes: 60 })).body;
    // The replica of the host, and another one that cannot know whether a third one has the host.
    for (const { way } of [second, third]) {
      way.mode = 'refuse';
      way.cut();
    }
    await eventually('both are cut off', () =>
      world.log.filter((line) => line.includes('bus.lost')).length === 2 ? true : undefined,
    );
    for (const asked of [second, first]) {
      const refused = await at(asked, alice, 'DELETE', `${path}/${guest.id}`);
      expect([refused.status, refused.body?.error.code]).toEqual([503, 'agent_not_connected']);
    }
    expect((await at(third, alice, 'DELETE', `${path}/${guest.id}`)).status).toBe(204);
    expect(agent.commands.at(-1)).toMatchObject({ type: 'session_guests', guests: [] });
  });

  test('hosts of a replica that is gone get no launch, though all are stored as online', async () => {
    const gone = await Promise.all(
      ['host-a', 'host-b', 'host-c'].map((nodeName) =>
        hostAt(third, { nodeName, capacity: softwareCapacity({}, { encode_slots_total: 8 }) }),
      ),
    );
    const stays = await hostAt(first, { nodeName: 'host-d' });
    for (const agent of gone) await agent.drop();
    const { db } = world.plane.platform.database;
    await db.transaction().execute(async (tx) => {
      // Lock the rows in the same order as the service, which may write heartbeats at the same time.
      await tx.selectFrom('hosts').select('id').orderBy('id').forNoKeyUpdate().execute();
      await tx.updateTable('hosts').set({ status: 'online' }).execute();
    });
    const app_id = await world.app({ managed_home: true });
    const launched = (await at(second, world.people.alice, 'POST', '/v1/sessions', { app_id })).body.session;
    expect(launched.host_id).toBe(stays.hostId);
    await untilAt(third, launched.id, runs, 'it runs');
    const homes = await db.selectFrom('storage_homes').select('host_id').execute();
    expect(homes).toEqual([{ host_id: stays.hostId }]);
    const { body } = await at(first, world.people.alice, 'GET', '/v1/sessions');
    expect(body.items.map(({ id }: Session) => id)).toEqual([launched.id]);
    const used = await db.selectFrom('gpus').select('slots_used').where('slots_used', '>', 0).execute();
    expect(used).toHaveLength(1);
  });

  test('a replica that takes over the sweep lets a host that was just lost have its grace', async () => {
    const agent = await hostAt(first);
    const { id } = await launchAt(first);
    await untilAt(second, id, runs, 'it runs');
    await world.pass(3_600 * SECOND_MS, agent);
    await agent.drop();
    await world.offline(agent);
    for (const { plane } of [first, second, third]) {
      await plane.platform.leader.runNow('sessions.grace');
      expect((await sessionAt(first, id)).state).toBe('running');
      await plane.platform.leader.close();
    }
  });

  test('a host whose replica is gone is shown as offline, and its session ends after the grace and not before', async () => {
    const agent = await hostAt(third);
    const stays = await hostAt(first, { nodeName: 'host-b' });
    const drained = await at(first, world.people.admin, 'POST', `/v1/hosts/${stays.hostId}/drain`, {});
    expect(drained.status).toBe(200);
    const { id } = await launchAt(first);
    await untilAt(second, id, runs, 'it runs');
    // Act like a killed replica: it does not close its links or mark its hosts as offline.
    await agent.drop();
    await third.plane.platform.bus.close();
    await third.plane.platform.leader.close();
    const statusOf = async () =>
      (await at(second, world.people.admin, 'GET', `/v1/hosts/${agent.hostId}`)).body.status;
    await world.pass(60 * SECOND_MS, stays);
    await eventually('it is offline', async () => ((await statusOf()) === 'offline' ? true : undefined));
    const graceMs = world.plane.platform.config.sessions.graceSecs * SECOND_MS;
    await world.pass(graceMs / 2, stays);
    expect((await sessionAt(second, id)).state).toBe('running');
    // The sweep runs four times within the grace period.
    await world.pass(graceMs, stays);
    await untilAt(second, id, ({ state }) => state === 'failed', 'it is lost');
  });
});
