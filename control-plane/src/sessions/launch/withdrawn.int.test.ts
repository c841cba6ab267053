import { afterEach, expect, test } from 'vitest';
import { createSettings } from '../../settings/index.ts';
import { createSignalingTokens } from '../../signaling/index.ts';
import { addLargeFleet, createTestApp, describeSqlite, type TestApp } from '../../testing/index.ts';
import { createLauncher } from './launch.ts';

describeSqlite('a booking on a host that turns out to be out of reach', ({ fresh }) => {
  let app: TestApp;
  let unreachable: string[];
  afterEach(() => app.close());

  /** Launches on one of two hosts. The host that is chosen first is out of reach. `meanwhile` runs before this is known. */
  async function launch(env: Record<string, string>, meanwhile = async () => {}) {
    unreachable = [];
    app = await createTestApp(await fresh(), { env });
    await addLargeFleet(app, { hosts: 2, slots: 4 });
    const { platform } = app.plane;
    const body = { name: 'Quake', runtime_spec: { args: ['x'] } };
    const { id } = (await app.call(app.people.admin, 'POST', '/v1/apps', { body })).body.app;
    const launcher = createLauncher(platform, {
      presence: {
        async isReachable(hostId) {
          if (unreachable.length > 0) return true;
          unreachable.push(hostId);
          await meanwhile();
          return false;
        },
      },
      settings: createSettings(platform),
      tokens: createSignalingTokens(platform),
    });
    const { row } = await launcher.launch(
      { userId: app.people.alice.id, role: 'user', deviceId: null },
      { app_id: id, mic: false },
    );
    return row;
  }

  test('is withdrawn, and the webhook is told', async () => {
    const row = await launch({
      SERVICE_WEBHOOK_URL: 'http://127.0.0.1:1/',
      SERVICE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24).toString('base64')}`,
    });
    expect(unreachable).not.toContain(row.host_id);
    const events = await app.plane.platform.database.db
      .selectFrom('webhook_events')
      .select('body')
      .orderBy('id')
      .execute();
    const ofSessions = events
      .map(({ body: text }) => JSON.parse(text))
      .filter(({ type }) => type.startsWith('session.'));
    expect(ofSessions.map(({ type, data }) => [type, data.state, data.host_id])).toEqual([
      ['session.created', 'assigned', unreachable[0]],
      ['session.ended', 'withdrawn', unreachable[0]],
      ['session.created', 'assigned', row.host_id],
    ]);
  });

  test.each([
    [
      'host_lost',
      'because the host registered at another replica without it: another host is chosen',
      'other',
    ],
    ['account_disabled', 'because its account was disabled: the launch is refused', 'refused'],
  ] as const)('that has ended with %s, %s', async (end_reason, _why, outcome) => {
    const launched = launch({}, async () => {
      const { db } = app.plane.platform.database;
      await db.updateTable('sessions').set({ state: 'failed', end_reason }).execute();
    });
    if (outcome === 'refused') await expect(launched).rejects.toThrow('The session changed');
    else expect(unreachable).not.toContain((await launched).host_id);
  });
});
