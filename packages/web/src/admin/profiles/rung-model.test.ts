import { describe, expect, test } from 'vitest';
import { rung } from '../../../test/fixtures.ts';
import { changesOf } from '../frame/changes.ts';
import { DISCLOSED_FIELDS, largestFirst, NEW_RUNG, rungOf, rungRules } from './rung-model.ts';

test('rungs are listed by size, frames and codec, the largest first', () => {
  const listed = largestFirst([
    rung('small', { width: 1280, height: 720, fps: 120 }),
    rung('h264'),
    rung('av1', { codec: 'av1' }),
    rung('hevc', { codec: 'hevc' }),
    rung('slow', { fps: 30, codec: 'av1' }),
  ]);
  expect(listed.map(({ id }) => id)).toEqual(['av1', 'hevc', 'h264', 'slow', 'small']);
});

describe('the rung form', () => {
  test('sends no unchanged values', () => {
    const stored = rung('1080p60-h264');
    expect(changesOf(stored, rungOf(stored))).toEqual({});
    expect(changesOf(stored, rungOf({ ...stored, fps: '90' }))).toEqual({ fps: 90 });
  });

  test('saves a new rung once it has an id and a name', () => {
    const form: Record<string, unknown> = { ...NEW_RUNG, id: 'x', display_name: 'X' };
    for (const [name, rule] of Object.entries(rungRules)) {
      expect((rule as (value: unknown) => string | null)(form[name]), name).toBeNull();
    }
    expect(rungRules.id(NEW_RUNG.id)).not.toBeNull();
  });

  test('names each fault', () => {
    expect(rungRules.width(1921)).toBe('An even number');
    expect(rungRules.fps(0)).not.toBeNull();
    expect(rungRules.headroom_factor(0)).not.toBeNull();
    expect(rungRules.headroom_factor('')).not.toBeNull();
    expect(rungRules.headroom_factor(1.25)).toBeNull();
    expect(rungRules.abr_floor_kbps(-1)).toBe('A whole number from 0 up');
  });

  test('takes any id that an address can carry', () => {
    expect(rungRules.id('4k/60 é')).toBeNull();
    expect(rungRules.id('é'.repeat(128))).toBeNull();
    for (const id of ['', '  ', '.', '..', 'a'.repeat(129)]) expect(rungRules.id(id), id).not.toBeNull();
  });

  test('collapses no field that a new rung requires', () => {
    expect(DISCLOSED_FIELDS).not.toContain('id');
    expect(DISCLOSED_FIELDS).not.toContain('display_name');
  });
});
