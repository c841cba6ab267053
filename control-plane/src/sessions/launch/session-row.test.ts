import { describe, expect, test } from 'vitest';
import { floorAtLaunch } from './session-row.ts';

describe('the floor that an agent will keep, by the settings that its host reports', () => {
  const noRung = { bitrate_kbps: 8_000, abr_floor_kbps: 0 };
  const rung = { bitrate_kbps: 8_000, abr_floor_kbps: 2_500 };
  test.each([
    ['the host, before the rung', { abr_floor_kbps: '700', abr_floor_ratio: '0.5' }, rung, 700],
    ['the rung, where the host names none', { abr_floor_kbps: '', abr_floor_ratio: '0.5' }, rung, 2_500],
    ['a share of the launch bitrate, where neither does', { abr_floor_ratio: '0.25' }, noRung, 2_000],
    ['the share that is the default, of a host that says nothing', {}, noRung, 2_400],
    ['an invalid host setting is ignored', { abr_floor_kbps: '-5', abr_floor_ratio: '7' }, noRung, 2_400],
    ['nor what is no number', { abr_floor_kbps: 'x', abr_floor_ratio: '' }, rung, 2_500],
    ['never over the launch bitrate', { abr_floor_kbps: '9000' }, noRung, 8_000],
  ] as const)('%s', (_what, settings, stream, floor) => {
    expect(floorAtLaunch(settings, stream)).toBe(floor);
  });
});
