import { afterEach, expect, test } from 'vitest';
import { createSettings } from '../../settings/index.ts';
import { createSignalingTokens } from '../../signaling/index.ts';
import { addLargeFleet, createTestApp, describeSqlite, type TestApp } from '../../testing/index.ts';
import { createLauncher } from './launch.ts';

describeSqlite('a booking on a host that turns out to be out of reach', ({ fresh }) => {
  let app: TestApp;
  afterEach(() => app.close());

  test('is withdrawn, and the webhook is told', async () => {
    const env = {
      SERVICE_WEBHOOK_URL: 'http://127.0.0.1:1/',
      SERVICE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24).toString('base64')}`,
    };
    app = await createTestApp(await fresh(), { env });
    await addLargeFleet(app, { hosts: 2, slots: 4 });
    const { platform } = app.plane;
    const body = { name: 'Quake', runtime_spec: { args: ['x'] } };
    const { id } = (await app.call(app.people.admin, 'POST', '/v1/apps', { body })).body.app;
    const unreachable: string[] = [];
    const launcher = createLauncher(platform, {
      presence: {
        async isReachable(hostId) {
          if (unreachable.length > 0) return true;
          unreachable.push(hostId);
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
    expect(unreachable).not.toContain(row.host_id);
    const events = await platform.database.db
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
});
