import { describe, expect, test } from 'vitest';
import {
  type AppFields,
  applyPatch,
  decideAllowList,
  inheritFromParent,
  NEW_APP,
  refuseFields,
  refuseProfiles,
  refuseWrite,
} from './app-rules.ts';

const app = (fields: Partial<AppFields> = {}): AppFields => ({ ...NEW_APP, name: 'Gears', ...fields });
const tile = (fields: Partial<AppFields> = {}): AppFields =>
  app({ parent_app_id: 'p', external_source: 'steam', external_id: '620', ...fields });

describe('a patch', () => {
  test('changes what it names and nothing else', () => {
    expect(applyPatch(app(), {})).toEqual(app());
    expect(applyPatch(app(), { default_fps: 30, enabled: false })).toEqual(
      app({ default_fps: 30, enabled: false }),
    );
  });
  test('clears by null and by the empty words', () => {
    const full = app({
      cover_url: '/x',
      home_container_path: '/data',
      profile_policy: 'prefer',
      default_profile_id: 'a',
    });
    expect(applyPatch(full, { cover_url: null, default_profile_id: null })).toMatchObject({
      cover_url: null,
      default_profile_id: null,
    });
    expect(applyPatch(full, { cover_url: '', home_container_path: '', profile_policy: '' })).toMatchObject({
      cover_url: null,
      home_container_path: '/home/service',
      profile_policy: 'inherit',
    });
  });
  test('never lends a key of its own to the stored app', () => {
    expect(applyPatch(app(), { launchable_profile_ids: ['a'] })).toEqual(app());
  });
});

describe('a tile', () => {
  test('with a source, an id and nothing of its own passes', () => expect(refuseFields(tile())).toBeNull());
  test.each([
    [{ external_source: '' as const }],
    [{ external_id: '' }],
    [{ managed_home: true }],
    [{ home_base: '/srv/base' }],
    [{ runtime_preset_id: 'preset' }],
    [{ runtime_spec: { gpu: true } }],
    [{ library_provider: 'steam' as const }],
  ])('with %j is refused', (fields) => expect(refuseFields(tile(fields))).not.toBeNull());

  test('takes the profile choice of its parent where it makes none', () => {
    const parent = app({ default_profile_id: 'a', profile_policy: 'prefer' });
    expect(inheritFromParent(tile(), {}, parent)).toMatchObject({
      default_profile_id: 'a',
      profile_policy: 'prefer',
    });
    expect(inheritFromParent(tile(), { profile_policy: '', default_profile_id: null }, parent)).toMatchObject(
      {
        default_profile_id: null,
        profile_policy: 'inherit',
      },
    );
    expect(inheritFromParent(app(), {}, null)).toEqual(app());
  });
});

test('only an app that may have homes has a base for them', () => {
  const base = { home_base: '/srv/base' };
  expect(refuseFields(app(base))).toMatch(/^home_base: /);
  expect(refuseFields(app({ ...base, managed_home: true }))).toBeNull();
  expect(refuseFields(app({ ...base, runtime_preset_id: 'preset' }))).toBeNull();
});

test('mounts are judged wherever they are written', () => {
  expect(refuseFields(app({ runtime_spec: { mounts: ['/srv/a:/a', '/etc:/etc'] } }))).toMatch(
    /^runtime_spec\.mounts: /,
  );
  expect(refuseFields(app({ runtime_spec: { mounts: ['/srv/a:/a'] } }))).toBeNull();
});

describe('the allow-list', () => {
  test.each([
    ['inherit', undefined, 'keep'],
    ['prefer', undefined, 'keep'],
    ['force', undefined, { ids: [] }],
    ['force', [], { ids: [] }],
    ['inherit', ['b', 'a', 'b'], { ids: ['a', 'b'] }],
  ] as const)('policy %s, request %j → %j', (policy, requested, expected) =>
    expect(decideAllowList(policy, requested)).toEqual(expected),
  );
  test('is refused under force', () => expect(decideAllowList('force', ['a'])).toHaveProperty('refused'));
});

describe('discovery must be on', () => {
  const provider = app({ library_provider: 'steam' });
  test.each([
    ['a new library app', provider, null, true],
    ['a new plain app', app(), null, false],
    ['naming a provider', provider, { library_provider: 'steam' as const }, true],
    ['enabling', provider, { enabled: true }, true],
    ['renaming', provider, { name: 'x' }, false],
    [
      'naming a provider on a disabled app',
      { ...provider, enabled: false },
      { library_provider: 'steam' as const },
      false,
    ],
    ['disabling', { ...provider, enabled: false }, { enabled: false }, false],
  ] as const)('%s → %s', (_what, result, patch, expected) => {
    const facts = { result, patch, hasArtwork: false };
    const refusal = refuseWrite({ ...facts, discoveryEnabled: false });
    expect(refusal?.code ?? null).toBe(expected ? 'library_discovery_disabled' : null);
    expect(refuseWrite({ ...facts, discoveryEnabled: true })).toBeNull();
  });
});

describe('the cover of an app with an artwork record', () => {
  const write = (patch: Partial<AppFields>, hasArtwork: boolean) =>
    refuseWrite({ result: app(), patch, hasArtwork, discoveryEnabled: true })?.code ?? null;
  test.each([
    ['is set by the record alone', { cover_url: '/x' }, true, 'conflict'],
    ['is not cleared by hand either', { cover_url: null }, true, 'conflict'],
    ['is free without a record', { cover_url: '/x' }, false, null],
    ['does not stop other changes', { enabled: false }, true, null],
  ])('%s', (_, patch, hasArtwork, code) => {
    expect(write(patch, hasArtwork)).toBe(code);
  });
});

describe('the launch profiles of a request are ones that people may choose', () => {
  const known = new Set(['fast', 'sharp']);
  test.each<[string, string | null, string[], string | null]>([
    ['none named', null, [], null],
    ['all known', 'fast', ['sharp', 'fast'], null],
    ['an unknown default', 'secret', [], 'default_profile_id'],
    ['an unknown one of the list', 'fast', ['sharp', 'secret'], 'launchable_profile_ids'],
    ['the default is named first', 'secret', ['hidden'], 'default_profile_id'],
  ])('%s', (_, chosen, list, field) => {
    const refused = refuseProfiles(chosen, list, known);
    expect(refused?.split(':')[0] ?? null).toBe(field);
  });
  test('a long name is cut in the answer', () => {
    expect(refuseProfiles('x'.repeat(5_000), [], known)?.length).toBeLessThan(300);
  });
});
