import { type FakeAgent, type FakeAgentOptions, gpuCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, ManualClock, UNKNOWN_ID } from '../../testing/index.ts';
import { ADMIN_ID, type FleetWorld, openFleetWorld } from '../testing/world.ts';

interface HostItem {
  id: string;
  node_name: string;
  status: string;
  capacity: Record<string, number> | null;
}

describeDatabases('hosts and enrollment tokens of administrators', (databases) => {
  let world: FleetWorld;
  let clock: ManualClock;
  beforeAll(async () => {
    clock = new ManualClock();
    world = await openFleetWorld(await databases.fresh(), { clock });
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const connect = async (
    nodeName: string,
    options: Partial<FakeAgentOptions> = {},
  ): Promise<[FakeAgent, string]> => {
    const agent = world.agent(nodeName, options);
    return [agent, await world.ready(agent)];
  };
  const offline = async (agent: FakeAgent, id: string) => {
    await agent.drop();
    await expect.poll(async () => (await read(id)).status).toBe('offline');
  };
  const read = async (id: string): Promise<HostItem> => (await world.call('GET', `/v1/hosts/${id}`)).body;
  /** The current time in the form of API answers. */
  const now = (laterMs = 0) => new Date(clock.nowMs() + laterMs).toISOString();
  const actions = () => world.actions.filter((entry) => entry.actorUserId !== null);

  test('the load of a host comes from its heartbeats, and is empty while it is disconnected', async () => {
    const [agent, id] = await connect('hosta', { capacity: gpuCapacity(1) });
    const load = async (): Promise<{ host_id: string; samples: object[] }> =>
      (await world.call('GET', `/v1/admin/hosts/${id}/load`)).body;
    expect(await load()).toEqual({ host_id: id, samples: [] });
    await agent.heard({ cpu_busy: 0.4, net: { rx_kbps: 1, tx_kbps: 2 } });
    const [sample, ...more] = (await load()).samples;
    expect(sample).toMatchObject({ ts_unix_ms: clock.nowMs(), cpu_busy: 0.4, net_tx_kbps: 2 });
    expect(more).toEqual([]);
    await offline(agent, id);
    expect((await load()).samples).toEqual([]);
    expect((await world.call('GET', `/v1/admin/hosts/${UNKNOWN_ID}/load`)).status).toBe(404);
  });

  describe('reading', () => {
    test('a host carries every key, null where nothing was reported', async () => {
      const [agent, id] = await connect('hosta', { capacity: gpuCapacity(2) });
      agent.heartbeat({ gpu_vram: [{ index: 0, used_mb: 1_000, free_mb: 23_000 }] });
      await agent.waitFor('heartbeat_ack');
      await world.heartbeatsWritten();
      expect(await read(id)).toEqual({
        id,
        node_name: 'hosta',
        status: 'online',
        agent_version: '0.0.0-fake',
        cpu_cores: 8,
        mem_mb: 16_384,
        cpu_model: 'Fake CPU',
        last_registered_at: now(),
        last_heartbeat_at: now(),
        storage: [{ label: 'root', path: '/', total_mb: 100_000, available_mb: 60_000 }],
        capacity_detection: 'ok',
        capacity_reason: null,
        readiness: [],
        readiness_reported_at: now(),
        capacity: {
          slots_total: 16,
          slots_used: 0,
          vram_mb_total: 49_152,
          vram_mb_used: 1_000,
          active_sessions: 0,
          gpu_count: 2,
        },
      });
    });

    test('used VRAM counts fresh samples only; the GPU keeps its sample however old', async () => {
      const [agent, id] = await connect('hosta', { capacity: gpuCapacity(1) });
      agent.heartbeat({ gpu_vram: [{ index: 0, used_mb: 1_000, free_mb: 23_000 }] });
      await agent.waitFor('heartbeat_ack');
      await world.heartbeatsWritten();
      await offline(agent, id);
      await clock.pass(20_000);
      expect((await read(id)).capacity?.vram_mb_used).toBe(1_000);
      await clock.pass(1);
      expect((await read(id)).capacity?.vram_mb_used).toBe(0);
      const gpus = (await world.call('GET', `/v1/hosts/${id}/gpus`)).body;
      expect(gpus).toMatchObject({ items: [{ vram_mb_used: 1_000, vram_mb_free: 23_000 }] });
    });

    test('slots of sessions are counted by host and by GPU', async () => {
      const [, id] = await connect('hosta', { capacity: gpuCapacity(2) });
      const { items } = (await world.call('GET', `/v1/hosts/${id}/gpus`)).body as {
        items: { gpu_id: string }[];
      };
      world.handlers.gpuLoads = [
        { host_id: id, gpu_id: items[0]!.gpu_id, active_sessions: 2, vram_mb_reserved: 512 },
        { host_id: id, gpu_id: null, active_sessions: 1, vram_mb_reserved: 0 },
      ];
      expect((await read(id)).capacity).toMatchObject({ active_sessions: 3 });
      expect((await world.call('GET', `/v1/hosts/${id}/gpus`)).body).toMatchObject({
        items: [
          { gpu_index: 0, active_sessions: 2, vram_mb_reserved: 512, slots_reserved: 0, slots_total: 8 },
          { gpu_index: 1, active_sessions: 0, vram_mb_reserved: 0 },
        ],
      });
    });

    test('one request reads the GPUs of all hosts, page by page', async () => {
      const [, first] = await connect('hosta', { capacity: gpuCapacity(2) });
      await clock.pass(1_000);
      const [, failed] = await connect('hostb', {
        capacity: gpuCapacity(1, { detection: 'failed', detection_reason: 'driver crashed' }),
      });
      const gpusOf = async (id: string) =>
        (await world.call('GET', `/v1/hosts/${id}/gpus`)).body as { items: { gpu_id: string }[] };
      const { items } = await gpusOf(first);
      world.handlers.gpuLoads = [
        { host_id: first, gpu_id: items[0]!.gpu_id, active_sessions: 2, vram_mb_reserved: 512 },
      ];
      const page = async (query: string) =>
        (await world.call('GET', `/v1/gpus?limit=1${query}`)).body as {
          items: { host_id: string; gpus: { active_sessions: number }[] }[];
          next_cursor: string | null;
        };
      const newest = await page('');
      expect(newest.items).toEqual([{ host_id: failed, gpus: [] }]);
      const next = await page(`&cursor=${newest.next_cursor}`);
      expect(next).toEqual({
        items: [{ host_id: first, gpus: (await gpusOf(first)).items }],
        next_cursor: null,
      });
      expect(next.items[0]?.gpus.map((gpu) => gpu.active_sessions)).toEqual([2, 0]);
    });

    test('a host whose detection is not ok shows neither capacity nor GPUs', async () => {
      const [agent, id] = await connect('hosta', { capacity: gpuCapacity(1) });
      agent.send(gpuCapacity(1, { detection: 'failed', detection_reason: 'driver\u0007 crashed' }));
      await expect
        .poll(() => read(id))
        .toMatchObject({
          capacity: null,
          capacity_detection: 'failed',
          capacity_reason: 'driver crashed',
        });
      expect((await world.call('GET', `/v1/hosts/${id}/gpus`)).body).toEqual({ items: [] });
    });

    test('a GPU that is not reported any more disappears', async () => {
      const [agent, id] = await connect('hosta', { capacity: gpuCapacity(2) });
      agent.send(gpuCapacity(1));
      await expect.poll(async () => (await read(id)).capacity?.gpu_count).toBe(1);
    });

    test('a lower slot number keeps running sessions', async () => {
      const [agent, id] = await connect('hosta', { capacity: gpuCapacity(1) });
      await world.platform.database.db.updateTable('gpus').set({ slots_used: 6 }).execute();
      const fewer = gpuCapacity(1);
      fewer.gpus[0]!.encode_slots_total = 4;
      agent.send(fewer);
      await expect
        .poll(async () => (await read(id)).capacity)
        .toMatchObject({ slots_total: 4, slots_used: 6 });
      const overbook = world.platform.database.db.updateTable('gpus').set({ slots_used: 7 }).execute();
      await expect(overbook).rejects.toThrow();
    });

    test('hosts come newest first, page by page', async () => {
      for (const name of ['hosta', 'hostb', 'hostc']) {
        await connect(name);
        await clock.pass(1);
      }
      const names: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: string = cursor === '' ? '?limit=2' : `?limit=2&cursor=${cursor}`;
        const page = (await world.call('GET', `/v1/hosts${query}`)).body as {
          items: HostItem[];
          next_cursor: string | null;
        };
        names.push(...page.items.map((host) => host.node_name));
        cursor = page.next_cursor;
      }
      expect(names).toEqual(['hostc', 'hostb', 'hosta']);
      expect((await world.call('GET', '/v1/hosts?cursor=nonsense')).status).toBe(400);
    });

    test('hosts and their GPUs are sorted and searched before they are paged', async () => {
      const ids = new Map<string, string>();
      for (const [name, gpus] of [
        ['rack-10', 1],
        ['rack-9', 3],
        ['desk', 1],
        ['rack-2', 2],
      ] as const) {
        const [agent, id] = await connect(name, { capacity: gpuCapacity(gpus) });
        ids.set(id, name);
        if (name !== 'desk') continue;
        agent.send(gpuCapacity(gpus, { detection: 'failed', detection_reason: 'driver crashed' }));
        await expect.poll(async () => (await read(id)).capacity).toBeNull();
      }
      const names = async (query: string, path = '/v1/hosts') => {
        const found: (string | undefined)[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
          const page = (await world.call('GET', `${path}?limit=3&${query}${after}`)).body as {
            items: { id?: string; host_id?: string }[];
            next_cursor: string | null;
          };
          found.push(...page.items.map(({ id, host_id }) => ids.get(id ?? host_id ?? '')));
          cursor = page.next_cursor;
        }
        return found;
      };
      expect(await names('sort=name')).toEqual(['desk', 'rack-2', 'rack-9', 'rack-10']);
      expect(await names('sort=-name')).toEqual(['rack-10', 'rack-9', 'rack-2', 'desk']);
      expect(await names('sort=name', '/v1/gpus')).toEqual(await names('sort=name'));
      expect(await names('sort=-memory')).toEqual(['rack-9', 'rack-2', 'rack-10', 'desk']);
      expect(await names('sort=memory')).toEqual(['rack-10', 'rack-2', 'rack-9', 'desk']);
      expect(await names('sort=name&q=RACK-')).toEqual(['rack-2', 'rack-9', 'rack-10']);
      expect(await names('q=_')).toEqual([]);
      for (const sort of ['state', 'slots', 'sessions', 'heard', 'agent'])
        expect((await names(`sort=-${sort}`)).toSorted(), sort).toEqual((await names('')).toSorted());
      for (const query of ['sort=age', 'sort=name&cursor=nonsense', 'attention=maybe'])
        expect((await world.call('GET', `/v1/hosts?${query}`)).status, query).toBe(400);
    });

    test('a host that needs attention is found, and all hosts are counted', async () => {
      const summary = async () => (await world.call('GET', '/v1/admin/fleet')).body;
      expect(await summary()).toEqual({
        hosts: { online: 0, draining: 0, offline: 0 },
        slots: { total: 0, used: 0 },
      });
      const check = (status: 'pass' | 'fail', summaryText: string) => ({
        id: 'x',
        status,
        summary: summaryText,
        remediation: [],
      });
      // A text of a host that looks like a failed check.
      const sound = check('pass', '"status":"fail"');
      await connect('sound', { capacity: gpuCapacity(1, { readiness: [sound] }) });
      await connect('faulty', { capacity: gpuCapacity(2, { readiness: [sound, check('fail', 'broken')] }) });
      await offline(...(await connect('away', { capacity: gpuCapacity(1) })));
      const found: { items: HostItem[] } = (await world.call('GET', '/v1/hosts?attention=true&sort=name'))
        .body;
      expect(found.items.map((host) => host.node_name)).toEqual(['away', 'faulty']);
      expect(await summary()).toEqual({
        hosts: { online: 2, draining: 0, offline: 1 },
        slots: { total: 24, used: 0 },
      });
    });

    test.each(['', '/gpus'])('GET /v1/hosts/{id}%s: malformed 400, unknown 404', async (suffix) => {
      expect((await world.call('GET', `/v1/hosts/not-a-uuid${suffix}`)).status).toBe(400);
      expect((await world.call('GET', `/v1/hosts/${UNKNOWN_ID}${suffix}`)).status).toBe(404);
    });

    test('everybody else is refused before anything is looked up', async () => {
      for (const path of [
        '/v1/hosts',
        '/v1/gpus',
        '/v1/admin/fleet',
        `/v1/hosts/${UNKNOWN_ID}`,
        '/v1/admin/enrollment-tokens',
      ]) {
        expect((await world.call('GET', path, undefined, '')).status).toBe(401);
        expect((await world.call('GET', path, undefined, 'user')).status).toBe(403);
      }
    });
  });

  describe('draining', () => {
    test('stops placements and nothing else; uncordon undoes it; both are idempotent', async () => {
      const [, id] = await connect('hosta');
      world.handlers.calls.length = 0;
      for (const status of ['draining', 'draining']) {
        expect((await world.call('POST', `/v1/hosts/${id}/drain`)).body).toMatchObject({ id, status });
      }
      for (const status of ['online', 'online']) {
        expect((await world.call('POST', `/v1/hosts/${id}/uncordon`)).body).toMatchObject({ id, status });
      }
      expect(world.handlers.calls).toEqual([]);
      expect(actions().map(({ action, details }) => [action, details])).toEqual([
        ['host.drain', { force: false }],
        ['host.drain', { force: false }],
        ['host.uncordon', { node_name: 'hosta' }],
        ['host.uncordon', { node_name: 'hosta' }],
      ]);
    });

    test('with force asks the sessions to stop, also again and also while the host is away', async () => {
      const [agent, id] = await connect('hosta');
      await world.call('POST', `/v1/hosts/${id}/drain`);
      await offline(agent, id);
      world.handlers.calls.length = 0;
      const answer = await world.call('POST', `/v1/hosts/${id}/drain`, { force: true });
      expect([answer.status, answer.body]).toMatchObject([200, { status: 'offline' }]);
      expect(world.handlers.calls).toEqual([`stop ${id} host_draining`]);
    });

    test('the intent outlives the link', async () => {
      const [agent, id] = await connect('hosta');
      await world.call('POST', `/v1/hosts/${id}/drain`);
      await offline(agent, id);
      await agent.connect();
      expect((await read(id)).status).toBe('draining');
      await offline(agent, id);
      expect((await world.call('POST', `/v1/hosts/${id}/uncordon`)).body).toMatchObject({
        status: 'offline',
      });
      await agent.connect();
      expect((await read(id)).status).toBe('online');
    });

    test.each([
      ['/drain', { force: 'yes' }, 400],
      ['/drain', { force: true, extra: 1 }, 400],
      ['/drain', '{', 400],
      ['/uncordon', '{', 200],
    ] as const)('%s with %o: %i', async (suffix, body, status) => {
      const [, id] = await connect('hosta');
      expect((await world.call('POST', `/v1/hosts/${id}${suffix}`, body)).status).toBe(status);
      expect((await world.call('POST', `/v1/hosts/${UNKNOWN_ID}${suffix}`)).status).toBe(404);
    });
  });

  describe('deleting', () => {
    test('a connected host and one with sessions stay: 409', async () => {
      const [agent, id] = await connect('hosta');
      expect((await world.call('DELETE', `/v1/hosts/${id}`)).status).toBe(409);
      await offline(agent, id);
      world.handlers.live = 1;
      expect((await world.call('DELETE', `/v1/hosts/${id}`)).status).toBe(409);
      expect((await read(id)).node_name).toBe('hosta');
      expect(actions()).toEqual([]);
    });

    test('forgets the host, its GPUs and its secret; the name may enroll as a new host', async () => {
      const [agent, id] = await connect('hosta');
      await offline(agent, id);
      world.handlers.homes = 3;
      const answer = await world.call('DELETE', `/v1/hosts/${id}`);
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect((await world.call('GET', `/v1/hosts/${id}`)).status).toBe(404);
      expect((await world.call('DELETE', `/v1/hosts/${id}`)).status).toBe(404);
      expect(await world.platform.database.db.selectFrom('gpus').selectAll().execute()).toEqual([]);
      expect(actions()).toEqual([
        {
          actorUserId: ADMIN_ID,
          action: 'host.delete',
          targetType: 'host',
          targetId: id,
          details: { node_name: 'hosta', homes: 3 },
        },
      ]);
      await expect(agent.connect()).rejects.toMatchObject({ status: 401 });
      const [, next] = await connect('hosta');
      expect(next).not.toBe(id);
    });
  });

  describe('enrollment tokens', () => {
    test('are shown once, listed without their value, and withdrawn', async () => {
      const minted = await world.call('POST', '/v1/admin/enrollment-tokens', {
        note: 'rack 4',
        node_name: 'hosta',
      });
      expect(minted.status).toBe(201);
      const { id, token, ...rest } = minted.body as { id: string; token: string };
      expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
      const expires_at = now(3_600_000);
      expect(rest).toEqual({ expires_at, command: expect.stringContaining(token) });
      const list = await world.call('GET', '/v1/admin/enrollment-tokens');
      expect(list.text).not.toContain(token);
      expect(list.body).toEqual({
        items: [
          {
            id,
            note: 'rack 4',
            node_name: 'hosta',
            created_at: now(),
            expires_at,
            used_at: null,
            host_id: null,
          },
        ],
      });
      expect((await world.call('DELETE', `/v1/admin/enrollment-tokens/${id}`)).status).toBe(204);
      expect((await world.call('DELETE', `/v1/admin/enrollment-tokens/${id}`)).status).toBe(404);
      expect(
        actions().map(({ action, targetType, targetId, details }) => [action, targetType, targetId, details]),
      ).toEqual(
        ['enrollment_token.create', 'enrollment_token.delete'].map((action) => [
          action,
          'enrollment_token',
          id,
          { id, node_name: 'hosta' },
        ]),
      );
    });

    test.each([
      [undefined, 201],
      [{}, 201],
      [{ ttl_seconds: 60 }, 201],
      [{ ttl_seconds: 604_800 }, 201],
      [{ ttl_seconds: 59 }, 400],
      [{ ttl_seconds: 604_801 }, 400],
      [{ ttl_seconds: 60.5 }, 400],
      [{ note: 'x'.repeat(200) }, 201],
      [{ note: 'x'.repeat(201) }, 400],
      [{ node_name: 'Not A Name' }, 400],
      [{ surprise: true }, 400],
      ['[]', 400],
    ])('POST with %o: %i', async (body, status) => {
      expect((await world.call('POST', '/v1/admin/enrollment-tokens', body)).status).toBe(status);
    });
  });
});
