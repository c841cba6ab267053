import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeDatabases } from '../../testing/index.ts';
import { openSessionsWorld, type SessionsWorld, slots } from '../testing/world.ts';

describeDatabases('what a launch takes from its app', (databases) => {
  let world: SessionsWorld;
  beforeEach(async () => {
    world = await openSessionsWorld(await databases.fresh());
  });
  afterEach(() => world.close());

  describe('homes', () => {
    test('are made by the first launch, below the root of the host, and used again', async () => {
      const agent = await world.host('hosta');
      const app = await world.app({ name: 'Space Game', managed_home: true });
      const first = await world.running(world.people.alice, app);
      const ref = `/var/lib/service-agent/homes/alice-${world.people.alice.id.slice(0, 8)}/space-game-${app.slice(0, 8)}`;
      expect(agent.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        app: { home: { provider: 'local', ref, container_path: '/home/service' } },
      });
      await world.call(world.people.alice, 'DELETE', `/v1/sessions/${first.id}`);
      await world.until(first.id, 'stopped');
      await world.plane.platform.database.db.updateTable('storage_homes').set({ gc_after: 5 }).execute();
      await world.running(world.people.alice, app);
      const homes = await world.plane.platform.database.db.selectFrom('storage_homes').selectAll().execute();
      expect(homes).toMatchObject([
        { ref, provider: 'local', user_id: world.people.alice.id, gc_after: null },
      ]);
    });

    test('the size that the last report names is kept', async () => {
      const agent = await world.host('hosta');
      const session = await world.running(world.people.alice, await world.app({ managed_home: true }));
      agent.reportState(session.id, 'stopped', { reason: 'idle_timeout', home_bytes: 4096 });
      await world.until(session.id, 'stopped');
      const homes = await world.plane.platform.database.db.selectFrom('storage_homes').selectAll().execute();
      expect(homes[0]?.bytes_used).toBe(4096);
    });

    test('an app without one has none', async () => {
      const agent = await world.host('hosta');
      await world.running(world.people.alice, await world.app());
      expect(agent.commands.find((command) => command.type === 'session_assign')).not.toHaveProperty(
        'app.home',
      );
    });
  });

  describe('runtime presets', () => {
    const preset = async (fields: object): Promise<string> => {
      const answer = await world.call(world.people.admin, 'POST', '/v1/admin/runtime-presets', {
        body: { name: 'Preset', ...fields },
      });
      if (answer.status !== 201) throw new Error(`no preset: ${answer.text}`);
      return answer.body.runtime_preset.id as string;
    };
    const BASE = {
      image: 'registry.example/base@sha256:00',
      args: ['--preset'],
      env: { A: 'preset', B: 'preset' },
      mounts: ['/srv/games:/games:ro'],
      network: 'none',
    };

    test('are overridden by the app, again at each launch, and the stored app does not change', async () => {
      const agent = await world.host('hosta', slots(8));
      const { admin, alice } = world.people;
      const presetId = await preset(BASE);
      const spec = {
        args: ['app'],
        env: { B: 'app' },
        mounts: ['/srv/mods:/mods'],
        gpu: true,
        network: 'bridge',
      };
      const app = await world.app({ runtime_spec: spec, runtime_preset_id: presetId });
      const first = await world.running(alice, app);
      const assigned = (id: string) =>
        agent.commands.find((command) => command.type === 'session_assign' && command.session_id === id);
      expect(assigned(first.id)).toMatchObject({
        app: {
          image: BASE.image,
          args: ['--preset', 'app'],
          env: { A: 'preset', B: 'app' },
          mounts: ['/srv/games:/games:ro', '/srv/mods:/mods'],
          network: 'bridge',
          gpu: true,
        },
      });
      const stored = await world.call(admin, 'GET', `/v1/apps/${app}`);
      expect(stored.body.app.runtime_spec).toEqual(spec);

      await world.call(admin, 'PATCH', `/v1/admin/runtime-presets/${presetId}`, { body: { args: [] } });
      const second = await world.running(alice, app);
      expect(assigned(second.id)).toMatchObject({ app: { args: ['app'] } });
    });

    test("a tile takes its parent's, and one variable more", async () => {
      const agent = await world.host('hosta', slots(8));
      const parent = await world.app({
        runtime_spec: { env: { B: 'parent' } },
        runtime_preset_id: await preset(BASE),
        default_encode_slots: 2,
      });
      const tile = await world.tile(parent, { default_encode_slots: 7 });
      await world.running(world.people.alice, tile);
      expect(agent.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        app: {
          image: BASE.image,
          args: ['--preset'],
          env: { A: 'preset', B: 'parent', STEAM_STARTUP_FLAGS: '-bigpicture -applaunch 440' },
          mounts: BASE.mounts,
          network: 'none',
        },
        resources: { encode_slots: 2 },
      });
    });
  });

  describe('tiles', () => {
    test("run what the parent runs, with what starts them, in the parent's home and on its host", async () => {
      const home = await world.host('hosta', slots(2));
      await world.host('hostb', slots(8));
      const parent = await world.app({
        name: 'Launcher',
        managed_home: true,
        runtime_spec: { args: ['launcher'] },
      });
      const child = await world.tile(parent);
      // The home of the parent does not exist yet.
      const early = await world.launch(world.people.alice, child);
      expect([early.status, early.body.error?.code]).toEqual([409, 'home_not_provisioned']);

      await world.plane.platform.database.db
        .insertInto('storage_homes')
        .values({
          id: randomUUID(),
          user_id: world.people.alice.id,
          app_id: parent,
          host_id: home.hostId,
          provider: 'local',
          ref: '/homes/of/alice',
          bytes_used: 0,
          created_at: 1,
          last_used_at: 1,
          gc_after: null,
        })
        .execute();
      const { body } = await world.launch(world.people.alice, child);
      expect(body.session).toMatchObject({ app_id: child, host_id: home.hostId });
      await world.until(body.session.id, 'running');
      expect(home.commands.find((command) => command.type === 'session_assign')).toMatchObject({
        app: {
          args: ['launcher'],
          env: { STEAM_STARTUP_FLAGS: '-bigpicture -applaunch 440' },
          home: { ref: '/homes/of/alice' },
          tile: { source: 'steam', external_id: '440' },
          label: 'Tile',
        },
      });
      // The parent and its tiles share one home.
      const second = await world.launch(world.people.alice, parent);
      expect(second.body.error).toMatchObject({ code: 'home_in_use', session_id: body.session.id });
    });
  });
});
