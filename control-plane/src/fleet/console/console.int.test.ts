import type { ConsoleCapabilities } from '@footlight/protocol/agent';
import { consoleDefaults } from '@footlight/protocol/rest';
import { FakeAgent, softwareCapacity } from '@footlight/test-harness';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestApp,
  describeDatabases,
  loggedActivity,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

const TOKEN = 'a-fixed-enrollment-token';
const FULL_HD = { width: 1920, height: 1080, refresh_millihz: 60_000 };
const TIMING = { preferred: true, interlaced: false, clock_khz: 148_500, htotal: 2200, vtotal: 1125 };
const HAS: ConsoleCapabilities = {
  connectors: ['DP-4'],
  outputs: [
    {
      id: 'card1:DP-4',
      card: 'card1',
      render_node: '/dev/dri/renderD128',
      connector: 'DP-4',
      connected: true,
      active_mode: null,
      modes: [{ name: '1920x1080', ...FULL_HD, ...TIMING }],
    },
  ],
  audio_sinks: [],
  input_devices: [],
};

describeDatabases('the display attached to a host', (databases) => {
  let app: TestApp;
  let agent: FakeAgent;
  let host: string;

  beforeAll(async () => {
    app = await createTestApp(await databases.fresh(), { env: { SERVICE_ENROLLMENT_TOKEN: TOKEN } });
    const { http } = await app.plane.listen();
    agent = new FakeAgent({ url: http, nodeName: 'hosta', credential: { token: TOKEN }, heartbeatMs: 0 });
    host = (await agent.connect()).host_id;
  });
  afterAll(async () => {
    await agent.drop();
    await app.close();
  });

  const path = (id = host) => `/v1/admin/hosts/${id}/console-config`;
  const read = async () => (await app.call(app.people.admin, 'GET', path())).body;
  const set = (body: unknown, id = host) => app.call(app.people.admin, 'PATCH', path(id), { body });
  const lastUpdate = () =>
    agent.commands.filter(({ type }) => type === 'config_update').at(-1) as { console_config: unknown };

  test('before anything is set or reported: defaults, and empty lists', async () => {
    expect(await read()).toEqual({
      config: consoleDefaults,
      capabilities: { connectors: [], outputs: [], audio_sinks: [], input_devices: [] },
    });
    expect(lastUpdate().console_config).toBeNull();
  });

  describe('what is refused before the host is looked up', () => {
    test.each([
      [{ enabled: 1 }],
      [{ connector: '' }],
      [{ connector: 'x'.repeat(65) }],
      [{ output_id: 7 }],
      [{ mode: { width: 1920, height: 1080 } }],
      [{ mode: { ...FULL_HD, extra: 1 } }],
      [{ mode: { ...FULL_HD, width: 1920.5 } }],
      [{ compositor: 'sway' }],
      [{ input_devices: 'all' }],
      [{ input_devices: [''] }],
      [{ default_user: 'alice' }],
      [{ surprise: true }],
    ])('%j: 400', async (body) => {
      expect((await set(body, UNKNOWN_ID)).status).toBe(400);
    });

    test('a request that is well formed: 404, before its values are judged', async () => {
      expect((await set({ output_id: 'card1:DP-4' }, UNKNOWN_ID)).status).toBe(404);
      expect((await app.call(app.people.admin, 'GET', path(UNKNOWN_ID))).status).toBe(404);
    });
  });

  test('what the host reports is shown, and settings are checked against it', async () => {
    expect((await set({ output_id: 'card1:DP-4', mode: FULL_HD })).status).toBe(400);
    agent.capacity = softwareCapacity({ console_capabilities: HAS });
    agent.send(agent.capacity);
    await expect.poll(async () => (await read()).capabilities).toEqual(HAS);
    const answer = await set({ enabled: true, output_id: 'card1:DP-4', mode: FULL_HD });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        config: { ...consoleDefaults, enabled: true, output_id: 'card1:DP-4', mode: FULL_HD },
        capabilities: HAS,
      },
    ]);
    expect((await set({ mode: { ...FULL_HD, refresh_millihz: 59_940 } })).status).toBe(400);
    expect((await set({ connector: 'DVI-1' })).status).toBe(400);
  });

  test('the app and the account must exist', async () => {
    const { id } = app.people.alice;
    expect((await set({ default_user: UNKNOWN_ID })).status).toBe(400);
    expect((await set({ default_app: UNKNOWN_ID })).status).toBe(400);
    expect((await set({ auto_start_on_display: true })).status).toBe(400);
    expect(
      (await set({ auto_start_on_display: true, default_user: id.toUpperCase() })).body.config,
    ).toMatchObject({ auto_start_on_display: true, default_user: id });
  });

  test('the agent is sent all of it, nothing is restarted, and the change is noted by its keys', async () => {
    agent.commands.length = 0;
    await set({ grab: false, compositor: 'cage', enabled: true });
    const { config } = await read();
    expect(config).toMatchObject({ grab: false, compositor: 'cage' });
    await expect.poll(() => lastUpdate()?.console_config).toEqual(config);
    expect(agent.commands.filter(({ type }) => type === 'restart')).toEqual([]);
    const newest = (await loggedActivity(app, { action: 'console.config.update' })).at(-1);
    expect(newest).toMatchObject({
      target_type: 'host',
      target_id: host,
      details: { keys: ['compositor', 'grab'] },
    });
  });

  test('null puts a field back to its default', async () => {
    await set({ grab: false });
    expect((await set({ grab: null, compositor: null })).body.config).toMatchObject({
      grab: true,
      compositor: 'weston',
    });
  });

  test('it survives the link', async () => {
    const { config } = await read();
    await agent.drop();
    agent.commands.length = 0;
    await agent.connect();
    await expect.poll(() => lastUpdate()?.console_config).toEqual(config);
  });
});
