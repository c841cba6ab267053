import { describe, expect, test } from 'vitest';
import { app } from '../../../test/fixtures.ts';
import { changesOf } from '../frame/changes.ts';
import { type AppForm, appRules, bodyOf, formOf, NEW_APP } from './app-form-model.ts';

describe('the app form', () => {
  test('returns the stored values unchanged', () => {
    const stored = app(2, {
      runtime_spec: { args: ['/bin/a', 'b c'], env: { A: 'x=y' }, gpu: true, own_key: [1] },
    });
    const body = bodyOf(formOf(stored), stored.runtime_spec, false);
    for (const [key, value] of Object.entries(body))
      expect(stored[key as keyof typeof stored], key).toEqual(value);
  });

  test('drops emptied fields and keeps keys it does not show', () => {
    const body = bodyOf({ ...NEW_APP, name: ' A ', args: 'a\n\n b' }, { image: 'x', network: 'none' }, false);
    expect(body.name).toBe('A');
    expect(body.runtime_spec).toEqual({ args: ['a', ' b'], network: 'none' });
  });

  test('sends only changed fields, for any stored values', () => {
    const stored = app(2, {
      runtime_spec: { args: ['/bin/sh', '-c', 'two\nlines', ''], env: { SCRIPT: 'a\nB=b' }, network: 'none' },
      runtime_preset_id: 'p',
      home_container_path: '/srv/home',
      profile_policy: 'prefer',
      default_profile_id: '1080p60',
      launchable_profile_ids: ['1080p60', '720p60'],
    });
    const form = formOf(stored);
    expect(changesOf(stored, bodyOf(form, stored.runtime_spec, false))).toEqual({});
    const ticked = { ...form, launchable_profile_ids: ['720p60', '1080p60'], runtime_preset_id: '' };
    expect(changesOf(stored, bodyOf(ticked, stored.runtime_spec, false))).toEqual({
      runtime_preset_id: null,
    });
  });

  test('sends no allow-list with a forced launch profile', () => {
    const form: AppForm = { ...NEW_APP, profile_policy: 'force', launchable_profile_ids: ['a'] };
    expect(bodyOf(form, undefined, false).launchable_profile_ids).toEqual([]);
  });

  test('sends no field that a part of a launcher gets from the launcher', () => {
    const body = bodyOf({ ...NEW_APP, name: 'A' }, {}, true);
    for (const key of [
      'runtime_spec',
      'runtime_preset_id',
      'managed_home',
      'home_container_path',
      'default_encode_slots',
    ]) {
      expect(body).not.toHaveProperty(key);
    }
    expect(body).toHaveProperty('profile_policy', 'inherit');
  });

  test('names each fault', () => {
    expect(appRules.name('  ')).not.toBeNull();
    expect(appRules.args('', NEW_APP)).not.toBeNull();
    expect(appRules.args('', { ...NEW_APP, image: 'x' })).toBeNull();
    expect(appRules.args('', { ...NEW_APP, runtime_preset_id: 'p' })).toBeNull();
    expect(appRules.home_container_path('home')).not.toBeNull();
    expect(appRules.env('A=1\nno equals')).not.toBeNull();
    expect(appRules.env('A=1\n_B2=')).toBeNull();
    expect(appRules.default_width(1921)).toBe('An even number');
    expect(appRules.default_width('')).not.toBeNull();
    expect(appRules.default_fps(241)).not.toBeNull();
  });
});
