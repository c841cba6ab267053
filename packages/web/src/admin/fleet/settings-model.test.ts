import type { ConfigSetting, HostSettings } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import {
  fieldValue,
  groupSettings,
  hintOf,
  isSet,
  openChanges,
  valueLabel,
  valueProblem,
  withChange,
} from './settings-model.ts';

const setting = (key: string, more: Partial<ConfigSetting> = {}): ConfigSetting => ({
  key,
  type: 'int',
  default: 60,
  nullable: false,
  class: 'live',
  env_var: '',
  ...more,
});
const settings = (overrides: HostSettings['overrides']): HostSettings => ({
  resolved: {},
  overrides,
  effective: null,
  codecs: null,
  pending_restart: false,
});

describe('groups of settings', () => {
  test('are grouped by their keys, in the order of the catalog; unknown ones are last, and those without effect are hidden', () => {
    const keys = ['abr_enabled', 'abr_ladder_fps', 'brand_new', 'gop', 'zerocopy', 'abr_mode'];
    expect(
      groupSettings(keys.map((key) => setting(key))).map(({ title, settings }) => [
        title,
        ...settings.map((one) => one.key),
      ]),
    ).toEqual([
      ['Encoding', 'gop'],
      ['Adapting size and frame rate', 'abr_ladder_fps'],
      ['Adapting the bitrate', 'abr_enabled', 'abr_mode'],
      ['Others', 'brand_new'],
    ]);
  });
});

describe('a draft of settings', () => {
  const gop = setting('gop');
  const stored = settings({ gop: 30 });

  test('a field holds the unsaved value, else the override, else the default', () => {
    expect(fieldValue(gop, stored, { gop: 10 })).toBe(10);
    expect(fieldValue(gop, stored, {})).toBe(30);
    expect(fieldValue(gop, stored, { gop: null })).toBe(60);
    expect(fieldValue(gop, settings({}), {})).toBe(60);
  });

  test('a value that equals the stored one is not a change', () => {
    expect(withChange({ gop: 10 }, stored, 'gop', 30)).toEqual({});
    expect(withChange({ slices: 1 }, settings({}), 'slices', null)).toEqual({});
    expect(withChange({}, stored, 'gop', null)).toEqual({ gop: null });
  });

  test('a value that was saved meanwhile is not a change any more', () => {
    expect(openChanges({ gop: 30, slices: 4 }, stored)).toEqual({ slices: 4 });
  });

  test('a setting counts as set if it has, or will have, an override', () => {
    expect([
      isSet(gop, stored, {}),
      isSet(gop, stored, { gop: null }),
      isSet(gop, settings({}), { gop: 60 }),
    ]).toEqual([true, false, true]);
  });
});

describe('the text below a field', () => {
  test.each([
    [setting('gop', { min: 1 }), 1, true],
    [setting('gop', { min: 1 }), 0, false],
    [setting('gop', { min: 1 }), 1.5, false],
    [setting('gop', { min: 1 }), '', false],
    [setting('gop', { min: 1, max: 7 }), 8, false],
    [setting('ratio', { type: 'float', min: 0, max: 1 }), 0.5, true],
    [setting('floor', { nullable: true }), null, true],
    [setting('home_root', { type: 'string' }), '', true],
    [setting('home_root', { type: 'string' }), 'homes', false],
    [setting('render_node', { type: 'string' }), 'software', true],
  ])('%j with %j: right %s', (one, value, right) => {
    expect(valueProblem(one, value) === null).toBe(right);
  });

  test('default, bounds and values are shown as text', () => {
    expect(hintOf(setting('gop', { min: 1 }))).toBe('Default 60; from 1 up.');
    expect(hintOf(setting('abr_ladder', { type: 'bool', default: false }))).toBe('Default off.');
    expect([valueLabel(null), valueLabel(''), valueLabel('true'), valueLabel(0)]).toEqual([
      'none',
      'none',
      'on',
      '0',
    ]);
  });
});
