import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { recommend } from './recommendation.ts';

const profile = (id: string, eligibility: 'eligible' | 'risky' | 'ineligible' = 'eligible') => ({
  id,
  eligibility,
});

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
    expect(recommend(profiles, measured)).toEqual({ recommended_id, confidence }),
  );

  it('is always one of those shown, or "" when there is none', () => {
    const shown = fc.uniqueArray(
      fc.record({
        id: fc.constantFrom('4k60', '1080p60', '720p60', 'a', 'b'),
        eligibility: fc.constantFrom('eligible' as const, 'risky' as const, 'ineligible' as const),
      }),
      { selector: ({ id }) => id },
    );
    fc.assert(
      fc.property(shown, fc.boolean(), (profiles, measured) => {
        const { recommended_id } = recommend(profiles, measured);
        if (profiles.length === 0) expect(recommended_id).toBe('');
        else expect(profiles.map(({ id }) => id)).toContain(recommended_id);
      }),
    );
  });

  it('is confident only about what is eligible for a measured device', () => {
    const some = [profile('a', 'risky'), profile('b')];
    expect(recommend(some, true).confidence).toBe('high');
    expect(recommend(some, false).confidence).toBe('low');
  });
});
