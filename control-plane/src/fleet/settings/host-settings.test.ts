import { HOST_SETTINGS } from '@footlight/protocol/agent';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeOverrides, resolveSettings, settingsInForce, settingsProblem } from './host-settings.ts';

const disk = (path: string) => ({ label: 'disk', path, total_mb: 1_000, available_mb: 500 });
const anyOverrides = fc.dictionary(
  fc.constantFrom(...HOST_SETTINGS.map(({ key }) => key)),
  fc.oneof(fc.integer(), fc.boolean(), fc.string()),
);

describe('resolved settings', () => {
  test('are the defaults of the catalog, in its order, overlaid with the overrides', () => {
    const resolved = resolveSettings({ gop: 120 });
    expect(Object.keys(resolved)).toEqual(HOST_SETTINGS.map(({ key }) => key));
    expect(resolved).toMatchObject({ gop: 120, slices: 8, abr_floor_kbps: null });
  });
});

describe('settings in force for a session that starts now', () => {
  const reported = { idle_timeout_secs: '600', encoder: 'openh264', home_root: '/homes' };
  test.each([
    ['nothing is set', {}, reported],
    ['a live one counts before it is reported', { idle_timeout_secs: 0 }, { idle_timeout_secs: '0' }],
    ['a boolean', { abr_enabled: false }, { abr_enabled: 'false' }],
    ['one that needs a restart waits for the report', { encoder: 'nvenc' }, {}],
    ['an empty home root is the one of the agent', { home_root: '' }, {}],
    ['another home root', { home_root: '/srv' }, { home_root: '/srv' }],
    ['an unknown one', { of_a_later_version: 1 }, {}],
  ] as const)('%s', (_name, overrides, changed) => {
    expect(settingsInForce(reported, overrides)).toEqual({ ...reported, ...changed });
  });
});

describe('a change of overrides', () => {
  test.each([
    ['a first value', {}, { gop: 30 }, { gop: 30 }, ['gop'], false],
    ['the same value', { gop: 30 }, { gop: 30 }, { gop: 30 }, [], false],
    ['null takes it away', { gop: 30, slices: 4 }, { gop: null }, { slices: 4 }, ['gop'], false],
    ['null where there is none', {}, { gop: null }, {}, [], false],
    ['the default, set on purpose', {}, { gop: 60 }, { gop: 60 }, ['gop'], false],
    ['a setting of class restart', {}, { encoder: 'va' }, { encoder: 'va' }, ['encoder'], true],
    [
      'one of class restart that stays',
      { encoder: 'va' },
      { encoder: 'va', gop: 1 },
      { encoder: 'va', gop: 1 },
      ['gop'],
      false,
    ],
    ['a removed one of class restart', { encoder: 'va' }, { encoder: null }, {}, ['encoder'], true],
    ['one that is no longer in the catalog', { retired: 1 }, {}, {}, [], false],
  ] as const)('%s', (_name, stored, sent, overrides, changed, needsRestart) => {
    expect(changeOverrides(stored, sent)).toEqual({ overrides, changed, needsRestart });
  });

  test('applied twice changes nothing the second time', () => {
    fc.assert(
      fc.property(anyOverrides, anyOverrides, (stored, sent) => {
        const once = changeOverrides(stored, sent).overrides;
        expect(changeOverrides(once, sent)).toEqual({ overrides: once, changed: [], needsRestart: false });
      }),
    );
  });
});

describe('settings that do not go together', () => {
  test.each([
    [0.6, 0.8, true],
    [0.6, 0.65, true],
    [0.8, 0.85, true],
    [0.6, 0.649, false],
    [0.8, 0.6, false],
  ])('engage at %d, recover at %d: allowed %s', (engage, recover, allowed) => {
    const overrides = { abr_ladder_res_engage_frac: engage, abr_ladder_res_recover_frac: recover };
    expect(settingsProblem(overrides, overrides, null) === null).toBe(allowed);
  });

  test('the gap is checked on the resulting settings, defaults included', () => {
    expect(settingsProblem({ abr_ladder_res_engage_frac: 0.76 }, {}, null)).toContain('0.05');
  });
});

describe('home_root', () => {
  test.each([
    ['', null, true],
    ['/srv/homes', null, false],
    ['/srv/homes', [], false],
    ['/srv', [disk('/srv')], true],
    ['/srv/homes', [disk('/srv')], true],
    ['/srv/homes/', [disk('/srv/')], true],
    ['/srvhomes', [disk('/srv')], false],
    ['/home', [disk('/srv')], false],
    ['/anything', [disk('/srv'), disk('/')], true],
    ['/srv/../etc', [disk('/srv')], false],
    ['/srv/./homes', [disk('/srv')], false],
  ])('%j in %j: allowed %s', (home_root, storage, allowed) => {
    expect(settingsProblem({ home_root }, { home_root }, storage) === null).toBe(allowed);
  });

  test('is judged when it is set, not when something else is', () => {
    expect(settingsProblem({ home_root: '/gone', gop: 30 }, { gop: 30 }, [disk('/srv')])).toBeNull();
  });
});
