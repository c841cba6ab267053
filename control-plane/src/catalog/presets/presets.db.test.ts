import { seededRandom } from '@footlight/platform/testing';
import { type RuntimePreset, runtimePreset } from '@footlight/protocol/rest';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  createTestApp,
  describeDatabases,
  loggedActivity,
  PATIENTLY,
  type Person,
  refused,
  type TestApp,
  UNKNOWN_ID,
} from '../../testing/index.ts';

const PATH = '/v1/admin/runtime-presets';

describeDatabases('runtime presets', (databases) => {
  let app: TestApp;
  let admin: Person;
  beforeAll(async () => {
    app = await createTestApp(await databases.fresh());
    ({ admin } = app.people);
  });
  afterAll(() => app.close());

  const create = (body: unknown) => app.call(admin, 'POST', PATH, { body });
  const created = async (fields: object): Promise<RuntimePreset> => {
    const answer = await create(fields);
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.runtime_preset;
  };
  const read = (id: string) => app.call(admin, 'GET', `${PATH}/${id}`);
  const patch = (id: string, body: unknown) => app.call(admin, 'PATCH', `${PATH}/${id}`, { body });
  const remove = (id: string) => app.call(admin, 'DELETE', `${PATH}/${id}`);
  const newApp = async (fields: object): Promise<string> => {
    const answer = await app.call(admin, 'POST', '/v1/apps', { body: { name: 'App', ...fields } });
    expect(answer.status, answer.text).toBe(201);
    return answer.body.app.id;
  };
  const activityOf = async (id: string) => {
    const rows = await loggedActivity(app, { target_id: id });
    return rows.map((row) => [row.action, row.target_type, row.actor_user_id, row.details]);
  };
  let serial = 0;
  const name = () => {
    serial += 1;
    return `Preset ${serial}`;
  };
  /** A preset like the one that the installation of a catalog image creates. */
  const managed = async (imageId: string, image: string): Promise<string> => {
    const preset = await created({ name: name(), image });
    await app.plane.platform.database.db
      .updateTable('runtime_presets')
      .set({ managed_image_id: imageId })
      .where('id', '=', preset.id)
      .execute();
    return preset.id;
  };

  describe('POST', () => {
    test('a name is enough; the rest has its defaults', async () => {
      const own = name();
      const preset = await created({ name: own });
      expect(runtimePreset.strict().parse(preset)).toEqual(preset);
      const now = new Date(app.clock.nowMs()).toISOString();
      expect(preset).toEqual({
        id: preset.id,
        name: own,
        description: '',
        image: '',
        args: [],
        env: {},
        mounts: [],
        managed_home: false,
        home_container_path: '/home/service',
        network: '',
        used_by: [],
        created_at: now,
        updated_at: now,
      });
      expect(await activityOf(preset.id)).toEqual([
        ['runtime_preset.create', 'runtime_preset', admin.id, { name: own }],
      ]);
    });

    test('everything is kept as it was sent, odd variables among it', async () => {
      const fields = {
        name: name(),
        description: 'Emulators',
        image: 'registry.example/retro@sha256:00',
        args: ['--fullscreen', ''],
        mounts: ['/srv/roms:/roms:ro', '/srv/roms:/roms:ro'],
        managed_home: true,
        home_container_path: '/home/retro',
        network: 'bridge',
      };
      const answer = await create(`{"env":{"A":"1","__proto__":"kept"},${JSON.stringify(fields).slice(1)}`);
      expect(answer.status).toBe(201);
      expect(answer.body.runtime_preset).toMatchObject(fields);
      const { text } = await read(answer.body.runtime_preset.id);
      expect(text).toContain('"env":{"A":"1","__proto__":"kept"}');
    });

    test.each([
      ['mounts', { mounts: ['/etc:/etc'] }],
      ['mounts', { mounts: ['/srv:/x', '/srv/../etc:/x'] }],
      ['mounts', { mounts: ['/var:/x'] }],
      ['home_container_path', { home_container_path: 'home' }],
      ['network', { network: 'host' }],
      ['args', { args: null }],
    ])('400 names %s for %j', async (field, fields) => {
      const answer = await create({ name: name(), ...fields });
      refused(answer, 400, 'validation_failed');
      expect(answer.body.error.message).toContain(field);
    });

    test('a name of 128 characters of any script is taken, a longer one is 400 on either database', async () => {
      // Random text, so that no database can compress it to fit into its index.
      const random = seededRandom(1);
      const characters = Array.from({ length: 9_000 }, () =>
        String.fromCodePoint(0x20000 + Math.floor(random.number() * 0xa000)),
      );
      const longest = characters.slice(0, 128).join('');
      const { id } = await created({ name: longest });
      for (const tooLong of [characters.slice(0, 129).join(''), characters.join('')]) {
        refused(await create({ name: tooLong }), 400, 'validation_failed');
        refused(await patch(id, { name: tooLong }), 400, 'validation_failed');
      }
    });

    test('a name that is taken: 409, for one of two at the same moment too; a refused mount comes first', async () => {
      const taken = await created({ name: name() });
      refused(await create({ name: taken.name }), 409, 'conflict');
      refused(await create({ name: taken.name, mounts: ['/:/x'] }), 400, 'validation_failed');
      const body = { name: name() };
      const answers = await Promise.all([create(body), create(body)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    });
  });

  test('the list is by name and says who uses what, disabled apps too', async () => {
    const [zebra, ape] = [await created({ name: 'Zebra' }), await created({ name: 'Ape' })];
    const second = await newApp({ name: 'Second', runtime_preset_id: ape.id, enabled: false });
    const first = await newApp({ name: 'First', runtime_preset_id: ape.id });
    const { status, body } = await app.call(admin, 'GET', PATH);
    expect(status).toBe(200);
    const listed: RuntimePreset[] = body.items.filter(({ id }: RuntimePreset) =>
      [zebra.id, ape.id].includes(id),
    );
    expect(listed.map((preset) => preset.id)).toEqual([ape.id, zebra.id]);
    expect(listed.map((preset) => preset.used_by)).toEqual([
      [
        { id: first, name: 'First' },
        { id: second, name: 'Second' },
      ],
      [],
    ]);
    expect((await read(ape.id)).body.runtime_preset).toEqual(listed[0]);
  });

  test('unknown: 404', async () => {
    for (const answer of [await read(UNKNOWN_ID), await patch(UNKNOWN_ID, {}), await remove(UNKNOWN_ID)])
      refused(answer, 404, 'not_found');
    refused(await patch(UNKNOWN_ID, { name: ' ' }), 400, 'validation_failed');
    refused(await patch(UNKNOWN_ID, { mounts: ['/:/x'] }), 400, 'validation_failed');
  });

  describe('PATCH', () => {
    test('changes what it names and nothing else', async () => {
      const before = await created({ name: name(), args: ['a'], env: { A: '1' }, network: 'none' });
      await app.clock.pass(1_000);
      const answer = await patch(before.id, { env: {}, network: 'bridge' });
      expect([answer.status, answer.body.runtime_preset]).toEqual([
        200,
        { ...before, env: {}, network: 'bridge', updated_at: new Date(app.clock.nowMs()).toISOString() },
      ]);
      expect((await activityOf(before.id)).at(-1)).toEqual([
        'runtime_preset.update',
        'runtime_preset',
        admin.id,
        { keys: ['env', 'network'] },
      ]);
    });

    test('an empty one answers the unchanged record', async () => {
      const before = await created({ name: name() });
      await app.clock.pass(1_000);
      const answer = await patch(before.id, {});
      expect([answer.status, answer.body.runtime_preset]).toEqual([200, before]);
      expect(await activityOf(before.id)).toHaveLength(1);
    });

    test('a name that is taken: 409; its own name is allowed', async () => {
      const [one, other] = [await created({ name: name() }), await created({ name: name() })];
      refused(await patch(one.id, { name: other.name }), 409, 'conflict');
      expect((await patch(one.id, { name: one.name })).status).toBe(200);
      expect((await read(one.id)).body.runtime_preset.name).toBe(one.name);
    });

    test('a preset of a catalog image takes an image by digest or its own build only: 422', async () => {
      const id = await managed('retro', 'registry.example/retro@sha256:00');
      for (const image of ['registry.example/retro:latest', '', 'service-local/other:1']) {
        const answer = await patch(id, { image, description: 'changed' });
        refused(answer, 422, 'managed_preset_image_invalid');
        expect(answer.body.error.message).toContain('retro');
      }
      expect((await read(id)).body.runtime_preset.description).toBe('');
      for (const body of [{ image: 'x@sha256:11' }, { image: 'service-local/retro:7' }, { args: ['x'] }])
        expect((await patch(id, body)).status).toBe(200);
    });

    test('a taken name is answered before an image that a managed preset may not have', async () => {
      const id = await managed('chess', 'x@sha256:00');
      const other = await created({ name: name() });
      refused(await patch(id, { name: other.name, image: 'x:latest' }), 409, 'conflict');
    });
  });

  describe('DELETE', () => {
    test('409 names the apps that refer to it, disabled ones too; 204 after them', async () => {
      const preset = await created({ name: name() });
      const user = await newApp({ name: 'User of it', runtime_preset_id: preset.id, enabled: false });
      const answer = await remove(preset.id);
      refused(answer, 409, 'conflict');
      expect(answer.body.error.message).toContain('User of it');
      const cleared = await app.call(admin, 'PATCH', `/v1/apps/${user}`, {
        body: { runtime_preset_id: null },
      });
      expect(cleared.status).toBe(200);
      expect((await remove(preset.id)).status).toBe(204);
      refused(await read(preset.id), 404, 'not_found');
      expect((await activityOf(preset.id)).at(-1)).toEqual([
        'runtime_preset.delete',
        'runtime_preset',
        admin.id,
        { name: preset.name },
      ]);
    });

    // SQLite runs only one transaction at a time.
    test.runIf(databases.dialect === 'postgres')(
      'an app that begins to use it meanwhile is refused, as if it were gone already',
      async () => {
        const preset = await created({ name: name() });
        const { database } = app.plane.platform;
        let commit = () => {};
        const committing = new Promise<void>((resolve) => {
          commit = resolve;
        });
        let deleting = Promise.resolve();
        await new Promise<void>((deleted) => {
          deleting = database.transaction(async (tx) => {
            await tx.deleteFrom('runtime_presets').where('id', '=', preset.id).execute();
            deleted();
            await committing;
          });
        });
        const late = app.call(admin, 'POST', '/v1/apps', {
          body: { name: 'Late', runtime_preset_id: preset.id },
        });
        await vi.waitUntil(async () => {
          const waiting = sql<{ count: number }>`select count(*) as count from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`;
          return (await waiting.execute(database.db)).rows[0]?.count === 1;
        }, PATIENTLY);
        commit();
        await deleting;
        refused(await late, 400, 'validation_failed');
      },
    );
  });
});
