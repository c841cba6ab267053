import { describe, expect, test } from 'vitest';
import { DisplayTime } from './display-time.ts';

describe('when a frame reaches the screen', () => {
  test.each([
    ['the next refresh', 1_012],
    ['the refresh after it, at 50 Hz', 1_040],
    ['the refresh that it just missed', 996],
  ])('%s is accepted as the browser reports it', (_name, expectedMs) => {
    expect(new DisplayTime().of(1_000, expectedMs)).toBe(expectedMs);
  });

  test('when a browser names a time far ahead, and then less in steps, the real time is used', () => {
    const display = new DisplayTime();
    display.of(0, 13);
    // Measured in Chromium after a hidden page: 719 ms ahead, then less.
    const leadsMs = [719, 719, 579, 448, 347, 281];
    const shown = leadsMs.map((leadMs, frame) => display.of(100 + frame * 66, 100 + frame * 66 + leadMs));
    expect(shown).toEqual([113, 179, 245, 311, 377, 443]);
    expect(display.of(600, 610)).toBe(610);
  });

  test('no frame is shown before its hand-over', () => {
    expect(new DisplayTime().of(1_000, 728)).toBe(1_008);
  });
});
