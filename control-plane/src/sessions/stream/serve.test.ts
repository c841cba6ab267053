import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LaunchBody } from '../launch/stages.ts';
import { admitted, aProfile, launchFacts } from '../testing/test-facts.ts';
import { aRung } from '../testing/test-rungs.ts';
import { type ServingGpu, serve } from './serve.ts';

describe('what the placed host serves', () => {
  const NOW = 1_000_000_000;
  const gpu = (more: Partial<ServingGpu> = {}): ServingGpu => ({
    codecs: ['h264', 'h265'],
    encoder: 'nvenc',
    throughput: null,
    certifications: [],
    ...more,
  });
  const rung = (id: string, fields = {}) => aRung(id, { nominal_bitrate_kbps: 8_000, ...fields });
  const catalog = [
    aProfile('1080p60', [
      rung('1080-av1', { codec: 'av1' }),
      rung('1080-h264', { width: 1920, height: 1080 }),
    ]),
    aProfile('720p60', [rung('720-h264', { nominal_bitrate_kbps: 4_500 })]),
  ];
  const launch = (request: Partial<LaunchBody> = {}, isAdmin = false) =>
    admitted(launchFacts({}, { profiles: catalog, isAdmin }), { profile_id: '1080p60', ...request });
  const served = (...args: Parameters<typeof serve>) => {
    const outcome = serve(...args);
    if ('refusal' in outcome) throw new Error(`refused: ${outcome.refusal.code}`);
    const { profileId, rung: taken, stream } = outcome;
    return { profileId, rung: taken?.rung.id ?? null, ...stream };
  };

  test('the first rung that both can do', () => {
    expect(served(launch(), gpu(), NOW)).toMatchObject({
      profileId: '1080p60',
      rung: '1080-h264',
      width: 1920,
    });
  });

  test('without a profile the tier, within the app, and no rung', () => {
    expect(served(admitted(launchFacts()), gpu(), NOW)).toMatchObject({
      profileId: null,
      rung: null,
      bitrate_kbps: 8_000,
    });
  });

  test('a codec that no rung has is refused before one that the host lacks', () => {
    const outcome = serve(launch({ stream: { codec: 'h265' } }), gpu({ codecs: ['h264'] }), NOW);
    expect(outcome).toMatchObject({ refusal: { code: 'validation_failed' } });
  });

  test('a codec that the host does not encode, with a profile and without', () => {
    for (const admission of [
      launch({ stream: { codec: 'av1' } }),
      admitted(launchFacts(), { stream: { codec: 'av1' } }),
    ])
      expect(serve(admission, gpu(), NOW)).toMatchObject({ refusal: { code: 'conflict' } });
  });

  describe('a certification', () => {
    const unsafe = {
      stream_profile_id: '1080-h264',
      bitrate_kbps: 8_000,
      verdict: 'unsafe' as const,
      live_write_stable: true,
      measured_at: NOW,
    };
    const capped = gpu({ certifications: [unsafe] });

    test('steps one profile down, and the session names what is served', () => {
      expect(served(launch(), capped, NOW)).toMatchObject({
        profileId: '720p60',
        rung: '720-h264',
        bitrate_kbps: 4_500,
      });
    });
    test('only one: the lower profile is not checked against its own measurement', () => {
      const below = { ...unsafe, stream_profile_id: '720-h264', bitrate_kbps: 4_500 };
      expect(served(launch(), gpu({ certifications: [unsafe, below] }), NOW).profileId).toBe('720p60');
    });
    test('cuts an override again to the new rung', () => {
      const wide = launch({ stream: { width: 1920, height: 1080, bitrate_kbps: 7_000 } });
      expect(served(wide, capped, NOW)).toMatchObject({ width: 1280, height: 720, bitrate_kbps: 4_500 });
    });
    test('does not cap administrators', () => {
      expect(served(launch({}, true), capped, NOW).profileId).toBe('1080p60');
    });
    test('leaves the launch as it is where the profile below is missing', () => {
      const alone = admitted(launchFacts({}, { profiles: catalog.slice(0, 1) }));
      expect(served(alone, capped, NOW).profileId).toBe('1080p60');
    });
    test('needs a rung in force', () => {
      expect(served(admitted(launchFacts()), capped, NOW).profileId).toBeNull();
    });
  });

  test('no request gives a user more than the serving rung', () => {
    const size = fc.option(
      fc.integer({ min: 8, max: 3_840 }).map((n) => n * 2),
      { nil: undefined },
    );
    fc.assert(
      fc.property(
        size,
        size,
        fc.option(fc.integer({ min: 1, max: 240 }), { nil: undefined }),
        (width, height, fps) => {
          const stream = { width, height, fps };
          const outcome = serve(launch({ stream }), gpu(), NOW);
          if ('refusal' in outcome) throw new Error('refused');
          const { stream: got, rung: taken } = outcome;
          expect(got.width).toBeLessThanOrEqual(taken?.rung.width ?? 0);
          expect(got.height).toBeLessThanOrEqual(taken?.rung.height ?? 0);
          expect(got.fps).toBeLessThanOrEqual(taken?.rung.fps ?? 0);
        },
      ),
    );
  });
});
