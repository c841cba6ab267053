import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, describeDatabases, type TestApp } from '../testing/index.ts';
import { createSettings } from './index.ts';

describeDatabases('instance settings', ({ fresh }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp(await fresh(), {
      seedPeople: false,
      env: { SERVICE_STORAGE_PROVIDER: 'local' },
    });
  });
  afterAll(() => app.close());

  const update = (values: object) =>
    app.plane.platform.database.db.updateTable('instance_settings').set(values).execute();

  test('start with their defaults, and with what the environment seeds', async () => {
    expect(await createSettings(app.plane.platform).current()).toEqual({
      registrationMode: 'closed',
      storageProvider: 'local',
      libraryDiscoveryEnabled: false,
      libraryDiscoveryIntervalMinutes: 360,
      libraryDiscoveryAppdetailsEnabled: false,
      micCaptureEnabled: false,
      guestSharingEnabled: true,
      imageUpdatePolicy: 'notify',
      flightRecorderEnabled: false,
    });
  });

  test('are read at most 2 s stale', async () => {
    const settings = createSettings(app.plane.platform);
    expect((await settings.current()).micCaptureEnabled).toBe(false);
    await update({ mic_capture_enabled: 1 });
    await app.clock.pass(1_999);
    expect((await settings.current()).micCaptureEnabled).toBe(false);
    await app.clock.pass(1);
    expect((await settings.current()).micCaptureEnabled).toBe(true);
  });

  test('are seeded once: the stored value rules afterwards', async () => {
    await update({ storage_provider: 'volume' });
    const settings = createSettings(app.plane.platform);
    await settings.seed();
    expect((await settings.current()).storageProvider).toBe('volume');
  });

  test('give the stored origins, unless the environment pins a list, even an empty one', async () => {
    await update({ allowed_origins: '["https://play.example"]' });
    expect(await createSettings(app.plane.platform).originsInForce()).toEqual({
      source: 'database',
      allowed: ['https://play.example'],
    });
    const config = {
      ...app.plane.platform.config,
      settings: { allowedOrigins: [], storageProvider: 'auto' as const },
    };
    expect(await createSettings({ ...app.plane.platform, config }).originsInForce()).toEqual({
      source: 'environment',
      allowed: [],
    });
  });

  test('count a list that cannot be read as an empty one, and try again', async () => {
    const settings = createSettings(app.plane.platform);
    await update({ allowed_origins: 'not json' });
    expect(await settings.originsInForce()).toEqual({ source: 'database', allowed: [] });
    await update({ allowed_origins: '["https://play.example"]' });
    expect((await settings.originsInForce()).allowed).toEqual(['https://play.example']);
  });
});
