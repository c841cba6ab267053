import { describe, expect, test } from 'vitest';
import { app } from '../../../test/fixtures.ts';
import { runsAsLabel } from './app-labels.ts';

describe('the label of an app’s runtime', () => {
  test('a part of a launcher names the launcher, if its name is known', () => {
    const tile = app(1, { parent_app_id: 'p', runtime_spec: {} });
    expect(runsAsLabel(tile, 'Steam')).toBe('Part of Steam');
    expect(runsAsLabel(tile, undefined)).toBe('Part of a launcher');
  });

  test('is "preset" unless the app names an image', () => {
    expect(runsAsLabel(app(2, { runtime_preset_id: 'p' }), undefined)).toBe('As its preset says');
    expect(runsAsLabel(app(1, { runtime_preset_id: 'p' }), undefined)).toBe('Container');
    expect(runsAsLabel(app(2), undefined)).toBe('Process');
  });
});
