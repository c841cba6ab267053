import { describe, expect, test } from 'vitest';
import { type FloorSettings, launchFloorKbps } from './launch-floor.ts';

describe('floor at launch', () => {
  const DEFAULTS: FloorSettings = { abr_floor_kbps: null, abr_floor_ratio: 0.3 };
  test.each([
    [{ abr_floor_kbps: 700 }, 2000, 700, 'the host setting is first'],
    [{}, 2000, 2000, 'then the rung'],
    [{}, 0, 1500, 'then a share of the launch bitrate'],
    [{ abr_floor_kbps: 9000 }, 0, 5000, 'never over the launch bitrate'],
  ] satisfies [Partial<FloorSettings>, number, number, string][])(
    '%o with a rung floor of %i is %i: %s',
    (settings, rung, expected) => {
      expect(launchFloorKbps({ ...DEFAULTS, ...settings }, 5000, rung)).toBe(expected);
    },
  );
});
