import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chooseLegacyTier,
  encodes,
  isEnvelopeOverride,
  lowerH264Profile,
  type ProbeFacts,
  resolveLegacyStream,
  rungsOf,
} from './stream.ts';

const app = { width: 1920, height: 1080, fps: 60, bitrate_kbps: 15_000 };
const probe = (more: Partial<ProbeFacts> = {}): ProbeFacts => ({
  bandwidth_kbps: null,
  rtt_ms: null,
  decode_height: null,
  ...more,
});

describe('legacy tier', () => {
  test.each([
    ['never measured', null, '1080p60'],
    ['nothing in it', probe(), '1080p60'],
    ['fast and near', probe({ bandwidth_kbps: 25_000, rtt_ms: 10 }), '1080p60-lan'],
    ['fast and far', probe({ bandwidth_kbps: 90_000, rtt_ms: 11 }), '1080p60'],
    ['fast, distance unknown', probe({ bandwidth_kbps: 90_000 }), '1080p60'],
    ['just enough', probe({ bandwidth_kbps: 12_000 }), '1080p60'],
    ['a little less', probe({ bandwidth_kbps: 11_999 }), '720p60'],
    ['decodes 720 lines', probe({ bandwidth_kbps: 90_000, rtt_ms: 50, decode_height: 720 }), '720p60'],
    ['slow', probe({ bandwidth_kbps: 7_999 }), '720p30'],
    ['very slow', probe({ bandwidth_kbps: 500 }), '720p30'],
    ['a figure that is no measurement', probe({ bandwidth_kbps: 99 }), '1080p60'],
  ] as const)('%s', (_what, facts, tier) => {
    expect(chooseLegacyTier(facts).id).toBe(tier);
  });
});

describe('the stream without a profile', () => {
  test('is the tier', () => {
    expect(resolveLegacyStream(app, undefined, false, null)).toEqual({
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
    expect(resolveLegacyStream(small, undefined, false, null)).toMatchObject({
      ...small,
      abr_floor_kbps: 2_000,
    });
  });

  test('an override replaces field by field', () => {
    expect(resolveLegacyStream(app, { fps: 30, bitrate_kbps: 9_000 }, false, null)).toMatchObject({
      width: 1920,
      fps: 30,
      bitrate_kbps: 9_000,
    });
  });

  test("a person's override never exceeds the app's defaults", () => {
    const greedy = { width: 3840, height: 2160, fps: 240, bitrate_kbps: 500_000 };
    expect(resolveLegacyStream(app, greedy, false, null)).toMatchObject(app);
  });

  test("an administrator's stands", () => {
    const greedy = { width: 3840, height: 2160, fps: 120, bitrate_kbps: 50_000 };
    expect(resolveLegacyStream(app, greedy, true, null)).toMatchObject(greedy);
  });

  test('a codec alone is no override of the envelope', () => {
    expect(isEnvelopeOverride({ codec: 'h265' })).toBe(false);
    expect(isEnvelopeOverride({ codec: 'h265', fps: 30 })).toBe(true);
    expect(isEnvelopeOverride({ h264_profile: 'main' })).toBe(true);
    expect(isEnvelopeOverride(undefined)).toBe(false);
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

  test('a host that never reported codecs makes H.264', () => {
    expect(encodes(null, 'h264')).toBe(true);
    expect(encodes(null, 'av1')).toBe(false);
    expect(encodes(['h264', 'av1'], 'av1')).toBe(true);
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
