import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderImage } from '../../images/index.ts';
import { createTestApp, describeDatabases, type TestApp } from '../../testing/index.ts';
import type { ProviderImages } from './images.ts';

const DECLARED: ProviderImage = {
  provider: 'steam',
  imageId: 'steam',
  displayName: 'Steam',
  description: 'Games of a shop',
  coverUrl: 'https://ghcr.io/steam.png',
  gpu: undefined,
  noNewPrivileges: false,
  systempathsUnconfined: undefined,
  managedHome: true,
  homeContainerPath: '/home/steam',
};
const IMAGE = `ghcr.io/example/steam@sha256:${'a'.repeat(64)}`;

/** A catalog of images that declares one provider. */
class FakeImages implements ProviderImages {
  list: ProviderImage[] = [DECLARED];
  installed: string[] = [];
  broken = false;
  synced: () => Promise<void> = async () => undefined;

  declared = async () => this.list;
  onSynced = (listener: () => Promise<void>) => {
    this.synced = listener;
  };
  ensureInstalled = async (imageId: string) => {
    if (this.broken) throw new Error('no digest yet');
    this.installed.push(imageId);
    return { runtimePresetId: null, image: IMAGE };
  };
}

describeDatabases('provider apps', ({ fresh }) => {
  let app: TestApp;
  let images: FakeImages;
  const open = async (env: Record<string, string> = {}) => {
    images = new FakeImages();
    app = await createTestApp(await fresh(), { env, overrides: { discovery: { images } } });
  };
  beforeEach(() => open());
  afterEach(() => app.close());

  const admin = (method: string, path: string, body?: unknown) =>
    app.call(app.people.admin, method, path, body === undefined ? {} : { body });
  const discovery = (isOn: boolean) =>
    admin('PATCH', '/v1/admin/settings', { library_discovery_enabled: isOn });
  const apps = async () => (await admin('GET', '/v1/admin/apps')).body.items;

  describe('when discovery is switched on', () => {
    test('an app is created for each provider that an image declares', async () => {
      expect((await discovery(true)).status).toBe(200);
      expect(images.installed).toEqual(['steam']);
      const [created] = await apps();
      expect(created).toMatchObject({
        name: 'Steam',
        description: 'Games of a shop',
        cover_url: 'https://ghcr.io/steam.png',
        kind: 'launcher',
        enabled: true,
        library_provider: 'steam',
        managed_home: true,
        home_container_path: '/home/steam',
        runtime_spec: { image: IMAGE, gpu: true, no_new_privileges: false },
        runtime_preset_id: null,
      });
      const rows = await admin('GET', `/v1/admin/apps/${created.id}/entitlements`);
      expect(rows.body.items).toMatchObject([
        {
          subject_type: 'all',
          granted_by: 'provider',
          granted_by_user: null,
          source_ref: 'provider-app-ensure:steam',
        },
      ]);
      await discovery(true);
      expect(await apps()).toHaveLength(1);
    });

    test('no app is created where one has the mark', async () => {
      images.list = [];
      await discovery(true);
      await admin('POST', '/v1/apps', { name: 'Mine', library_provider: 'steam' });
      images.list = [DECLARED];
      await images.synced();
      expect((await apps()).map(({ name }: { name: string }) => name)).toEqual(['Mine']);
    });

    test('an image that cannot be installed yet is no error of the settings, and is tried again', async () => {
      images.broken = true;
      expect((await discovery(true)).status).toBe(200);
      expect(await apps()).toEqual([]);
      images.broken = false;
      await app.plane.discovery.settleProviders();
      expect(await apps()).toHaveLength(1);
    });
  });

  test('switched off, enabled provider apps are suspended, and switched on resumed', async () => {
    await discovery(true);
    const other = (await admin('POST', '/v1/apps', { name: 'Other', library_provider: 'steam' })).body.app;
    await admin('PATCH', `/v1/apps/${other.id}`, { enabled: false });
    const states = async () =>
      Object.fromEntries(
        (await apps()).map(
          (each: { name: string; enabled: boolean; library_discovery_suspended: boolean }) => [
            each.name,
            [each.enabled, each.library_discovery_suspended],
          ],
        ),
      );
    await discovery(false);
    expect(await states()).toEqual({ Steam: [false, true], Other: [false, false] });
    await discovery(false);
    await discovery(true);
    expect(await states()).toEqual({ Steam: [true, false], Other: [false, false] });
  });

  test('an app that an administrator disabled while discovery was off stays disabled', async () => {
    await discovery(true);
    const [{ id }] = await apps();
    await discovery(false);
    await admin('PATCH', `/v1/apps/${id}`, { enabled: false });
    await discovery(true);
    expect((await apps())[0]).toMatchObject({ enabled: false, library_discovery_suspended: false });
  });

  test('SERVICE_LIBRARY_PROVIDERS names the providers that get an app', async () => {
    await app.close();
    await open({ SERVICE_LIBRARY_PROVIDERS: 'other, another' });
    await discovery(true);
    expect(images.installed).toEqual([]);
    expect(await apps()).toEqual([]);
  });
});
