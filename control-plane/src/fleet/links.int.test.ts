import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import {
  type FakeAgent,
  type FakeAgentOptions,
  gpuCapacity,
  softwareCapacity,
} from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { describeDatabases } from '../testing/index.ts';
import { type HostChange, hostSubjects } from './subjects.ts';
import { type FleetWorld, openFleetWorld } from './testing/world.ts';

describeDatabases('agent links', (databases) => {
  let world: FleetWorld;
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh());
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const agentFor = (nodeName: string, options?: Partial<FakeAgentOptions>) => world.agent(nodeName, options);
  const ready = (agent: FakeAgent) => world.ready(agent);
  const hostRow = (id: string) =>
    world.platform.database.db.selectFrom('hosts').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const status = async (id: string) => (await hostRow(id)).status;
  const running = (agent: FakeAgent, sessionId: string, extras = {}) =>
    agent.reportState(sessionId, 'running', extras);

  describe('the handshake', () => {
    test('registered, then config_update, then the host takes placements once its capacity is stored', async () => {
      const agent = agentFor('hosta', { capacity: gpuCapacity(2) });
      const hostId = await ready(agent);
      expect(agent.commands[0]).toMatchObject({ type: 'config_update', settings: {}, console_config: null });
      expect(await hostRow(hostId)).toMatchObject({ status: 'online', capacity_detection: 'ok' });
      expect(await world.isConnected(hostId)).toBe(true);
      expect((await world.fleet.agents.link(hostId))?.features).toContain('swap');
    });

    test('between register and capacity nothing of the former connection holds', async () => {
      const agent = agentFor('hosta', { capacity: gpuCapacity(1) });
      const hostId = await ready(agent);
      agent.heartbeat({ gpu_vram: [{ index: 0, used_mb: 1000, free_mb: 20_000 }] });
      await agent.waitFor('heartbeat_ack');
      await world.heartbeatsWritten();
      await agent.drop();
      const quiet = agentFor('hosta', { credential: { secret: agent.secret! }, silentAfterRegistered: true });
      await quiet.connect();
      expect(await hostRow(hostId)).toMatchObject({
        status: 'online',
        capacity_detection: 'unavailable',
        capacity_reason: 'awaiting fresh capacity report',
      });
      const gpus = await world.platform.database.db.selectFrom('gpus').selectAll().execute();
      expect(gpus).toMatchObject([{ reported: 0, vram_mb_used: null, vram_sampled_at: null }]);
      expect((await world.call('GET', `/v1/hosts/${hostId}/gpus`)).body).toEqual({ items: [] });
    });

    test('a capacity said again on the same connection is not stored again, until something is set', async () => {
      const agent = agentFor('hosta', { capacity: gpuCapacity(1) });
      const hostId = await ready(agent);
      let reports = 0;
      /**
       * The host's stored number of CPU cores, read after all earlier messages of the agent were handled; messages are
       * handled in order.
       */
      const cores = async () => {
        reports += 1;
        running(agent, randomUUID());
        await agent.waitFor('seen', ({ seq }) => seq >= reports);
        return (await hostRow(hostId)).cpu_cores;
      };
      const reported = await cores();
      await world.platform.database.db.updateTable('hosts').set({ cpu_cores: 99 }).execute();
      agent.send(agent.capacity);
      expect(await cores()).toBe(99);
      // The agent answers each configuration by its capacity.
      world.platform.bus.publish(hostSubjects.changed, hostId, { what: 'configured' });
      await expect.poll(() => agent.commands.length).toBe(2);
      expect(await cores()).toBe(reported);
    });

    test.each<[string, Partial<FakeAgentOptions>, number, string]>([
      ['another node_name', { register: { node_name: 'other' } }, 4400, 'another node_name'],
      ['another boot_id than the header', { register: { boot_id: randomUUID() } }, 4400, 'another boot_id'],
      ['no common version', { register: { protocol: { min: 2, max: 3 } } }, 4406, '1-1'],
      ['only older versions', { register: { protocol: { min: 0, max: 0 } } }, 4406, '1-1'],
    ])('a register with %s closes', async (_what, options, code, reason) => {
      const agent = agentFor('hosta', options);
      await agent.connect().catch(() => {});
      expect(await agent.closed).toEqual({ code, reason });
      expect(await world.platform.database.db.selectFrom('hosts').selectAll().execute()).toEqual([]);
    });

    test.each([
      ['another message', JSON.stringify({ type: 'heartbeat', ts: 1, running_sessions: [] })],
      ['an unknown type', JSON.stringify({ type: 'hello', id: randomUUID() })],
      ['a malformed register', JSON.stringify({ type: 'register', node_name: 'hosta' })],
      ['truncated JSON', '{"type":"register"'],
      ['an array', '[]'],
      ['no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
    ])('%s first closes with 4400', async (_what, frame) => {
      const agent = agentFor('hosta');
      await agent.open();
      agent.sendRaw(frame, false);
      expect((await agent.closed).code).toBe(4400);
    });

    test('the newest protocol both speak is chosen', async () => {
      const agent = agentFor('hosta', { register: { protocol: { min: 1, max: 9 } } });
      expect((await agent.connect()).protocol).toBe(1);
    });

    test('its sessions are reconciled in the registration, and a new process is distinguished from the old one', async () => {
      const agent = agentFor('hosta');
      agent.hold({ session_id: randomUUID(), app_id: randomUUID() });
      const hostId = await ready(agent);
      await agent.drop();
      await ready(agent);
      await agent.crash();
      await ready(agent);
      expect(
        world.handlers.reconciled.map(({ host, held }) => [host.hostId, host.sameBoot, held.length]),
      ).toEqual([
        [hostId, false, 1],
        [hostId, true, 1],
        [hostId, false, 0],
      ]);
    });

    test('a registration that fails leaves the host offline and closes, and others of its turn go through', async () => {
      const agent = agentFor('hosta');
      const hostId = await ready(agent);
      world.handlers.onReconcile = (host) => {
        if (host.hostId === hostId) throw new Error('broken by the test');
      };
      const again = agentFor('hosta', { credential: { secret: agent.secret! } });
      const other = agentFor('hostb');
      const [failed] = await Promise.all([again.connect().catch((error: Error) => error), other.connect()]);
      expect(failed).toBeInstanceOf(Error);
      expect((await again.closed).code).toBe(1011);
      await expect.poll(() => status(hostId)).toBe('offline');
      expect(other.isOpen).toBe(true);
    });
  });

  describe('displacement', () => {
    test('the newer connection wins with 4409, and the late close of the older one changes nothing', async () => {
      const older = agentFor('hosta');
      const hostId = await ready(older);
      const newer = agentFor('hosta', { credential: { secret: older.secret! } });
      world.handlers.calls.length = 0;
      await ready(newer);
      expect((await older.closed).code).toBe(4409);
      expect(world.handlers.calls).toEqual([`linkLost ${hostId}`, `reported ${hostId}`]);
      expect(await status(hostId)).toBe('online');
      expect(await world.isConnected(hostId)).toBe(true);
      newer.heartbeat();
      await newer.waitFor('heartbeat_ack');
    });

    test('messages and the end of a replaced connection are ignored', async () => {
      const older = agentFor('hosta');
      const hostId = await ready(older);
      older.deafen();
      const newer = agentFor('hosta', { credential: { secret: older.secret! } });
      await ready(newer);
      running(older, randomUUID());
      older.heartbeat({ running_sessions: [randomUUID()] });
      older.signal(randomUUID(), 1, { type: 'resumed', pc_id: randomUUID() });
      await older.drop();
      // Enough rounds for all messages to be read.
      for (let n = 0; n < 5; n += 1) await newer.heard();
      const { states, signals, heartbeats } = world.handlers;
      expect([states, signals, heartbeats]).toEqual([[], [], Array(5).fill({ hostId, running: [] })]);
      expect(await status(hostId)).toBe('online');
      expect(await world.isConnected(hostId)).toBe(true);
    });

    test('reports of an older connection that are still being stored do not count for the newer one', async () => {
      const first = agentFor('hosta');
      const hostId = await ready(first);
      await first.drop();
      await expect.poll(() => world.isConnected(hostId)).toBe(false);
      world.handlers.calls.length = 0;
      const heard: HostChange[] = [];
      const hearing = world.platform.bus.subscribe(hostSubjects.changed, hostId, (change) => {
        heard.push(change);
      });
      const { database } = world.platform;
      const begin = database.transaction.bind(database);
      let goOn = () => {};
      const held = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const older = agentFor('hosta', { credential: { secret: first.secret! }, silentAfterRegistered: true });
      await older.connect();
      const transaction = vi.spyOn(database, 'transaction').mockImplementationOnce(async (work) => {
        await held;
        return begin(work);
      });
      older.send(gpuCapacity(2));
      await expect.poll(() => transaction.mock.calls.length).toBe(1);
      const newer = agentFor('hosta', { credential: { secret: first.secret! }, silentAfterRegistered: true });
      const registered = newer.connect();
      await expect.poll(() => world.handlers.calls).toEqual([`linkLost ${hostId}`]);
      goOn();
      await registered;
      transaction.mockRestore();
      hearing.close();
      // Only reports of the newer connection count, and it has reported nothing.
      expect(world.handlers.calls).toEqual([`linkLost ${hostId}`]);
      expect(heard.map(({ what }) => what)).not.toContain('reported');
    });

    test('of many connections at once exactly one stays', async () => {
      const first = agentFor('hosta');
      const hostId = await ready(first);
      const crowd = Array.from({ length: 10 }, () =>
        agentFor('hosta', { credential: { secret: first.secret! } }),
      );
      await Promise.allSettled(crowd.map((agent) => agent.connect()));
      await expect.poll(() => [first, ...crowd].filter((agent) => agent.isOpen).length).toBe(1);
      await expect.poll(() => world.fleet.links.presence().connected).toBe(1);
      expect(await status(hostId)).toBe('online');
    });
  });

  describe('a lost link', () => {
    test('takes the host offline at once; its record and everything on it stay', async () => {
      const agent = agentFor('hosta');
      const hostId = await ready(agent);
      await agent.drop();
      await expect.poll(() => status(hostId)).toBe('offline');
      expect(world.handlers.calls).toContain(`linkLost ${hostId}`);
      expect(await world.isConnected(hostId)).toBe(false);
      expect(world.fleet.links.lastSeenMonotonicMs(hostId)).not.toBeNull();
    });

    test('an orderly shutdown closes with 1012 and changes no host; the next start finds it offline', async () => {
      const stopping = await openFleetWorld(await databases.fresh());
      const agent = agentFor('hosta', { url: stopping.url });
      await agent.connect();
      await expect.poll(() => stopping.handlers.calls.length).toBe(1);
      const stored = async () =>
        (await stopping.platform.database.db.selectFrom('hosts').selectAll().executeTakeFirstOrThrow())
          .status;
      await stopping.fleet.close();
      expect((await agent.closed).code).toBe(1012);
      expect(await stored()).toBe('online');
      expect(stopping.handlers.calls).toHaveLength(1);
      await stopping.fleet.start();
      expect(await stored()).toBe('offline');
      await stopping.close();
    });

    test('a command that waits for its ack is settled', async () => {
      const agent = agentFor('hosta', { behaviour: { answer: () => 'silence' } });
      const hostId = await ready(agent);
      const result = world.fleet.agents.command(hostId, { type: 'restart' }, 60_000);
      await agent.waitFor('restart');
      await agent.drop();
      expect(await result).toEqual({ kind: 'not_connected', sent: true });
    });
  });

  describe('commands', () => {
    const stop = {
      type: 'session_stop' as const,
      session_id: randomUUID(),
      reason: 'user_requested' as const,
    };

    test('are accepted or refused by the agent, once', async () => {
      const agent = agentFor('hosta');
      const hostId = await ready(agent);
      expect(await world.fleet.agents.command(hostId, stop, 60_000)).toEqual({ kind: 'ok' });
      agent.behaviour.answer = () => ({ code: 'policy', error: 'mount outside' });
      expect(await world.fleet.agents.command(hostId, stop, 60_000)).toEqual({
        kind: 'refused',
        code: 'policy',
        error: 'mount outside',
      });
      // A repeated or unknown ack changes nothing.
      agent.send({ type: 'ack', id: randomUUID(), ok: true });
      agent.heartbeat();
      await agent.waitFor('heartbeat_ack');
    });

    test('time out', async () => {
      const agent = agentFor('hosta', { behaviour: { answer: () => 'silence' } });
      const hostId = await ready(agent);
      expect(await world.fleet.agents.command(hostId, stop, 100)).toEqual({ kind: 'timeout' });
    });

    test('do not reach a host that is not connected', async () => {
      expect(await world.fleet.agents.command(randomUUID(), stop, 5_000)).toEqual({
        kind: 'not_connected',
        sent: false,
      });
    });

    test('may be sent from the reconciliation, after the registration', async () => {
      const agent = agentFor('hosta');
      world.handlers.onAfterCommit = (hostId) => {
        void world.fleet.agents.command(hostId, stop, 5_000);
      };
      await agent.connect();
      expect(await agent.waitFor('session_stop')).toMatchObject({ session_id: stop.session_id });
    });
  });

  describe('reliable reports', () => {
    const sessionId = randomUUID();

    test('are confirmed, also one that ends a session', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      running(agent, sessionId);
      await agent.waitFor('seen', ({ seq }) => seq === 1);
      agent.reportState(sessionId, 'stopped', { reason: 'app_exited' });
      await agent.waitFor('seen', ({ seq }) => seq === 2);
      expect(world.handlers.states.map(({ report }) => report.state)).toEqual(['running', 'stopped']);
    });

    test('made while the link was away arrive after it, in order and once', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      running(agent, sessionId);
      await agent.waitFor('seen', ({ seq }) => seq === 1);
      await agent.drop();
      agent.reportState(sessionId, 'stopping');
      agent.reportState(sessionId, 'stopped');
      expect(agent.unseen).toBe(2);
      const registered = await agent.connect();
      expect(registered.last_seq).toBe(1);
      await agent.waitFor('seen', ({ seq }) => seq === 3);
      expect(world.handlers.states.map(({ report }) => report.seq)).toEqual([1, 2, 3]);
      expect(agent.unseen).toBe(0);
    });

    test('are remembered over a restart of the control plane', async () => {
      const agent = agentFor('hosta');
      const hostId = await ready(agent);
      running(agent, sessionId);
      await agent.waitFor('seen', ({ seq }) => seq === 1);
      await world.heartbeatsWritten();
      expect(await hostRow(hostId)).toMatchObject({ last_seq: 1, boot_id: agent.bootId });
    });

    test('of a new agent process start again', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      running(agent, sessionId);
      await agent.waitFor('seen', ({ seq }) => seq === 1);
      await agent.crash();
      expect((await agent.connect()).last_seq).toBeNull();
      running(agent, sessionId);
      await agent.waitFor('seen', ({ seq }) => seq === 1);
      expect(world.handlers.states).toHaveLength(2);
    });

    test('sent twice are handled once', async () => {
      const agent = agentFor('hosta', { behaviour: { duplicate: true } });
      await ready(agent);
      for (let n = 0; n < 5; n += 1) running(agent, sessionId, { detail: `step ${n}` });
      await agent.waitFor('seen', ({ seq }) => seq === 5);
      expect(world.handlers.states.map(({ report }) => report.seq)).toEqual([1, 2, 3, 4, 5]);
    });

    test('out of order: the older state of a session never wins, others still count', async () => {
      const agent = agentFor('hosta', { behaviour: { reorder: true } });
      await ready(agent);
      const other = randomUUID();
      running(agent, sessionId, { detail: 'app booting' });
      agent.reportState(sessionId, 'stopped');
      running(agent, other);
      running(agent, sessionId, { detail: 'a lie' });
      await agent.waitFor('seen', ({ seq }) => seq === 4);
      await expect.poll(() => world.handlers.states.length).toBe(3);
      expect(world.handlers.states.map(({ report }) => [report.seq, report.state])).toEqual([
        [2, 'stopped'],
        [4, 'running'],
        [3, 'running'],
      ]);
    });

    test('that fail here are logged and confirmed, or they would come for ever', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      world.handlers.onState = async () => {
        throw new Error('broken by the test');
      };
      running(agent, sessionId);
      await agent.waitFor('seen', ({ seq }) => seq === 1);
      expect(agent.isOpen).toBe(true);
    });

    test('that come while others are handled are confirmed together; one that fails here does not affect the others', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      let goOn = () => {};
      const held = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      world.handlers.onState = async ({ seq }) => {
        if (seq === 1) await held;
        if (seq === 3) throw new Error('broken by the test');
      };
      for (let n = 1; n <= 4; n += 1) running(agent, randomUUID(), { detail: `step ${n}` });
      // The ack shows that all earlier messages on the same socket were read.
      agent.heartbeat();
      await agent.waitFor('heartbeat_ack');
      goOn();
      await agent.waitFor('seen', ({ seq }) => seq === 4);
      expect(world.handlers.states.map(({ report }) => report.seq)).toEqual([1, 2, 4]);
      const seen = agent.frames.map((frame) => JSON.parse(frame)).filter(({ type }) => type === 'seen');
      expect(seen.map(({ seq }) => seq)).toEqual([1, 4]);
    });

    test('name the host of the connection, with any session id', async () => {
      const [a, b] = [agentFor('hosta'), agentFor('hostb')];
      const [hostA] = [await ready(a), await ready(b)];
      running(a, sessionId);
      a.signal(sessionId, 1, { type: 'resumed', pc_id: randomUUID() });
      await expect.poll(() => world.handlers.signals.length + world.handlers.states.length).toBe(2);
      expect(world.handlers.states[0]!.hostId).toBe(hostA);
      expect(world.handlers.signals).toEqual([{ hostId: hostA, sessionId }]);
    });
  });

  describe('heartbeats', () => {
    test('are acknowledged at once and written together', async () => {
      const agent = agentFor('hosta', { capacity: gpuCapacity(1) });
      const hostId = await ready(agent);
      agent.heartbeat({ ts: 12_345, gpu_vram: [{ index: 0, used_mb: 4_000, free_mb: 20_000 }] });
      expect(await agent.waitFor('heartbeat_ack')).toMatchObject({ echo: 12_345 });
      await world.heartbeatsWritten();
      expect((await hostRow(hostId)).last_heartbeat_at).not.toBeNull();
      const { body } = await world.call('GET', `/v1/hosts/${hostId}/gpus`);
      expect(body).toMatchObject({ items: [{ vram_mb_used: 4_000, vram_mb_free: 20_000, gpu_index: 0 }] });
      expect(world.handlers.heartbeats).toEqual([{ hostId, running: [] }]);
    });

    test('with implausible or unknown samples store null, and no more samples than there are GPUs', async () => {
      const agent = agentFor('hosta', { capacity: gpuCapacity(1) });
      const hostId = await ready(agent);
      const gpu = async () => {
        await world.heartbeatsWritten();
        return ((await world.call('GET', `/v1/hosts/${hostId}/gpus`)).body as { items: object[] }).items[0];
      };
      agent.heartbeat({ gpu_vram: [{ index: 0, used_mb: 0, free_mb: 24_577 }] });
      await agent.waitFor('heartbeat_ack');
      expect(await gpu()).toMatchObject({ vram_mb_used: null, vram_mb_free: null, vram_sampled_at: null });
      agent.heartbeat({
        ts: 2,
        gpu_vram: [
          { index: 7, used_mb: 1, free_mb: 1 },
          { index: 0, used_mb: 1, free_mb: 1 },
        ],
      });
      await agent.waitFor('heartbeat_ack', ({ echo }) => echo === 2);
      expect(await gpu()).toMatchObject({ vram_mb_used: null });
    });
  });

  describe('what breaks the rules', () => {
    test('an unknown type with an id is refused, without one it is ignored', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      const id = randomUUID();
      agent.sendRaw(JSON.stringify({ type: 'from_the_future', id }));
      agent.sendRaw(JSON.stringify({ type: 'from_the_future' }));
      agent.heartbeat();
      await agent.waitFor('heartbeat_ack');
      expect(agent.frames.filter((frame) => frame.includes('unknown_command'))).toEqual([
        JSON.stringify({ type: 'ack', id, ok: false, code: 'unknown_command' }),
      ]);
      expect(agent.isOpen).toBe(true);
    });

    test('malformed messages are dropped; twenty in a minute close with 4400', async () => {
      const agent = agentFor('hosta');
      await ready(agent);
      for (let n = 0; n < 19; n += 1) agent.sendRaw('{"type":"session_state","seq":"one"}');
      agent.heartbeat();
      await agent.waitFor('heartbeat_ack');
      expect(world.handlers.states).toEqual([]);
      agent.sendRaw('{}');
      expect((await agent.closed).code).toBe(4400);
    });

    test('a binary frame closes with 1003, a huge one with 1009, a flood with 4429', async () => {
      const binary = agentFor('hosta');
      await ready(binary);
      binary.sendRaw(Buffer.from([1, 2, 3]));
      expect((await binary.closed).code).toBe(1003);

      const huge = agentFor('hostb');
      await ready(huge);
      huge.sendRaw(`{"type":"${'x'.repeat(1024 * 1024)}"}`);
      expect((await huge.closed).code).toBe(1009);

      const flood = agentFor('hostc');
      await ready(flood);
      for (let n = 0; n < 2_600; n += 1) flood.sendRaw('{"type":"noise"}');
      expect((await flood.closed).code).toBe(4429);
    });

    test('a frame that announces too much closes with 1009 before any of it came', async () => {
      const agent = agentFor('hosta');
      const { hostname, port } = new URL(world.url);
      const upgrade = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
      };
      const dial = request({
        hostname,
        port,
        path: '/agent/ws',
        headers: { ...agent.headers(), ...upgrade },
      }).end();
      const [, socket] = (await once(dial, 'upgrade')) as [unknown, Socket];
      // The header of a masked text frame of a gigabyte (RFC 6455, section 5.2). Its content is never sent.
      const header = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0]);
      socket.write(header);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect([answer[0], answer.readUInt16BE(2)]).toEqual([0x88, 1009]);
      socket.destroy();
    });

    test('a refusal to keep a capacity leaves the former one', async () => {
      const agent = agentFor('hosta');
      const hostId = await ready(agent);
      agent.sendRaw(
        JSON.stringify({
          ...softwareCapacity(),
          gpus: Array.from({ length: 17 }, () => softwareCapacity().gpus[0]),
        }),
      );
      agent.heartbeat();
      await agent.waitFor('heartbeat_ack');
      expect((await world.call('GET', `/v1/hosts/${hostId}`)).body).toMatchObject({
        capacity: { gpu_count: 1 },
      });
    });
  });
});
