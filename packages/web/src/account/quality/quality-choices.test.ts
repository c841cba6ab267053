import type { ProfileOffer } from '@footlight/protocol/rest';
import { describe, expect, test } from 'vitest';
import { choicesOf } from './quality-choices.ts';

type Profile = ProfileOffer['profiles'][number];

const profile = (id: string, part: object = {}, rung: object = {}) =>
  ({
    id,
    display_name: id,
    nominal: { width: 1280, height: 720, fps: 60, bitrate_kbps: 5500 },
    eligibility: 'eligible',
    reasons: [],
    rungs: [{ codec: 'h264', hardware_encoder_required: false, ...rung }],
    ...part,
  }) as unknown as Profile;
const offer = (profiles: Profile[], recommended_id: string): ProfileOffer => ({
  profiles,
  recommended_id,
  confidence: 'high',
  notes: [],
});
const chips = (given: ProfileOffer) => choicesOf(given, null).map(({ id, chip }) => [id, chip]);

describe('the choice of a quality', () => {
  test('explains why a quality does not suit, and does not offer it', () => {
    const reasons = [{ code: 'bandwidth_too_low', message: 'The connection is too slow.' }];
    const [, choice] = choicesOf(offer([profile('4k', { eligibility: 'ineligible', reasons })], ''), null);
    expect(choice).toMatchObject({ suitability: 'ineligible', chip: 'Not for this device' });
    expect(choice?.label).toBe(
      'Up to 1280 × 720 at 60 frames a second, about 5.5 Mbit/s. The connection is too slow.',
    );
  });

  test('recommends only what every host can encode', () => {
    expect(chips(offer([profile('720p')], '720p'))).toEqual([
      ['', null],
      ['720p', 'Recommended'],
    ]);
    for (const rung of [{ codec: 'av1' }, { hardware_encoder_required: true }])
      expect(chips(offer([profile('4k', {}, rung)], '4k'))).toEqual([
        ['', null],
        ['4k', null],
      ]);
  });
});
