import type { StreamProfile } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProbeFacts } from '../../accounts/index.ts';
import { aRung } from '../testing/test-rungs.ts';
import {
  isEnvelopeOverride,
  lowerH264Profile,
  resolveRungStream,
  resolveTierStream,
  rungsOf,
  type StreamOverride,
  type Viewer,
} from './stream.ts';

const app = { width: 1920, height: 1080, fps: 60, bitrate_kbps: 15_000 };
const probe = (more: Partial<ProbeFacts> = {}): ProbeFacts => ({
  client_type: 'web',
  bandwidth_kbps: null,
  rtt_ms: null,
  max_decode_height: null,
  codecs: { hevc: false, av1: false },
  display_refresh_hz: null,
  h264_profiles: null,
  ...more,
});
const person: Viewer = { isAdmin: false, isNative: false, probe: null };
const admin: Viewer = { ...person, isAdmin: true };
const rung: StreamProfile = aRung('1080p60-hevc', {
  codec: 'hevc',
  width: 1920,
  height: 1080,
  h264_profile: 'main',
  nominal_bitrate_kbps: 8_000,
  abr_floor_kbps: 3_000,
});

describe('the stream without a profile', () => {
  test('is the tier', () => {
    expect(resolveTierStream(app, undefined, person)).toEqual({
      width: 1920,
      height: 1080,
      fps: 60,
      bitrate_kbps: 8_000,
      abr_floor_kbps: 2_500,
      codec: 'h264',
      h264_profile: 'constrained-baseline',
      playout0_ms: 50,
    });
  });

  test("is capped by the app's defaults", () => {
    const small = { width: 1280, height: 720, fps: 30, bitrate_kbps: 2_000 };
    expect(resolveTierStream(small, undefined, person)).toMatchObject({
      ...small,
      abr_floor_kbps: 2_000,
    });
  });

  test('an override replaces field by field', () => {
    expect(resolveTierStream(app, { fps: 30, bitrate_kbps: 9_000 }, person)).toMatchObject({
      width: 1920,
      fps: 30,
      bitrate_kbps: 9_000,
    });
  });

  test("a person's override never exceeds the app's defaults", () => {
    const greedy = { width: 3840, height: 2160, fps: 240, bitrate_kbps: 500_000 };
    expect(resolveTierStream(app, greedy, person)).toMatchObject(app);
  });

  test("an administrator's stands", () => {
    const greedy = { width: 3840, height: 2160, fps: 120, bitrate_kbps: 50_000 };
    expect(resolveTierStream(app, greedy, admin)).toMatchObject(greedy);
  });

  test('a codec alone is no override of the envelope', () => {
    expect(isEnvelopeOverride({ codec: 'h265' })).toBe(false);
    expect(isEnvelopeOverride({ codec: 'h265', fps: 30 })).toBe(true);
    expect(isEnvelopeOverride({ h264_profile: 'main' })).toBe(true);
    expect(isEnvelopeOverride(undefined)).toBe(false);
  });
});

