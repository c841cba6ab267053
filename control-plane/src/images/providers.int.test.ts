import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeDatabases, refused, type TestApp } from '../testing/index.ts';
import { type FakeRegistry, startFakeRegistry } from './testing/fake-registry.ts';

describeDatabases('images that libraries live in', (databases) => {
  let registry: FakeRegistry;
  let app: TestApp;
  beforeAll(async () => {
    registry = await startFakeRegistry();
    app = await createTestApp(await databases.fresh(), {
      env: { ...registry.env, SERVICE_IMAGE_REGISTRY_HOSTS: `http://${registry.host},ghcr.io` },
    });
  });
  afterAll(async () => {
    await app.close();
    await registry.close();
  });

  const sync = () => app.call(app.people.admin, 'POST', '/v1/admin/images/sync');
  const offer = (id: string, more: object) => {
    const registry_ref = `${registry.host}/example/${id}:1`;
    registry.images.push({ id, display_name: id, kind: 'prebuilt', version: '1', registry_ref, ...more });
  };

  test('are listed with the needs of their apps, without pictures of foreign servers', async () => {
    offer('steam', {
      library_provider: 'steam',
      description: 'Games of a shop',
      artwork: { tile: 'https://ghcr.io/tile.png' },
      runtime: {
        gpu: true,
        no_new_privileges: false,
        managed_home: true,
        home_container_path: '/home/steam',
      },
    });
    offer('plain', { library_provider: 'steam', artwork: { tile: 'https://elsewhere.example/tile.png' } });
    offer('http', { library_provider: 'steam', artwork: { tile: `http://${registry.host}/tile.png` } });
    offer('other', { library_provider: 'gog' });
    offer('none', {});
    const synced: string[] = [];
    app.plane.images.providers.onSynced(async () => {
      synced.push('synced');
      throw new Error('a listener that fails');
    });
    expect((await sync()).status).toBe(200);
    expect(synced).toEqual(['synced']);
    const said = {
      provider: 'steam',
      description: '',
      coverUrl: null,
      managedHome: false,
      homeContainerPath: null,
    };
    expect(await app.plane.images.providers.declared()).toEqual([
      { ...said, imageId: 'http', displayName: 'http' },
      { ...said, imageId: 'plain', displayName: 'plain' },
      {
        provider: 'steam',
        imageId: 'steam',
        displayName: 'steam',
        description: 'Games of a shop',
        coverUrl: 'https://ghcr.io/tile.png',
        gpu: true,
        noNewPrivileges: false,
        managedHome: true,
        homeContainerPath: '/home/steam',
      },
    ]);
    registry.manifestText = '{';
    await sync();
    expect(synced).toEqual(['synced']);
    registry.manifestText = null;
  });

  test('are installed on all hosts, once, as soon as they have a digest', async () => {
    const { providers } = app.plane.images;
    await expect(providers.ensureInstalled('steam')).rejects.toHaveProperty('code', 'digest_unresolved');
    await expect(providers.ensureInstalled('nothing')).rejects.toHaveProperty('code', 'not_found');
    const digest = registry.publish('example/steam', '1');
    await sync();
    const installed = await providers.ensureInstalled('steam');
    expect(installed).toEqual({
      image: `${registry.host}/example/steam@${digest}`,
      runtimePresetId: expect.any(String),
    });
    expect(await providers.ensureInstalled('steam')).toEqual(installed);
  });

  test('become an app when discovery is on, and cannot be removed until it is off', async () => {
    const { admin } = app.people;
    const discover = (library_discovery_enabled: boolean) =>
      app.call(admin, 'PATCH', '/v1/admin/settings', { body: { library_discovery_enabled } });
    const libraries = async () => (await app.call(admin, 'GET', '/v1/admin/apps')).body.items;
    registry.images = registry.images.filter(({ id }) => id === 'steam');
    registry.tags.clear();
    await app.call(admin, 'DELETE', '/v1/admin/images/steam/install');
    Object.assign(registry.images[0] ?? {}, { registry_ref: `${registry.host}/example/steam:2` });
    await sync();
    await discover(true);
    expect(await libraries()).toEqual([]);
    registry.publish('example/steam', '2');
    await sync();
    const installed = await app.call(admin, 'GET', '/v1/admin/images');
    const [{ runtime_preset_id }] = installed.body.images;
    expect(await libraries()).toMatchObject([
      {
        name: 'steam',
        kind: 'launcher',
        library_provider: 'steam',
        runtime_preset_id,
        managed_home: true,
        cover_url: 'https://ghcr.io/tile.png',
        runtime_spec: { gpu: true, no_new_privileges: false },
      },
    ]);
    refused(await app.call(admin, 'DELETE', '/v1/admin/images/steam/install'), 409, 'provider_enabled');
    await discover(false);
    expect((await app.call(admin, 'DELETE', '/v1/admin/images/steam/install')).status).toBe(204);
  });
});
