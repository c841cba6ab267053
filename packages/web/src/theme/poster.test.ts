import { describe, expect, test } from 'vitest';
import { initialOf, MOTIFS, posterOf } from './poster.ts';

const ids = Array.from(
  { length: 500 },
  (_none, n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
);
const hueOf = (colour: string) => Number(/ ([\d.]+)\)$/.exec(colour)?.[1]);
const lightnessOf = (colour: string) => Number(/\(([\d.]+)/.exec(colour)?.[1]);

describe('the picture of an app without artwork', () => {
  test('is the same for the same id in any letter case', () => {
    const id = 'ABCDEF01-0000-4000-8000-00000000000A';
    expect(posterOf(id)).toEqual(posterOf(id.toLowerCase()));
  });

  test('has two hues 40 to 70 degrees apart, and a background dark enough for white text', () => {
    for (const id of ids) {
      const { ground, middle } = posterOf(id);
      const apart = Math.abs(hueOf(ground) - hueOf(middle));
      expect(Math.min(apart, 360 - apart)).toBeGreaterThanOrEqual(40);
      expect(Math.min(apart, 360 - apart)).toBeLessThanOrEqual(70);
      // WCAG 2.1, 1.4.3: white on 0.42 has a contrast above 4.5:1 at every hue.
      expect(lightnessOf(ground)).toBeLessThanOrEqual(0.42);
    }
  });

  test('spreads similar ids over the whole colour circle and over all motifs', () => {
    const some = ids.slice(0, 100).map(posterOf);
    expect(new Set(some.map(({ middle }) => Math.floor(hueOf(middle) / 30))).size).toBe(12);
    expect(new Set(some.map(({ motif }) => motif)).size).toBe(MOTIFS.length);
    for (const each of some.flatMap(({ details }) => details)) expect(each >= 0 && each < 1).toBe(true);
  });

  test.each([
    ['SuperTux', 'S'],
    ['0 A.D.', '0'],
    ['the dark mod', 'T'],
    ['Übersoldier (2006)', 'Ü'],
    ['🎮 game', 'G'],
    ['   ', '·'],
    ['—', '·'],
  ])('%j shows %j', (name, initial) => {
    expect(initialOf(name)).toBe(initial);
  });
});
