import { describe, expect, test } from 'vitest';
import { gradientOf, initialsOf } from './gradient.ts';

const ids = Array.from(
  { length: 500 },
  (_none, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
);
const hueOf = (colour: string) => Number(/ ([\d.]+)\)$/.exec(colour)?.[1]);
const lightnessOf = (colour: string) => Number(/\(([\d.]+)/.exec(colour)?.[1]);

describe('the picture of an app without artwork', () => {
  test('is the same for the same id in any letter case', () => {
    const id = 'ABCDEF01-0000-4000-8000-00000000000A';
    expect(gradientOf(id)).toEqual(gradientOf(id.toLowerCase()));
  });

  test('has two hues 40 to 70 degrees apart, dark enough for white text', () => {
    for (const id of ids) {
      const { from, to, glow } = gradientOf(id);
      const apart = Math.abs(hueOf(from) - hueOf(to));
      expect(Math.min(apart, 360 - apart)).toBeGreaterThanOrEqual(40);
      expect(Math.min(apart, 360 - apart)).toBeLessThanOrEqual(70);
      for (const colour of [from, to, glow]) expect(lightnessOf(colour)).toBeLessThanOrEqual(0.42);
    }
  });

  test('spreads similar ids over the whole circle', () => {
    const sectors = new Set(ids.slice(0, 100).map((id) => Math.floor(hueOf(gradientOf(id).from) / 30)));
    expect(sectors.size).toBe(12);
  });

  test.each([
    ['SuperTux', 'S'],
    ['GL Gears', 'GG'],
    ['0 A.D.', '0A'],
    ['the dark mod', 'TD'],
    ['Übersoldier (2006)', 'Ü2'],
    ['🎮 game', 'G'],
    ['   ', '·'],
    ['—', '·'],
  ])('%j shows %j', (name, initials) => {
    expect(initialsOf(name)).toBe(initials);
  });
});
