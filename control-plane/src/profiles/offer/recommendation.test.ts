import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NEW_APP } from '../../catalog/index.ts';
import { type Candidate, numbersSetFor, recommend, type StreamLimits } from './recommendation.ts';

const SIZES: Readonly<Record<string, Candidate['nominal']>> = {
  '4k60': { width: 3840, height: 2160, fps: 60, bitrate_kbps: 12_500 },
  '1440p60': { width: 2560, height: 1440, fps: 60, bitrate_kbps: 7_000 },
  '1080p90': { width: 1920, height: 1080, fps: 90, bitrate_kbps: 5_500 },
  '1080p60': { width: 1920, height: 1080, fps: 60, bitrate_kbps: 4_500 },
  '720p120': { width: 1280, height: 720, fps: 120, bitrate_kbps: 6_500 },
  '720p60': { width: 1280, height: 720, fps: 60, bitrate_kbps: 4_000 },
};
const NO_SIZE = { width: 1, height: 1, fps: 1, bitrate_kbps: 1 };
const UNLIMITED: StreamLimits = { encoderMpixelS: null, app: null };

const profile = (id: string, eligibility: Candidate['eligibility'] = 'eligible'): Candidate => ({
  id,
  eligibility,
  nominal: SIZES[id] ?? NO_SIZE,
});
const encoder = (encoderMpixelS: number): StreamLimits => ({ encoderMpixelS, app: null });
const own = (numbers: Partial<NonNullable<StreamLimits['app']>>): StreamLimits => ({
  encoderMpixelS: null,
  app: { mpixelS: null, bitrateKbps: null, ...numbers },
});
const mpixels = ({ nominal: { width, height, fps } }: Candidate) => (width * height * fps) / 1e6;

