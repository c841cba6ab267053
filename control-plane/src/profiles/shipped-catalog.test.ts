import { operations } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { warnAbout } from './rungs/chain.ts';
import { SHIPPED_LAUNCH_PROFILES, SHIPPED_RUNGS } from './shipped-catalog.ts';

const rungs = new Map(SHIPPED_RUNGS.map((rung) => [rung.id, rung]));

describe('the shipped rungs', () => {
  // Nominal bitrate and floor at 60, 90 and 120 FPS, and the browser support at 60 FPS and above.
  test.each([
    ['720p', 'h264', 1280, 720, [4500, 1500, 5500, 2000, 6500, 2500], 'recommended', 'recommended'],
    ['1080p', 'h264', 1920, 1080, [8000, 3000, 10000, 3500, 11500, 4000], 'recommended', 'supported'],
    ['1080p', 'hevc', 1920, 1080, [5000, 2000, 6500, 2500, 7500, 3000], 'recommended', 'supported'],
    ['1080p', 'av1', 1920, 1080, [4500, 1800, 5500, 2000, 6500, 2500], 'recommended', 'supported'],
    ['1440p', 'hevc', 2560, 1440, [8000, 3000, 10000, 3800, 11500, 4500], 'supported', 'supported'],
    ['1440p', 'av1', 2560, 1440, [7000, 2600, 9000, 3300, 10000, 4000], 'supported', 'supported'],
    ['4k', 'hevc', 3840, 2160, [15000, 5500, 18500, 7000, 21500, 8000], 'risky', 'risky'],
    ['4k', 'av1', 3840, 2160, [12500, 4500, 15500, 5500, 18000, 6500], 'risky', 'risky'],
  ] as const)('%s %s', (resolution, codec, width, height, numbers, browserAt60, browserAbove) => {
    for (const [index, fps] of [60, 90, 120].entries()) {
      const nominal = numbers[index * 2] ?? 0;
      const id = `${resolution}${fps}-${codec}`;
      const at60 = fps === 60;
      const soft = id === '720p60-h264' || id === '1080p60-h264';
      expect(rungs.get(id)).toEqual({
        id,
        display_name: `${{ h264: 'H.264', hevc: 'HEVC', av1: 'AV1' }[codec]} · ${resolution === '4k' ? '4K' : resolution} · ${fps} FPS`,
        codec,
        width,
        height,
        fps,
        h264_profile: codec === 'h264' ? 'constrained-baseline' : 'main',
        nominal_bitrate_kbps: nominal,
        min_offer_bandwidth_kbps: Math.round(nominal * 1.2),
        recommended_offer_bandwidth_kbps: Math.round(nominal * 1.5),
        headroom_factor: 1.5,
        abr_floor_kbps: numbers[index * 2 + 1],
        max_startup_rtt_ms: at60 ? 0 : 40,
        min_decode_height: height,
        high_refresh_display: at60 ? 'none' : 'required',
        hardware_encoder_required: !soft,
        browser_client: at60 ? browserAt60 : browserAbove,
        playout0_ms: id === '720p60-h264' ? 75 : at60 ? 50 : 40,
        visibility: 'internal',
      });
    }
  });

  test('are these and 720p30-h264, which asks for no bandwidth', () => {
    expect(SHIPPED_RUNGS).toHaveLength(25);
    expect(rungs.get('720p30-h264')).toMatchObject({
      fps: 30,
      nominal_bitrate_kbps: 3000,
      min_offer_bandwidth_kbps: 0,
      recommended_offer_bandwidth_kbps: 4500,
      abr_floor_kbps: 1000,
      playout0_ms: 100,
      hardware_encoder_required: false,
    });
  });

  test('pass what a write may set', () => {
    const { schema } = operations['streamProfiles.create'].body;
    for (const rung of SHIPPED_RUNGS) expect(schema.parse(rung)).toEqual(rung);
  });
});

describe('the shipped launch profiles', () => {
  test.each([
    ['4k', [10, 15, 20], ['4kN-av1', '4kN-hevc', '1440pN-av1', '1080pN-h264']],
    ['1440p', [30, 35, 40], ['1440pN-av1', '1440pN-hevc', '1080pN-av1', '1080pN-h264']],
    ['1080p', [50, 55, 60], ['1080pN-av1', '1080pN-hevc', '1080pN-h264']],
    ['720p', [63, 66, 70], ['720pN-h264']],
  ])('%s', (resolution, orders, chain) => {
    for (const [index, fps] of [120, 90, 60].entries()) {
      expect(SHIPPED_LAUNCH_PROFILES).toContainEqual(
        expect.objectContaining({
          id: `${resolution}${fps}`,
          display_name: `${resolution === '4k' ? '4K' : resolution} · ${fps} FPS`,
          visibility: 'user',
          sort_order: orders[index],
          rungs: chain.map((id) => id.replace('N', String(fps))),
        }),
      );
    }
  });

  test('are these and 720p30, which only administrators launch', () => {
    expect(SHIPPED_LAUNCH_PROFILES).toHaveLength(13);
    expect(SHIPPED_LAUNCH_PROFILES.filter(({ visibility }) => visibility !== 'user')).toEqual([
      expect.objectContaining({ id: '720p30', visibility: 'debug', sort_order: 80, rungs: ['720p30-h264'] }),
    ]);
  });

  test.each(SHIPPED_LAUNCH_PROFILES)('$id lists rungs that exist and ends in h264', ({ rungs: chain }) => {
    const listed = chain.map((id) => rungs.get(id));
    expect(listed).not.toContain(undefined);
    expect(listed.at(-1)?.codec).toBe('h264');
    const warnings = warnAbout(listed.filter((rung) => rung !== undefined));
    expect(warnings.map(({ code }) => code)).not.toContain('h264_floor_not_last');
  });
});
