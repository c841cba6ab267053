import { type CatalogImage, catalogImage, type ImageCatalog, imageCatalog } from '@footlight/protocol/rest';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type Answer,
  createTestApp,
  describeDatabases,
  loggedActivity,
  ofOneProcess,
  type Person,
  refused,
  type TestApp,
} from '../testing/index.ts';
import { digestOf, type FakeRegistry, ociManifest, startFakeRegistry } from './testing/fake-registry.ts';

const PATH = '/v1/admin/images';

describeDatabases('the image catalog', (databases) => {
  let app: TestApp;
  let admin: Person;
  let registry: FakeRegistry;
  beforeAll(async () => {
    registry = await startFakeRegistry();
    app = await createTestApp(await databases.fresh(), { env: registry.env });
    ({ admin } = app.people);
  });
  afterAll(async () => {
    await app.close();
    await registry.close();
  });
  beforeEach(async () => {
    registry.answers.clear();
    registry.asked.length = 0;
    registry.tags.clear();
    registry.images = [];
    registry.manifestText = null;
    const { db } = app.plane.platform.database;
    await db.deleteFrom('installed_images').execute();
    await db.deleteFrom('catalog_images').execute();
    await db.deleteFrom('runtime_presets').execute();
    await db.deleteFrom('activity').execute();
    await settings({ image_update_policy: 'notify', library_discovery_enabled: false });
  });

  const call = (method: string, path = '', body?: unknown): Promise<Answer> =>
    app.call(admin, method, `${PATH}${path}`, body === undefined ? {} : { body });
  const settings = (body: object) => app.call(admin, 'PATCH', '/v1/admin/settings', { body });
  const sync = async (): Promise<ImageCatalog> => {
    const answer = await call('POST', '/sync');
    expect(answer.status, answer.text).toBe(200);
    expect(imageCatalog.strict().parse(answer.body)).toEqual(answer.body);
    return answer.body;
  };
  const read = async (id: string): Promise<CatalogImage> => {
    const { body } = await call('GET');
    return body.images.find((image: CatalogImage) => image.id === id);
  };
  const install = async (id: string, body?: object): Promise<CatalogImage> => {
    const answer = await call('POST', `/${id}/install`, body);
    expect(answer.status, answer.text).toBe(201);
    expect(catalogImage.strict().parse(answer.body.image)).toEqual(answer.body.image);
    return answer.body.image;
  };
  const preset = async (id: string | null) =>
    (await app.call(admin, 'GET', `/v1/admin/runtime-presets/${id}`)).body.runtime_preset;
  const activityOf = async (target_id: string) =>
    (await loggedActivity(app, { target_id })).map((row) => [row.action, row.target_type, row.details]);

  /** Adds an image to catalog and registry. @returns its name with digest */
  function offer(id: string, version: string, more: Record<string, unknown> = {}): string {
    const digest = registry.publish(`example/${id}`, version);
    registry.images = [
      ...registry.images.filter((image) => image.id !== id),
      {
        id,
        display_name: `The ${id}`,
        kind: 'prebuilt',
        version,
        registry_ref: `${registry.host}/example/${id}:${version}`,
        ...more,
      },
    ];
    return `${registry.host}/example/${id}@${digest}`;
  }
  const template = (more: object = {}) => {
    const image = { id: 'desk', display_name: 'Desk', kind: 'template', version: '3', dockerfile: 'd/File' };
    registry.images.push({ ...image, ...more });
  };

  describe('GET', () => {
    test('is empty before the first synchronisation', async () => {
      const other = await createTestApp(await databases.fresh());
      try {
        const answer = await other.call(other.people.admin, 'GET', PATH);
        expect([answer.status, answer.body]).toEqual([
          200,
          {
            manifest_version: null,
            catalog_ref: 'stable',
            fetched_at: null,
            sync_error: null,
            manifest_provenance: null,
            images: [],
          },
        ]);
        const { body } = await other.call(other.people.admin, 'POST', `${PATH}/sync`);
        expect(body.sync_error).toBe('No catalog is configured: SERVICE_IMAGE_CATALOG_REPO is not set.');
      } finally {
        await other.close();
      }
    });

    test('lists images by display name, then id', async () => {
      for (const id of ['b', 'c', 'a']) offer(id, '1', { display_name: id === 'c' ? 'Apes' : 'Bees' });
      const { images } = await sync();
      expect(images.map(({ id }) => id)).toEqual(['c', 'a', 'b']);
    });
  });

  describe('POST sync', () => {
    test('takes the manifest and the digests, and says where it comes from', async () => {
      const digest = offer('retro', '1.4', {
        description: 'Old games',
        artwork: { tile: 'https://x/y.png' },
      });
      const { images, ...envelope } = await sync();
      expect(images).toEqual([
        {
          id: 'retro',
          display_name: 'The retro',
          description: 'Old games',
          kind: 'prebuilt',
          version: '1.4',
          registry_ref: `${registry.host}/example/retro:1.4`,
          registry_digest: digest,
          artwork: { tile: 'https://x/y.png' },
          library_provider: null,
          installed: false,
          installed_version: null,
          pinned: false,
          lazy: false,
          runtime_preset_id: null,
          update_available: false,
          hosts: [],
        },
      ]);
      expect(envelope).toMatchObject({
        manifest_version: 1,
        catalog_ref: 'stable',
        fetched_at: new Date(app.clock.nowMs()).toISOString(),
        sync_error: null,
        manifest_provenance: {
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          commit_sha: null,
          ref: 'stable',
          url: `http://${registry.host}/example/images/stable/image-manifest.json`,
        },
      });
      expect(await loggedActivity(app, { action: 'image.synced' })).toMatchObject([
        { actor_user_id: admin.id, target_type: 'image', details: { images: 1, sync_error: false } },
      ]);
    });

    test('distinguishes a changed manifest from an unchanged one', async () => {
      offer('one', '1');
      const first = (await sync()).manifest_provenance;
      await app.clock.pass(1_000);
      expect((await sync()).manifest_provenance).toEqual({ ...first, changed: false });
      offer('one', '2');
      await app.clock.pass(1_000);
      const changed = (await sync()).manifest_provenance;
      expect(changed).toMatchObject({
        previous_sha256: first?.sha256,
        changed: true,
        changed_at: new Date(app.clock.nowMs()).toISOString(),
      });
      await app.clock.pass(1_000);
      expect((await sync()).manifest_provenance).toEqual({ ...changed, changed: false });
    });

    test.each<[string, () => void, string]>([
      [
        'no server',
        () =>
          registry.answers.set('/example/images/stable/image-manifest.json', (_, answer) => answer.destroy()),
        'did not answer as it should',
      ],
      [
        'no manifest',
        () =>
          registry.answers.set('/example/images/stable/image-manifest.json', (_, answer) =>
            answer.writeHead(404).end(),
          ),
        'answered 404',
      ],
      [
        'a redirect inside',
        () =>
          registry.answers.set('/example/images/stable/image-manifest.json', (_, answer) =>
            answer.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
          ),
        'leads on too often',
      ],
      [
        'no JSON',
        () => {
          registry.manifestText = '{';
        },
        'it is no JSON',
      ],
      [
        'another version',
        () => {
          registry.manifestText = '{"manifest_version":2,"images":[]}';
        },
        'manifest_version',
      ],
      [
        'a mount of the root',
        () => {
          offer('evil', '1', { runtime: { mounts: ['/:/host'] } });
        },
        'images.1.runtime.mounts',
      ],
      [
        'more than 8 MiB',
        () => {
          registry.manifestText = ' '.repeat(8 * 1024 * 1024 + 1);
        },
        'larger than 8388608 bytes',
      ],
    ])('%s: 200 with sync_error, and nothing changes', async (_what, breaks, why) => {
      const digest = offer('retro', '1.4');
      const before = await sync();
      breaks();
      const after = await sync();
      expect(after.sync_error).toContain(why);
      expect(after.sync_error?.length).toBeLessThanOrEqual(500);
      expect(after).toEqual({
        ...before,
        sync_error: after.sync_error,
        manifest_provenance: { ...before.manifest_provenance, changed: false },
      });
      expect(after.images[0]?.registry_digest).toBe(digest);
      expect((await loggedActivity(app, { action: 'image.synced' })).at(-1)?.details).toEqual({
        images: 1,
        sync_error: true,
      });
    });

    test('a registry that is down costs no digest, and is named; a new name in the registry costs it', async () => {
      const digest = offer('retro', '1.4');
      await sync();
      registry.tags.clear();
      const down = await sync();
      expect(down.sync_error).toContain('retro (the registry has no such tag)');
      expect(down.images[0]?.registry_digest).toBe(digest);
      offer('retro', '1.5');
      registry.tags.clear();
      expect((await sync()).images[0]).toMatchObject({ version: '1.5', registry_digest: null });
    });

    test('an image that leaves the catalog is no longer listed; installed, it can still be removed', async () => {
      offer('gone', '1');
      await sync();
      await install('gone');
      registry.images = [];
      expect((await sync()).images).toEqual([]);
      refused(await call('POST', '/gone/update'), 404, 'not_found');
      expect((await call('DELETE', '/gone/install')).status).toBe(204);
      refused(await call('DELETE', '/gone/install'), 404, 'not_found');
    });

    ofOneProcess('two at once share one, and each gets an answer', async () => {
      offer('retro', '1');
      const answers = await Promise.all([sync(), sync(), sync()]);
      for (const answer of answers) expect(answer.images).toHaveLength(1);
      const fetched = registry.asked.filter((path) => path.startsWith('/example/images'));
      expect(fetched.length).toBeLessThan(3);
    });

    test('a runtime block that changes at the same version rewrites the preset', async () => {
      offer('retro', '1', { runtime: { args: ['--old'] } });
      await sync();
      const { runtime_preset_id } = await install('retro');
      offer('retro', '1', { runtime: { args: ['--new'], network: 'bridge' } });
      await sync();
      expect(await preset(runtime_preset_id)).toMatchObject({ args: ['--new'], network: 'bridge' });
      offer('retro', '2', { runtime: { args: ['--newest'] } });
      await sync();
      expect(await preset(runtime_preset_id)).toMatchObject({ args: ['--new'] });
    });
  });

  describe('POST install', () => {
    test('uses the digest, and makes the preset that the manifest describes', async () => {
      const image = offer('retro', '1.4', {
        runtime: {
          preset_name: 'Retro',
          args: ['-f'],
          env: { A: '1' },
          mounts: ['/srv/roms:/roms:ro'],
          managed_home: true,
          home_container_path: '/home/retro',
          network: 'none',
          gpu: true,
        },
      });
      await sync();
      const installed = await install('retro');
      expect(installed).toMatchObject({
        installed: true,
        installed_version: '1.4',
        pinned: false,
        lazy: false,
        update_available: false,
      });
      expect(await preset(installed.runtime_preset_id)).toMatchObject({
        name: 'Retro',
        image,
        args: ['-f'],
        env: { A: '1' },
        mounts: ['/srv/roms:/roms:ro'],
        managed_home: true,
        home_container_path: '/home/retro',
        network: 'none',
      });
      expect(await read('retro')).toEqual(installed);
      expect(await activityOf('retro')).toEqual([
        ['image.installed', 'image', { version: '1.4', lazy: false }],
      ]);
    });

    test('lazy is taken from the body; a body is not needed; no block, no preset', async () => {
      offer('one', '1');
      offer('two', '1');
      await sync();
      expect(await install('one', { lazy: true })).toMatchObject({ lazy: true, runtime_preset_id: null });
      expect(await install('two')).toMatchObject({ lazy: false });
      refused(await call('POST', '/one/install', { lazy: null }), 400, 'validation_failed');
    });

    test('404, then 409 in this order: installed, no digest, no context', async () => {
      refused(await call('POST', '/nothing/install'), 404, 'not_found');
      offer('retro', '1');
      template();
      await sync();
      await install('retro');
      refused(await call('POST', '/retro/install'), 409, 'already_installed');
      refused(await call('POST', '/desk/install'), 409, 'context_unresolved');
      offer('dark', '1');
      registry.tags.clear();
      await sync();
      refused(await call('POST', '/dark/install'), 409, 'digest_unresolved');
    });

    test('of two at the same moment one is refused', async () => {
      offer('retro', '1', { runtime: {} });
      await sync();
      const answers = await Promise.all([call('POST', '/retro/install'), call('POST', '/retro/install')]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    });

    test('a name that is taken gets a number, for two at the same moment too', async () => {
      await app.call(admin, 'POST', '/v1/admin/runtime-presets', { body: { name: 'Games' } });
      for (const id of ['a', 'b']) offer(id, '1', { runtime: { preset_name: 'Games' } });
      await sync();
      const both = await Promise.all([install('a'), install('b')]);
      const names = await Promise.all(both.map(async (one) => (await preset(one.runtime_preset_id)).name));
      expect(names.sort()).toEqual(['Games (2)', 'Games (3)']);
    });

    test('a template of a catalog that is read at a commit is built from that commit', async () => {
      const { db } = app.plane.platform.database;
      const build = JSON.stringify({
        context_url: `https://github.com/example/images/archive/${'a'.repeat(40)}.tar.gz`,
        context_subdir: `images-${'a'.repeat(40)}/d`,
        dockerfile: 'File',
        build_args: {},
      });
      template({ runtime: {} });
      await sync();
      await db.updateTable('catalog_images').set({ build }).where('id', '=', 'desk').execute();
      const { runtime_preset_id } = await install('desk');
      expect(await preset(runtime_preset_id)).toMatchObject({ image: 'service-local/desk:3' });
    });
  });

  describe('DELETE install', () => {
    test('removes the installation, keeps the preset, and an installation takes it over again', async () => {
      offer('retro', '1', { runtime: { args: ['--first'] } });
      await sync();
      const { runtime_preset_id } = await install('retro');
      const renamed = { name: 'My own name', description: 'mine' };
      await app.call(admin, 'PATCH', `/v1/admin/runtime-presets/${runtime_preset_id}`, { body: renamed });
      expect((await call('DELETE', '/retro/install')).status).toBe(204);
      expect(await read('retro')).toMatchObject({ installed: false, installed_version: null });
      expect(await preset(runtime_preset_id)).toMatchObject({ args: ['--first'] });
      const image = offer('retro', '2', { runtime: { args: ['--second'] } });
      await sync();
      expect(await install('retro')).toMatchObject({ runtime_preset_id });
      expect(await preset(runtime_preset_id)).toMatchObject({ ...renamed, image, args: ['--second'] });
      expect((await activityOf('retro')).map(([action]) => action)).toEqual([
        'image.installed',
        'image.uninstalled',
        'image.installed',
      ]);
    });

    test('404 for an unknown image and one that is not installed', async () => {
      refused(await call('DELETE', '/nothing/install'), 404, 'not_found');
      offer('retro', '1');
      await sync();
      refused(await call('DELETE', '/retro/install'), 404, 'not_installed');
    });

    test('409 for the image of a library while discovery is on', async () => {
      offer('steam', '1', { library_provider: 'steam' });
      await sync();
      await install('steam');
      await settings({ library_discovery_enabled: true });
      refused(await call('DELETE', '/steam/install'), 409, 'provider_enabled');
      await settings({ library_discovery_enabled: false });
      expect((await call('DELETE', '/steam/install')).status).toBe(204);
    });
  });

  describe('pin and update', () => {
    test('a pin is idempotent in both directions, and 404 without an installation', async () => {
      for (const method of ['POST', 'DELETE'])
        refused(await call(method, '/retro/pin'), 404, 'not_installed');
      offer('retro', '1');
      await sync();
      for (const method of ['POST', 'DELETE'])
        refused(await call(method, '/retro/pin'), 404, 'not_installed');
      await install('retro');
      for (const [method, pinned] of [
        ['POST', true],
        ['POST', true],
        ['DELETE', false],
        ['DELETE', false],
      ] as const) {
        expect((await call(method, '/retro/pin')).status).toBe(204);
        expect(await read('retro')).toMatchObject({ pinned });
      }
      expect((await activityOf('retro')).slice(1)).toEqual(
        ['image.pinned', 'image.pinned', 'image.unpinned', 'image.unpinned'].map((action) => [
          action,
          'image',
          {},
        ]),
      );
    });

    test('an update takes version, digest and runtime block of the catalog', async () => {
      offer('retro', '1.9', { runtime: { args: ['--old'] } });
      await sync();
      const { runtime_preset_id } = await install('retro');
      const unchanged = await call('POST', '/retro/update');
      expect([unchanged.status, unchanged.body.applied]).toEqual([200, false]);
      const image = offer('retro', '1.10', { runtime: { args: ['--new'] } });
      await sync();
      expect(await read('retro')).toMatchObject({ installed_version: '1.9', update_available: true });
      const { status, body } = await call('POST', '/retro/update');
      expect([status, body.applied]).toEqual([200, true]);
      expect(body.image).toMatchObject({
        installed_version: '1.10',
        update_available: false,
        runtime_preset_id,
      });
      expect(await preset(runtime_preset_id)).toMatchObject({ image, args: ['--new'] });
      expect((await activityOf('retro')).slice(1)).toEqual([
        ['image.updated', 'image', { applied: false, version: '1.9' }],
        ['image.updated', 'image', { applied: true, version: '1.10' }],
      ]);
    });

    test('in this order: 404, 409 pinned, 200 unchanged, 409 no digest', async () => {
      refused(await call('POST', '/retro/update'), 404, 'not_found');
      offer('retro', '1');
      await sync();
      refused(await call('POST', '/retro/update'), 404, 'not_installed');
      await install('retro');
      await call('POST', '/retro/pin');
      refused(await call('POST', '/retro/update'), 409, 'conflict');
      await call('DELETE', '/retro/pin');
      offer('retro', '2');
      registry.tags.clear();
      await sync();
      await call('POST', '/retro/pin');
      refused(await call('POST', '/retro/update'), 409, 'conflict');
      await call('DELETE', '/retro/pin');
      refused(await call('POST', '/retro/update'), 409, 'digest_unresolved');
      expect(await read('retro')).toMatchObject({ installed_version: '1', update_available: true });
    });

    test('the policy auto updates what is newer and not pinned; the others only show it', async () => {
      for (const id of ['free', 'held', 'dark', 'older']) offer(id, id === 'older' ? '3' : '1');
      await sync();
      for (const id of ['free', 'held', 'dark', 'older']) await install(id);
      await call('POST', '/held/pin');
      for (const id of ['free', 'held', 'dark', 'older']) offer(id, '2');
      registry.tags.delete('example/dark:2');
      for (const image_update_policy of ['manual', 'notify']) {
        await settings({ image_update_policy });
        await sync();
        expect(await read('free')).toMatchObject({ installed_version: '1', update_available: true });
      }
      await settings({ image_update_policy: 'auto' });
      await sync();
      const versions = async () =>
        Promise.all(['free', 'held', 'dark', 'older'].map(async (id) => (await read(id)).installed_version));
      expect(await versions()).toEqual(['2', '1', '1', '3']);
      expect((await activityOf('free')).at(-1)).toEqual([
        'image.updated',
        'image',
        { applied: true, version: '2' },
      ]);
    });

    test('a pin that is set while updates run is kept', async () => {
      offer('retro', '1');
      await sync();
      await install('retro');
      offer('retro', '2');
      await sync();
      const [pin, update] = await Promise.all([call('POST', '/retro/pin'), call('POST', '/retro/update')]);
      expect(pin.status).toBe(204);
      const { installed_version, pinned } = await read('retro');
      expect(pinned).toBe(true);
      expect(installed_version).toBe(update.status === 200 ? '2' : '1');
      refused(await call('POST', '/retro/update'), 409, 'conflict');
    });
  });

  test('another tag with other bytes later changes nothing that is installed', async () => {
    const image = offer('retro', '1', { runtime: {} });
    await sync();
    const { runtime_preset_id } = await install('retro');
    registry.tags.set('example/retro:1', ociManifest('other bytes'));
    const { images } = await sync();
    expect(images[0]?.registry_digest).toContain(digestOf(ociManifest('other bytes')));
    expect((await call('POST', '/retro/update')).body.applied).toBe(false);
    expect(await preset(runtime_preset_id)).toMatchObject({ image });
  });
});
