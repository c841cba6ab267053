import { HOST_SETTINGS } from '@footlight/protocol/agent';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, describeDatabases, loggedActivity, type TestApp } from '../testing/index.ts';

const URL = '/v1/admin/settings';
const DEFAULTS = {
  registration_mode: 'closed',
  storage_provider: 'auto',
  library_discovery_enabled: false,
  library_discovery_interval_minutes: 360,
  library_discovery_appdetails_enabled: false,
  mic_capture_enabled: false,
  guest_sharing_enabled: true,
  image_update_policy: 'notify',
  flight_recorder_enabled: false,
  allowed_origins: [],
};

describeDatabases('the settings of the instance', ({ fresh }) => {
  let app: TestApp;
  /** Another process on the same database, and one whose environment pins an empty list of origins. */
  let replica: TestApp;
  let pinned: TestApp;
  beforeAll(async () => {
    const target = await fresh();
    app = await createTestApp(target);
    replica = await createTestApp(target, { seedPeople: false });
    pinned = await createTestApp(target, { seedPeople: false, env: { SERVICE_ALLOWED_ORIGINS: '' } });
  });
  afterAll(async () => {
    for (const each of [app, replica, pinned]) await each.close();
  });
  beforeEach(() => change(DEFAULTS));

  const change = (body: unknown, on = app) => on.call(app.people.admin, 'PATCH', URL, { body });
  const read = async (on = app) => (await on.call(app.people.admin, 'GET', URL)).body.settings;
  const origins = async (list: unknown) => {
    const answer = await change({ allowed_origins: list });
    return answer.body.settings?.allowed_origins ?? answer.body.error.message;
  };
  const audited = () => loggedActivity(app, { action: 'instance.settings.updated' });
  /** Error code of the signaling socket for a page of this origin: the origin is checked before the missing upgrade. */
  const signalOf = async (origin: string, on = app) =>
    (await on.call(null, 'GET', '/v1/signal', { headers: { origin } })).body.error.code;

  test('are read with who changed them last and when', async () => {
    expect(await read()).toEqual({
      ...DEFAULTS,
      updated_by: app.people.admin.id,
      updated_at: new Date(app.clock.nowMs()).toISOString(),
    });
  });

  test('change by any subset, and the audit names the keys and no value', async () => {
    await app.clock.pass(1_000);
    const patch = {
      registration_mode: 'invite_only',
      library_discovery_interval_minutes: 15,
      mic_capture_enabled: true,
      allowed_origins: ['https://canary.example'],
    };
    const answer = await change(patch);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      settings: {
        ...DEFAULTS,
        ...patch,
        updated_by: app.people.admin.id,
        updated_at: new Date(app.clock.nowMs()).toISOString(),
      },
    });
    expect(await read()).toEqual(answer.body.settings);
    expect((await audited()).at(-1)).toMatchObject({
      actor_user_id: app.people.admin.id,
      target_type: 'instance',
      target_id: 'instance_settings',
      details: { keys: Object.keys(patch).sort() },
    });
  });

  test('answer an empty change with what is there, unaudited', async () => {
    const before = await audited();
    await app.clock.pass(1_000);
    const settings = await read();
    expect((await change({})).body).toEqual({ settings });
    expect(await audited()).toEqual(before);
  });

  test('keep both of two concurrent changes of different settings', async () => {
    const [one, two] = [{ mic_capture_enabled: true }, { image_update_policy: 'auto' }];
    const answers = await Promise.all([change(one), change(two, replica)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await read()).toMatchObject({ ...one, ...two });
  });

  test('accept values at the limits of their rules', async () => {
    for (const [key, value] of [
      ['library_discovery_interval_minutes', 15],
      ['library_discovery_interval_minutes', 10_080],
      ['storage_provider', 'volume'],
      ['image_update_policy', 'auto'],
      ['registration_mode', 'open'],
      ['library_discovery_enabled', true],
      ['library_discovery_appdetails_enabled', true],
      ['flight_recorder_enabled', true],
    ] as const) {
      const answer = await change({ [key]: value });
      expect(answer.body.settings?.[key], answer.text).toBe(value);
    }
  });

  test.each<[string, unknown]>([
    ['registration_mode', 'Open'],
    ['storage_provider', 'cloud'],
    ['library_discovery_enabled', 1],
    ['library_discovery_interval_minutes', 14],
    ['library_discovery_interval_minutes', 10_081],
    ['library_discovery_interval_minutes', 60.5],
    ['library_discovery_interval_minutes', '60'],
    ['library_discovery_appdetails_enabled', 'true'],
    ['mic_capture_enabled', null],
    ['image_update_policy', ''],
    ['flight_recorder_enabled', null],
    ['allowed_origins', null],
    ['allowed_origins', 'https://play.example'],
    ['allowed_origins', ['*']],
    ['updated_by', null],
    ['updated_at', '2026-06-02T12:00:00.000Z'],
    ['setup_completed_at', null],
  ])('refuse %s: %j with 400, and then nothing of the change is written', async (key, value) => {
    const [before, rows] = [await read(), (await audited()).length];
    const answer = await change({ ...DEFAULTS, registration_mode: 'open', [key]: value });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_failed']);
    expect(await read()).toEqual(before);
    expect(await audited()).toHaveLength(rows);
  });

  describe('allowed origins', () => {
    test('are trimmed, lowercased and made canonical; blanks and duplicates go', async () => {
      expect(
        await origins([
          ' HTTPS://Play.Example:443 ',
          '',
          '   ',
          'https://play.example',
          'http://play.example:80',
          'http://[2001:DB8:0:0::1]:8080',
          'http://127.1',
          'https://xn--bcher-kva.example:8443',
        ]),
      ).toEqual([
        'https://play.example',
        'http://play.example',
        'http://[2001:db8::1]:8080',
        'http://127.0.0.1',
        'https://xn--bcher-kva.example:8443',
      ]);
      expect(await origins([])).toEqual([]);
    });

    test.each([
      ['*'],
      ['https://*.example'],
      ['play.example'],
      ['ftp://play.example'],
      ['https://play.example/'],
      ['https://play.example?x'],
      ['https://play.example#x'],
      ['https://user@play.example'],
      ['https://bücher.example'],
      ['https://play.example:0'],
      ['https://play.example:65536'],
      [`https://${'a'.repeat(505)}`],
      ['https://play.example\0'],
      [7],
      [null],
    ])('refuse %j and name its position, counted from 1', async (entry) => {
      expect(await origins(['https://a.example', '', entry])).toMatch(/^allowed_origins: entry 3 /);
    });

    test('are at most 64 after duplicates have collapsed', async () => {
      const many = Array.from({ length: 64 }, (_, index) => `https://host-${index}.example`);
      expect(await origins([...many, ...many])).toHaveLength(64);
      expect(await origins([...many, 'https://one.more.example'])).toMatch(
        /^allowed_origins: entry 65 is one too many; at most 64 /,
      );
    });
  });

  describe('are in force without a restart', () => {
    test('who may register: at once, in every process', async () => {
      const open = { email: 'guest@example.test', username: 'guest', password: 'long enough to pass' };
      for (const on of [app, replica]) {
        await change({ registration_mode: 'closed' });
        const refused = await on.call(null, 'POST', '/v1/auth/register', { body: open });
        expect(refused.body.error.code).toBe('registration_closed');
        await change({ registration_mode: 'invite_only' });
        const uninvited = await on.call(null, 'POST', '/v1/auth/register', { body: open });
        expect(uninvited.body.error.code).toBe('invalid_invite');
      }
    });

    test('origins: at once where they were changed, within 2 s elsewhere, and with them the signaling socket', async () => {
      const origin = 'https://play.example';
      expect(await signalOf(origin)).toBe('forbidden');
      expect(await signalOf(origin, replica)).toBe('forbidden');
      await change({ allowed_origins: [origin] });
      expect(await signalOf(origin)).toBe('validation_failed');
      const seen = await app.call(app.people.admin, 'GET', '/v1/admin/access-check', {
        headers: { origin },
      });
      expect(seen.body.origins).toMatchObject({ allowed: [origin], request_origin_allowed: true });
      await replica.clock.pass(2_000);
      expect(await signalOf(origin, replica)).toBe('validation_failed');
      await change({ allowed_origins: [] });
      expect(await signalOf(origin)).toBe('forbidden');
    });

    test('origins of the environment replace the stored ones, which stay editable', async () => {
      const origin = 'https://play.example';
      await change({ allowed_origins: [origin] }, pinned);
      expect((await read(pinned)).allowed_origins).toEqual([origin]);
      await pinned.clock.pass(2_000);
      expect(await signalOf(origin, pinned)).toBe('forbidden');
      await replica.clock.pass(2_000);
      expect(await signalOf(origin, replica)).toBe('validation_failed');
    });
  });

  test('stay when the administrator who changed them is deleted', async () => {
    const leaver = await app.addPerson('leaver', 'admin');
    await app.call(leaver, 'PATCH', URL, { body: { mic_capture_enabled: true } });
    await app.plane.platform.database.db.deleteFrom('users').where('id', '=', leaver.id).execute();
    expect(await read()).toMatchObject({ mic_capture_enabled: true, updated_by: null });
  });

  test('publish the table of host settings in its order, leaving out what does not apply', async () => {
    const { knobs } = (await app.call(app.people.admin, 'GET', '/v1/admin/config/catalog')).body;
    expect(knobs.map(({ key }: { key: string }) => key)).toEqual(HOST_SETTINGS.map(({ key }) => key));
    expect(knobs).toHaveLength(39);
    const byKey = (key: string) => knobs.find((setting: { key: string }) => setting.key === key);
    expect(byKey('abr_enabled')).toEqual({
      key: 'abr_enabled',
      type: 'bool',
      default: true,
      nullable: false,
      class: 'live',
      env_var: 'SERVICE_ABR',
    });
    expect(byKey('abr_floor_kbps')).toMatchObject({ default: null, min: 1, nullable: true });
    expect(byKey('abr_floor_kbps')).not.toHaveProperty('max');
    expect(byKey('home_root')).toEqual({
      key: 'home_root',
      type: 'string',
      default: '',
      nullable: false,
      class: 'live',
      env_var: 'SERVICE_HOME_ROOT',
    });
    expect(byKey('encoder')).toEqual({
      key: 'encoder',
      type: 'enum',
      default: 'openh264',
      enum: ['openh264', 'va', 'nvenc', 'vulkan'],
      nullable: false,
      class: 'restart',
      env_var: 'SERVICE_ENCODER',
    });
  });
});
