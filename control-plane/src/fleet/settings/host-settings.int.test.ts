import { HOST_SETTINGS } from '@footlight/protocol/agent';
import { type FakeAgent, type FakeAgentOptions, softwareCapacity } from '@footlight/test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases, UNKNOWN_ID } from '../../testing/index.ts';
import { ADMIN_ID, type FleetWorld, openFleetWorld } from '../testing/world.ts';

describeDatabases('settings of a host', (databases) => {
  let world: FleetWorld;
  beforeAll(async () => {
    world = await openFleetWorld(await databases.fresh());
  });
  beforeEach(() => world.reset());
  afterEach(() => world.dropAgents());
  afterAll(() => world.close());

  const connect = async (options: Partial<FakeAgentOptions> = {}): Promise<[FakeAgent, string]> => {
    const agent = world.agent('hosta', options);
    return [agent, await world.ready(agent)];
  };
  const away = async (agent: FakeAgent, id: string) => {
    await agent.drop();
    await expect.poll(async () => (await hostOf(id)).status).toBe('offline');
  };
  const hostOf = async (id: string): Promise<{ status: string }> =>
    (await world.call('GET', `/v1/hosts/${id}`)).body;
  const path = (id: string) => `/v1/admin/hosts/${id}/settings`;
  interface Settings {
    resolved: Record<string, unknown>;
    overrides: Record<string, unknown>;
    effective: Record<string, string> | null;
    pending_restart: boolean;
    restart_triggered: boolean;
    error: { code: string; message: string; live_sessions?: number };
  }
  const read = async (id: string): Promise<Settings> => (await world.call('GET', path(id))).body;
  const set = async (id: string, overrides: unknown, more: object = {}) => {
    const answer = await world.call('PATCH', path(id), { overrides, ...more });
    return { status: answer.status, body: answer.body as Settings };
  };
  const updates = (agent: FakeAgent) => agent.commands.filter(({ type }) => type === 'config_update');
  const restarts = (agent: FakeAgent) => agent.commands.filter(({ type }) => type === 'restart');
  const lastUpdate = (agent: FakeAgent) => updates(agent).at(-1) as { settings: unknown } | undefined;

  describe('reading', () => {
    test('resolved is the catalog overlaid with the overrides; effective and codecs are as the agent reported', async () => {
      const [, id] = await connect();
      await set(id, { gop: 120 });
      expect(await read(id)).toEqual({
        resolved: {
          ...Object.fromEntries(HOST_SETTINGS.map((setting) => [setting.key, setting.default])),
          gop: 120,
        },
        overrides: { gop: 120 },
        effective: { encoder: 'openh264', home_root: '/var/lib/service-agent/homes' },
        codecs: ['h264'],
        pending_restart: false,
      });
    });

    test('effective and codecs are null until the agent has said them', async () => {
      const { effective_settings: _, codecs: __, ...silent } = softwareCapacity();
      const [, id] = await connect({ capacity: silent });
      expect(await read(id)).toMatchObject({ effective: null, codecs: null, overrides: {} });
    });

    test('an unknown host is 404', async () => {
      expect((await world.call('GET', path(UNKNOWN_ID))).status).toBe(404);
    });
  });

  describe('what is refused before the host is looked up', () => {
    test.each([
      ['{}'],
      ['{"overrides":null}'],
      ['{"overrides":[]}'],
      ['{"overrides":{"no_such_setting":1}}'],
      ['{"overrides":{"no_such_setting":null}}'],
      ['{"overrides":{"__proto__":{}}}'],
      ['{"overrides":{"abr_enabled":1}}'],
      ['{"overrides":{"abr_enabled":"true"}}'],
      ['{"overrides":{"gop":60.5}}'],
      ['{"overrides":{"gop":"60"}}'],
      ['{"overrides":{"gop":0}}'],
      ['{"overrides":{"target_usage":8}}'],
      ['{"overrides":{"abr_floor_ratio":1.01}}'],
      ['{"overrides":{"abr_deadband":0}}'],
      ['{"overrides":{"encoder":"NVENC"}}'],
      ['{"overrides":{"render_node":7}}'],
      [`{"overrides":{"render_node":"${'x'.repeat(513)}"}}`],
      ['{"overrides":{"home_root":"homes"}}'],
      ['{"overrides":{"nvidia_lib32_path":"lib"}}'],
      ['{"overrides":{},"restart_confirm":"yes"}'],
    ])('%s: 400', async (body) => {
      const answer = await world.call('PATCH', path(UNKNOWN_ID), body);
      expect([answer.status, answer.body]).toMatchObject([400, { error: { code: 'validation_failed' } }]);
    });

    test('a request that is well formed: 404, before its settings are checked against each other', async () => {
      const overrides = { abr_ladder_res_engage_frac: 0.9, abr_ladder_res_recover_frac: 0.9 };
      expect((await set(UNKNOWN_ID, overrides)).status).toBe(404);
    });
  });

  describe('what is taken', () => {
    test('floats take whole numbers, other keys next to overrides are ignored, null removes an override', async () => {
      const [, id] = await connect();
      const first = await set(id, { abr_floor_ratio: 1, gop: 30 }, { surprise: true });
      expect(first).toMatchObject({
        status: 200,
        body: { overrides: { abr_floor_ratio: 1, gop: 30 }, restart_triggered: false },
      });
      expect(first.body).not.toHaveProperty('codecs');
      const second = await set(id, { gop: null, encoder: null });
      expect(second.body).toMatchObject({
        overrides: { abr_floor_ratio: 1 },
        resolved: { gop: 60 },
        restart_triggered: false,
      });
    });

    test('the agent gets the sparse overrides, whole, at each change and at each registration', async () => {
      const [agent, id] = await connect();
      await set(id, { gop: 30 });
      await set(id, { slices: 4 });
      await expect.poll(() => lastUpdate(agent)?.settings).toEqual({ gop: 30, slices: 4 });
      expect(updates(agent)).toHaveLength(3);
      await away(agent, id);
      agent.commands.length = 0;
      await world.ready(agent);
      expect(updates(agent)).toMatchObject([{ settings: { gop: 30, slices: 4 } }]);
    });

    test('a request without a change is neither saved, sent nor logged', async () => {
      const [agent, id] = await connect();
      await set(id, { gop: 30 });
      await expect.poll(() => updates(agent)).toHaveLength(2);
      world.actions.length = 0;
      expect((await set(id, { gop: 30, slices: null })).status).toBe(200);
      expect(updates(agent)).toHaveLength(2);
      expect(world.actions).toEqual([]);
    });

    test('the settings in effect are those that the agent then reports', async () => {
      const [agent, id] = await connect();
      agent.capacity = softwareCapacity({ effective_settings: { gop: '30' } });
      await set(id, { gop: 30 });
      await expect.poll(async () => (await read(id)).effective).toEqual({ gop: '30' });
    });

    test('of a host that is away: saved, and sent when it comes', async () => {
      const [agent, id] = await connect();
      await away(agent, id);
      expect((await set(id, { gop: 30 })).status).toBe(200);
      agent.commands.length = 0;
      await world.ready(agent);
      await expect.poll(() => lastUpdate(agent)?.settings).toEqual({ gop: 30 });
    });

    test('saved in the middle of a registration: the last settings sent are the last ones saved', async () => {
      const [agent, id] = await connect();
      await away(agent, id);
      let saved: Promise<unknown> | undefined;
      // The registration has read the host, and is not committed yet.
      world.handlers.onReconcile = () => {
        saved = set(id, { gop: 31 });
      };
      agent.commands.length = 0;
      await world.ready(agent);
      await saved;
      await expect.poll(() => lastUpdate(agent)?.settings).toEqual({ gop: 31 });
    });

    test('changes at the same time: the agent ends with all of them', async () => {
      const [agent, id] = await connect();
      await Promise.all([set(id, { gop: 30 }), set(id, { slices: 4 }), set(id, { target_usage: 1 })]);
      await expect.poll(() => lastUpdate(agent)?.settings).toEqual({ gop: 30, slices: 4, target_usage: 1 });
    });

    test('the change is noted with its keys', async () => {
      const [, id] = await connect();
      world.actions.length = 0;
      await set(id, { slices: 4, gop: 30 });
      expect(world.actions).toEqual([
        {
          actorUserId: ADMIN_ID,
          action: 'host.settings.update',
          targetType: 'host',
          targetId: id,
          details: { keys: ['gop', 'slices'], restart_triggered: false },
        },
      ]);
    });
  });

  describe('settings that do not go together', () => {
    test('the ladder must recover 0.05 above where it engages, in the resulting settings', async () => {
      const [, id] = await connect();
      expect((await set(id, { abr_ladder_res_engage_frac: 0.76 })).status).toBe(400);
      expect((await set(id, { abr_ladder_res_engage_frac: 0.75 })).status).toBe(200);
      expect((await set(id, { abr_ladder_res_recover_frac: 0.79 })).status).toBe(400);
      expect((await read(id)).overrides).toEqual({ abr_ladder_res_engage_frac: 0.75 });
    });

    test('home_root lies in reported storage, or is empty', async () => {
      const [, id] = await connect({
        capacity: softwareCapacity({
          host: {
            cpu_cores: 1,
            mem_mb: 1,
            storage: [{ label: 'srv', path: '/srv', total_mb: 1, available_mb: 1 }],
          },
        }),
      });
      expect((await set(id, { home_root: '/srv/homes' })).status).toBe(200);
      expect((await set(id, { home_root: '/var/homes' })).status).toBe(400);
      expect((await set(id, { home_root: '' })).status).toBe(200);
    });

    test('are refused before the restart is asked about', async () => {
      const [, id] = await connect();
      world.handlers.live = 1;
      expect((await set(id, { encoder: 'va', abr_ladder_res_engage_frac: 0.9 })).status).toBe(400);
    });
  });

  describe('settings that need a restart', () => {
    test('with sessions on the host and no confirmation: 409 restart_required, nothing saved, sent or noted', async () => {
      const [agent, id] = await connect();
      world.handlers.live = 3;
      world.actions.length = 0;
      const refused = await set(id, { encoder: 'va', gop: 30 }, { restart_confirm: false });
      expect(refused).toMatchObject({
        status: 409,
        body: { error: { code: 'restart_required', live_sessions: 3 } },
      });
      expect((await read(id)).overrides).toEqual({});
      expect([updates(agent).length, restarts(agent).length, world.actions]).toEqual([1, 0, []]);
    });

    test('confirmed, or with nothing running: saved, sent, restarted, and pending until the agent is back', async () => {
      const [agent, id] = await connect();
      world.handlers.live = 3;
      world.actions.length = 0;
      const answer = await set(id, { encoder: 'va' }, { restart_confirm: true });
      expect(answer).toMatchObject({ status: 200, body: { restart_triggered: true } });
      expect(agent.commands.map(({ type }) => type)).toEqual(['config_update', 'config_update', 'restart']);
      expect(world.actions.map(({ details }) => details)).toEqual([
        { keys: ['encoder'], restart_triggered: true },
      ]);
      expect((await read(id)).pending_restart).toBe(true);
      await expect.poll(async () => (await hostOf(id)).status).toBe('offline');
      expect((await read(id)).pending_restart).toBe(true);
      await world.ready(agent);
      expect((await read(id)).pending_restart).toBe(false);
    });

    test('with sessions on the host but only live settings changed: no question', async () => {
      const [agent, id] = await connect();
      await set(id, { encoder: 'va' });
      await expect.poll(async () => (await hostOf(id)).status).toBe('offline');
      await world.ready(agent);
      world.handlers.live = 3;
      const answer = await set(id, { gop: 30, encoder: 'va' });
      expect(answer).toMatchObject({ status: 200, body: { restart_triggered: false } });
    });

    test.each([
      ['is away', async (agent: FakeAgent, id: string) => away(agent, id)],
      [
        'refuses',
        async (agent: FakeAgent) => {
          agent.behaviour.answer = ({ type }) => (type === 'restart' ? { code: 'busy' } : 'ok');
        },
      ],
    ] as const)('an agent that %s: 409 conflict, the settings stay saved', async (_name, prepare) => {
      const [agent, id] = await connect();
      await prepare(agent, id);
      world.actions.length = 0;
      const answer = await set(id, { encoder: 'va' });
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
      expect(await read(id)).toMatchObject({ overrides: { encoder: 'va' }, pending_restart: false });
      expect(world.actions.map(({ details }) => details)).toEqual([
        { keys: ['encoder'], restart_triggered: false },
      ]);
    });
  });

  describe('restarting a host', () => {
    const restart = async (id: string, body?: unknown) => {
      const answer = await world.call('POST', `/v1/admin/hosts/${id}/restart`, body);
      return { status: answer.status, body: answer.body as Settings };
    };

    test('tells the agent, is noted, and is pending until the agent is back', async () => {
      const [agent, id] = await connect();
      world.actions.length = 0;
      expect(await restart(id)).toMatchObject({ status: 200, body: { restart_triggered: true } });
      expect(restarts(agent)).toHaveLength(1);
      expect((await read(id)).pending_restart).toBe(true);
      expect(world.actions.map(({ action, details }) => [action, details])).toEqual([
        ['host.restart', { confirmed: false, live_sessions: 0 }],
      ]);
      await expect.poll(async () => (await hostOf(id)).status).toBe('offline');
      await world.ready(agent);
      expect((await read(id)).pending_restart).toBe(false);
    });

    test('with sessions on it wants to be confirmed', async () => {
      const [agent, id] = await connect();
      world.handlers.live = 2;
      for (const body of [undefined, {}, { confirm: false }]) {
        expect(await restart(id, body)).toMatchObject({
          status: 409,
          body: { error: { code: 'restart_required', live_sessions: 2 } },
        });
      }
      expect(restarts(agent)).toEqual([]);
      world.actions.length = 0;
      expect((await restart(id, { confirm: true })).status).toBe(200);
      expect(world.actions.map(({ details }) => details)).toEqual([{ confirmed: true, live_sessions: 2 }]);
    });

    test('of a host that is away: 409 conflict, before its sessions are counted', async () => {
      const [agent, id] = await connect();
      await away(agent, id);
      world.handlers.live = 2;
      expect(await restart(id)).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    });

    test('an agent that refuses: 409 conflict, and nothing is pending or noted', async () => {
      const [agent, id] = await connect();
      agent.behaviour.answer = () => ({ code: 'busy' });
      world.actions.length = 0;
      expect(await restart(id)).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
      expect((await read(id)).pending_restart).toBe(false);
      expect(world.actions).toEqual([]);
    });

    test.each([
      ['{', UNKNOWN_ID, 400],
      ['{"confirm":1}', UNKNOWN_ID, 400],
      ['{"confirm":true,"x":1}', UNKNOWN_ID, 400],
      ['{"confirm":true}', UNKNOWN_ID, 404],
      ['', UNKNOWN_ID, 404],
    ])('with %s for %s: %i', async (body, id, status) => {
      expect((await restart(id, body)).status).toBe(status);
    });
  });
});
