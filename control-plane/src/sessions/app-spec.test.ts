import { describe, expect, test } from 'vitest';
import { mergeRuntime, type PresetFacts, type RuntimeFacts, withHome } from './app-spec.ts';

const owner = (more: Partial<RuntimeFacts> = {}): RuntimeFacts => ({
  runtime_spec: { args: ['game'] },
  managed_home: false,
  home_base: null,
  home_container_path: '/home/service',
  ...more,
});
const preset: PresetFacts = {
  image: 'registry/base@sha256:00',
  args: ['--preset'],
  env: { A: 'preset', B: 'preset' },
  mounts: ['/srv/games:/games'],
  managed_home: true,
  home_container_path: '/home/preset',
  network: 'bridge',
};

test("without a preset the app's own spec is used as it is", () => {
  const merged = mergeRuntime(
    owner({
      runtime_spec: {
        args: ['a', 'b'],
        env: { X: '1' },
        gpu: true,
        network: 'none',
        no_new_privileges: true,
      },
    }),
    null,
    null,
    'Game',
  );
  expect(merged).toEqual({
    app: {
      image: '',
      args: ['a', 'b'],
      env: { X: '1' },
      mounts: [],
      gpu: true,
      network: 'none',
      no_new_privileges: true,
      label: 'Game',
    },
    runtime: 'process',
    managed_home: false,
    home_container_path: '/home/service',
    home_base: null,
  });
});

describe('over a preset', () => {
  const merged = mergeRuntime(
    owner({ runtime_spec: { args: ['app'], env: { B: 'app' }, mounts: ['/x:/y'] } }),
    preset,
    null,
    'G',
  );

  test('image, network and home come from the preset where the app has none', () => {
    expect(merged?.app.image).toBe(preset.image);
    expect(merged?.runtime).toBe('container');
    expect(merged?.app.network).toBe('bridge');
    expect(merged).toMatchObject({ managed_home: true, home_container_path: '/home/preset' });
  });

  test('args and mounts follow the preset, env is overridden key by key', () => {
    expect(merged?.app.args).toEqual(['--preset', 'app']);
    expect(merged?.app.mounts).toEqual(['/srv/games:/games', '/x:/y']);
    expect(merged?.app.env).toEqual({ A: 'preset', B: 'app' });
  });

  test("the app's own image, network and path win", () => {
    const own = mergeRuntime(
      owner({ runtime_spec: { image: 'own', network: 'none' }, home_container_path: '/own' }),
      preset,
      null,
      'G',
    );
    expect(own?.app).toMatchObject({ image: 'own', network: 'none' });
    expect(own?.home_container_path).toBe('/own');
  });
});

describe('the home', () => {
  test.each([
    [false, false, false],
    [true, false, true],
    [false, true, true],
    [true, true, true],
  ])('is managed for app %s, preset %s: %s', (own, ofPreset, expected) => {
    const merged = mergeRuntime(
      owner({ managed_home: own }),
      { ...preset, managed_home: ofPreset },
      null,
      'G',
    );
    expect(merged?.managed_home).toBe(expected);
  });

  test.each([
    ['/own', '/home/preset', '/own'],
    ['/home/service', '/home/preset', '/home/preset'],
    ['', '/home/preset', '/home/preset'],
    [' ', '/home/preset', '/home/preset'],
    ['/own', '/home/service', '/own'],
    ['/own', null, '/own'],
    ['/home/service', null, '/home/service'],
  ])('appears for app %j, preset %j at %s', (own, ofPreset, expected) => {
    const merged = mergeRuntime(
      owner({ home_container_path: own }),
      ofPreset === null ? null : { ...preset, home_container_path: ofPreset },
      null,
      'G',
    );
    expect(merged?.home_container_path).toBe(expected);
  });
});

test("a tile's own variable wins over its parent's and the preset's", () => {
  const flags = { STEAM_STARTUP_FLAGS: 'mine' };
  const merged = mergeRuntime(
    owner({ runtime_spec: { env: flags } }),
    { ...preset, env: flags },
    { source: 'steam', external_id: '7' },
    'G',
  );
  expect(merged?.app.env.STEAM_STARTUP_FLAGS).toBe('-bigpicture -applaunch 7');
});

test('a tile adds what starts it', () => {
  const merged = mergeRuntime(owner(), null, { source: 'steam', external_id: '440' }, 'Tile');
  expect(merged?.app.env).toEqual({ STEAM_STARTUP_FLAGS: '-bigpicture -applaunch 440' });
  expect(merged?.app.tile).toEqual({ source: 'steam', external_id: '440' });
});

test('another network than the two refuses the launch', () => {
  expect(mergeRuntime(owner({ runtime_spec: { network: 'host' as never } }), null, null, 'G')).toBeNull();
});

test('a key such as __proto__ stays a variable', () => {
  const env = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const merged = mergeRuntime(owner({ runtime_spec: { env } }), null, null, 'G');
  expect(Object.keys(merged?.app.env ?? {})).toEqual(['__proto__']);
});

test('a home is mounted at the path of the merge', () => {
  const merged = mergeRuntime(owner({ managed_home: true }), null, null, 'G');
  if (merged === null) throw new Error('refused');
  expect(withHome(merged, { provider: 'local', ref: '/h/a/b' }).home).toEqual({
    provider: 'local',
    ref: '/h/a/b',
    container_path: '/home/service',
  });
  expect(withHome(merged, null).home).toBeUndefined();
  const over = { ...merged, home_base: '/srv/base' };
  expect(withHome(over, { provider: 'local', ref: '/h/a/b' }).home).toMatchObject({ base: '/srv/base' });
});

test('a long name is cut to what a label may hold', () => {
  expect(mergeRuntime(owner(), null, null, 'ä'.repeat(100))?.app.label).toBe('ä'.repeat(64));
});
