import { describe, expect, test } from 'vitest';
import { app } from '../../../test/fixtures.ts';
import { runsAsWords } from './app-words.ts';

describe('what an app runs as', () => {
  test('is said of parts of a launcher with its name, where that is known', () => {
    const tile = app(1, { parent_app_id: 'p', runtime_spec: {} });
    expect(runsAsWords(tile, 'Steam')).toBe('Part of Steam');
    expect(runsAsWords(tile, undefined)).toBe('Part of a launcher');
  });

  test('is left to the preset unless the app names an image', () => {
    expect(runsAsWords(app(2, { runtime_preset_id: 'p' }), undefined)).toBe('As its preset says');
    expect(runsAsWords(app(1, { runtime_preset_id: 'p' }), undefined)).toBe('Container');
    expect(runsAsWords(app(2), undefined)).toBe('Process');
  });
});