describe('the stream of a rung', () => {
  const of = (override: StreamOverride | undefined, viewer: Viewer = person) =>
    resolveRungStream(rung, override, viewer);

  test('is the rung', () => {
    expect(of(undefined)).toEqual({
      width: 1920,
      height: 1080,
      fps: 60,
      bitrate_kbps: 8_000,
      abr_floor_kbps: 3_000,
      codec: 'h265',
      h264_profile: 'constrained-baseline',
      playout0_ms: 50,
    });
  });

  test("a person's override lowers field by field and raises nothing", () => {
    expect(of({ width: 1280, height: 4320, fps: 240, bitrate_kbps: 2_000 })).toMatchObject({
      width: 1280,
      height: 1080,
      fps: 60,
      bitrate_kbps: 2_000,
      abr_floor_kbps: 2_000,
    });
  });

  test("an administrator's override stands", () => {
    const greedy = { width: 3840, height: 2160, fps: 120, bitrate_kbps: 50_000 };
    expect(of(greedy, admin)).toMatchObject(greedy);
  });

  test.each([
    ['a slow line', { bandwidth_kbps: 10_000 }, { bitrate_kbps: 7_000, abr_floor_kbps: 3_000 }],
    ['a very slow line', { bandwidth_kbps: 1_001 }, { bitrate_kbps: 700, abr_floor_kbps: 700 }],
    ['a fast line', { bandwidth_kbps: 90_000 }, { bitrate_kbps: 8_000 }],
    ['a line that was not measured', {}, { bitrate_kbps: 8_000, playout0_ms: 50 }],
    ['15 ms', { rtt_ms: 15 }, { playout0_ms: 50 }],
    ['16 ms', { rtt_ms: 16 }, { playout0_ms: 75 }],
    ['50 ms', { rtt_ms: 50 }, { playout0_ms: 75 }],
    ['51 ms', { rtt_ms: 51 }, { playout0_ms: 100 }],
  ] as const)('the probe envelope: %s', (_what, facts, expected) => {
    expect(of(undefined, { ...person, probe: probe(facts) })).toMatchObject(expected);
  });

  test('the probe envelope is none for administrators, nor with an override', () => {
    const slow = probe({ bandwidth_kbps: 1_000, rtt_ms: 200 });
    const untouched = { bitrate_kbps: 8_000, playout0_ms: 50 };
    expect(of(undefined, { ...admin, probe: slow })).toMatchObject(untouched);
    expect(of({ fps: 30 }, { ...person, probe: slow })).toMatchObject(untouched);
    expect(of({ codec: 'h265' }, { ...person, probe: slow })).toMatchObject({
      bitrate_kbps: 700,
      playout0_ms: 100,
    });
  });

  describe('the H.264 profile of the rung', () => {
    const native = (h264_profiles: string[] | null, more: Partial<Viewer> = {}): Viewer => ({
      ...person,
      isNative: true,
      probe: probe({ client_type: 'native', h264_profiles }),
      ...more,
    });
    test.each([
      ['a native client that lists it', native(['main', 'high']), undefined, 'main'],
      ['a native client that lists others', native(['high']), undefined, 'constrained-baseline'],
      ['a native client that lists nothing', native(null), undefined, 'main'],
      ['a browser', native(['main'], { isNative: false }), undefined, 'constrained-baseline'],
      [
        'a native client whose probe is of a browser',
        native(null, { probe: probe({ h264_profiles: ['main'] }) }),
        undefined,
        'constrained-baseline',
      ],
      [
        'a native client that never measured',
        native(null, { probe: null }),
        undefined,
        'constrained-baseline',
      ],
      ['a native client with an override', native(['main']), { fps: 30 }, 'constrained-baseline'],
      ['an override that names one', person, { h264_profile: 'high' as const }, 'high'],
    ])('%s', (_what, viewer, override, expected) => {
      expect(of(override, viewer).h264_profile).toBe(expected);
    });

    test('high needs to be listed', () => {
      const high = { ...rung, h264_profile: 'high' as const };
      expect(resolveRungStream(high, undefined, native(null)).h264_profile).toBe('constrained-baseline');
      expect(resolveRungStream(high, undefined, native(['high'])).h264_profile).toBe('high');
    });
  });

  test('never exceeds rung or app for a user, with any request and probe', () => {
    const number = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.record({
          width: number(7_680),
          height: number(7_680),
          fps: number(240),
          bitrate_kbps: number(500_000),
        }),
        fc.option(fc.record({ bandwidth_kbps: fc.integer({ min: 100, max: 1e6 }), rtt_ms: fc.nat(500) })),
        (override, facts) => {
          const viewer = { ...person, probe: facts && probe(facts) };
          const fields = ['width', 'height', 'fps', 'bitrate_kbps'] as const;
          const ofRung = of(override, viewer);
          const ofApp = resolveTierStream(app, override, viewer);
          const limit = { ...rung, bitrate_kbps: rung.nominal_bitrate_kbps };
          for (const field of fields) {
            expect(ofRung[field]).toBeLessThanOrEqual(limit[field]);
            expect(ofApp[field]).toBeLessThanOrEqual(app[field]);
          }
          for (const stream of [ofRung, ofApp])
            expect(stream.abr_floor_kbps).toBeLessThanOrEqual(stream.bitrate_kbps);
        },
      ),
    );
  });
});

describe('what the encoder can make', () => {
  test.each([
    ['high', ['constrained-baseline', 'main', 'high'], 'high'],
    ['high', ['constrained-baseline', 'main'], 'main'],
    ['main', ['constrained-baseline', 'high'], 'constrained-baseline'],
    ['high', [], 'constrained-baseline'],
    ['high', null, 'constrained-baseline'],
    ['constrained-baseline', ['high'], 'constrained-baseline'],
  ] as const)('%s of %j → %s', (wanted, offered, made) => {
    expect(lowerH264Profile(wanted, offered)).toBe(made);
  });
});

describe('rungs', () => {
  test.each([
    [
      1920,
      1080,
      [
        [1920, 1080],
        [1600, 900],
        [1280, 720],
      ],
    ],
    [1280, 720, [[1280, 720]]],
    [1366, 768, [[1366, 768]]],
    [
      1920,
      1200,
      [
        [1920, 1200],
        [1680, 1050],
        [1440, 900],
        [1280, 800],
      ],
    ],
    [
      3440,
      1440,
      [
        [3440, 1440],
        [2560, 1080],
      ],
    ],
    [2560, 1080, [[2560, 1080]]],
    [
      1600,
      1200,
      [
        [1600, 1200],
        [1280, 960],
        [1024, 768],
      ],
    ],
    [640, 480, [[640, 480]]],
    [
      2048,
      1152,
      [
        [2048, 1152],
        [1920, 1080],
        [1600, 900],
        [1280, 720],
      ],
    ],
  ])('%i×%i', (width, height, expected) => {
    expect(rungsOf(width, height)).toEqual(expected);
  });

  test('begin with the launch size and never exceed it', () => {
    const even = fc.integer({ min: 8, max: 3840 }).map((half) => half * 2);
    fc.assert(
      fc.property(even, even, (width, height) => {
        const rungs = rungsOf(width, height);
        expect(rungs[0]).toEqual([width, height]);
        for (const [w, h] of rungs) expect(w <= width && h <= height).toBe(true);
        expect(rungs.length).toBeLessThanOrEqual(16);
      }),
    );
  });
});