describe('the recommendation', () => {
  test.each([
    [
      '1080p60 without a probe',
      [profile('4k60'), profile('1080p60'), profile('720p60')],
      false,
      '1080p60',
      'low',
    ],
    [
      '1080p60 without a probe, even as risky',
      [profile('4k60'), profile('1080p60', 'risky')],
      false,
      '1080p60',
      'low',
    ],
    [
      'the last without a probe and without 1080p60',
      [profile('4k60'), profile('720p60')],
      false,
      '720p60',
      'low',
    ],
    [
      'the first eligible one with a probe',
      [profile('a', 'ineligible'), profile('b', 'risky'), profile('c'), profile('d')],
      true,
      'c',
      'high',
    ],
    [
      'the last with a probe where none is eligible',
      [profile('a', 'risky'), profile('b', 'ineligible')],
      true,
      'b',
      'low',
    ],
    ['nothing out of nothing, with a probe', [], true, '', 'low'],
    ['nothing out of nothing, without one', [], false, '', 'low'],
  ] as const)('is %s', (_what, profiles, measured, recommended_id, confidence) =>
    expect(recommend(profiles, measured, UNLIMITED)).toEqual({ recommended_id, confidence, limitedBy: [] }),
  );

  const ALL = Object.keys(SIZES).map((id) => profile(id));
  const HOST = 'host_encoder_limited';
  const APP = 'app_size_limited';
  test.each<[string, readonly Candidate[], boolean, StreamLimits, string, string[]]>([
    ['the first within the budget of the encoder', ALL, true, encoder(221), '1080p90', [HOST]],
    ['the same at the exact figure', ALL, true, encoder(124.416), '1080p60', [HOST]],
    ['with a budget for all the same as without', ALL, true, encoder(500), '4k60', []],
    ['the fewest pixels where nothing is within it', ALL, true, encoder(30), '720p60', [HOST]],
    ['1080p60 without a probe within the budget', ALL, false, encoder(125), '1080p60', []],
    [
      'without a probe an eligible one rather than a risky one',
      [profile('1080p60'), profile('720p120', 'risky'), profile('720p60')],
      false,
      encoder(120),
      '720p60',
      [HOST],
    ],
    [
      'with a probe an eligible one, although only a risky one is within',
      [profile('4k60'), profile('1080p60'), profile('720p60', 'risky')],
      true,
      encoder(60),
      '1080p60',
      [HOST],
    ],
    [
      'never an ineligible one',
      [profile('1080p60'), profile('720p60', 'ineligible')],
      false,
      encoder(60),
      '1080p60',
      [],
    ],
    ["within the app's own size", ALL, true, own({ mpixelS: 62.3 }), '720p60', [APP]],
    ["within the app's own bitrate", ALL, true, own({ bitrateKbps: 6_000 }), '1080p90', [APP]],
    [
      'within both limits',
      ALL,
      true,
      { encoderMpixelS: 130, app: { mpixelS: 110.6, bitrateKbps: null } },
      '720p120',
      [HOST, APP],
    ],
  ])('is %s', (_what, profiles, measured, limits, id, limitedBy) => {
    expect(recommend(profiles, measured, limits)).toEqual({
      recommended_id: id,
      confidence: measured ? 'high' : 'low',
      limitedBy,
    });
  });

  const shown = fc
    .uniqueArray(
      fc.record({
        id: fc.constantFrom(...Object.keys(SIZES)),
        eligibility: fc.constantFrom('eligible' as const, 'risky' as const, 'ineligible' as const),
      }),
      { selector: ({ id }) => id },
    )
    .map((some) => some.map(({ id, eligibility }) => profile(id, eligibility)));
  const maybe = (most: number) => fc.option(fc.double({ min: 0, max: most, noNaN: true }));
  const limitsOf = fc.record({
    encoderMpixelS: maybe(600),
    app: fc.option(fc.record({ mpixelS: maybe(600), bitrateKbps: maybe(15_000) })),
  });

  test('is always one of those shown, or "" when there is none', () => {
    fc.assert(
      fc.property(shown, fc.boolean(), limitsOf, (profiles, measured, limits) => {
        const { recommended_id } = recommend(profiles, measured, limits);
        if (profiles.length === 0) expect(recommended_id).toBe('');
        else expect(profiles.map(({ id }) => id)).toContain(recommended_id);
      }),
    );
  });

  test('is never above the budget of the encoder where an eligible one is within it', () => {
    fc.assert(
      fc.property(
        shown,
        fc.boolean(),
        fc.double({ min: 0, max: 600, noNaN: true }),
        (profiles, measured, budget) => {
          const { recommended_id } = recommend(profiles, measured, encoder(budget));
          const chosen = profiles.find(({ id }) => id === recommended_id);
          const fits = profiles.some((one) => one.eligibility === 'eligible' && mpixels(one) <= budget);
          if (fits) expect(mpixels(chosen!)).toBeLessThanOrEqual(budget);
        },
      ),
    );
  });

  test('with limits is never larger, never ineligible instead of playable, and has the same confidence', () => {
    fc.assert(
      fc.property(shown, fc.boolean(), limitsOf, (profiles, measured, limits) => {
        const free = recommend(profiles, measured, UNLIMITED);
        const limited = recommend(profiles, measured, limits);
        expect(limited.confidence).toBe(free.confidence);
        expect(limited.limitedBy.length > 0).toBe(limited.recommended_id !== free.recommended_id);
        if (limited.recommended_id === free.recommended_id) return;
        const find = (id: string) => profiles.find((one) => one.id === id)!;
        expect(find(limited.recommended_id).eligibility).not.toBe('ineligible');
      }),
    );
  });

  test('is confident only about what is eligible for a measured device', () => {
    const some = [profile('a', 'risky'), profile('b')];
    expect(recommend(some, true, UNLIMITED).confidence).toBe('high');
    expect(recommend(some, false, UNLIMITED).confidence).toBe('low');
  });
});

describe("the app's own numbers", () => {
  test.each([
    ['none, where all are the defaults of a new app', {}, null],
    ['a size', { default_width: 1280, default_height: 720, default_fps: 30 }, [27.648, null]],
    ['a frame rate alone', { default_fps: 30 }, [62.208, null]],
    ['a bitrate alone', { default_bitrate_kbps: 4_000 }, [null, 4_000]],
  ] as const)('%s', (_what, changed, numbers) => {
    const expected = numbers && { mpixelS: numbers[0], bitrateKbps: numbers[1] };
    expect(numbersSetFor({ ...NEW_APP, ...changed })).toEqual(expected);
  });
});
