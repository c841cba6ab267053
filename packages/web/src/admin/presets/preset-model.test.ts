import { describe, expect, test } from 'vitest';
import { preset } from '../../../test/fixtures.ts';
import { changesOf } from '../frame/changes.ts';
import { bodyOf, formOf, NEW_PRESET, presetRules } from './preset-model.ts';

describe('the preset form', () => {
  test('sends no unchanged values', () => {
    const stored = preset({ args: ['--a', 'b c'], env: { A: 'x=y' }, mounts: ['/srv/roms:/roms:ro'] });
    expect(changesOf(stored, bodyOf(formOf(stored), stored))).toEqual({});
  });

  test('keeps values that lines cannot express until they are edited', () => {
    const stored = preset({ args: ['two\nlines', ''], env: { SCRIPT: 'a\nB=b' } });
    const form = { ...formOf(stored), name: 'Other' };
    expect(changesOf(stored, bodyOf(form, stored))).toEqual({ name: 'Other' });
    expect(bodyOf({ ...form, args: '--new' }, stored).args).toEqual(['--new']);
  });

  test('keeps a variable of any name', () => {
    const { env } = bodyOf({ ...NEW_PRESET, env: '__proto__=1\n\nA=' }, undefined);
    expect(Object.entries(env)).toEqual([
      ['__proto__', '1'],
      ['A', ''],
    ]);
  });

  test('drops empty lines, and uses the default home for an empty one', () => {
    const body = bodyOf({ ...NEW_PRESET, name: ' A ', args: 'a\n\n b', home_container_path: ' ' }, undefined);
    expect(body).toMatchObject({ name: 'A', args: ['a', ' b'], home_container_path: '/home/service' });
  });

  test('names each fault', () => {
    expect(presetRules.name(' ')).not.toBeNull();
    expect(presetRules.home_container_path('home')).not.toBeNull();
    expect(presetRules.home_container_path('/home')).toBeNull();
    expect(presetRules.home_container_path('')).toBeNull();
  });
});
