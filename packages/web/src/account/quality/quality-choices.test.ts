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
    rungs: [
      {
        codec: 'h264',
        hardware_encoder_required: false,
        nominal_bitrate_kbps: 5500,
        eligibility: 'eligible',
        ...rung,
      },
    ],
    ...part,
  }) as unknown as Profile;
const offer = (profiles: Profile[], recommended_id: string): ProfileOffer => ({
  profiles,
  recommended_id,
  confidence: 'high',
  notes: [],
});
const chips = (given: ProfileOffer) => choicesOf(given, null).all.map(({ id, chip }) => [id, chip]);

describe('the choice of a quality', () => {
  test('explains why a quality does not suit, and does not offer it', () => {
    const reasons = [{ code: 'bandwidth_too_low', message: 'The connection is too slow.' }];
    const { all } = choicesOf(offer([profile('4k', { eligibility: 'ineligible', reasons })], ''), null);
    const choice = all[1];
    expect(choice).toMatchObject({ suitability: 'ineligible', chip: 'Not for this device' });
    expect(choice?.label).toBe(
      'Up to 1280 × 720 at 60 frames a second, about 5.5 Mbit/s. The connection is too slow.',
    );
  });

  test('names the bitrates of all rungs that suit the device', () => {
    const rungs = [
      { codec: 'av1', nominal_bitrate_kbps: 4500, eligibility: 'eligible' },
      { codec: 'hevc', nominal_bitrate_kbps: 15_000, eligibility: 'ineligible' },
      { codec: 'h264', nominal_bitrate_kbps: 8000, eligibility: 'risky' },
    ];
    expect(choicesOf(offer([profile('1080p', { rungs })], ''), null).all[1]?.label).toBe(
      'Up to 1280 × 720 at 60 frames a second, 4.5 to 8 Mbit/s.',
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

  /**
   * Launch profiles of a new instance, for example "1080p120"; `eligibility` by profile id; a profile without an entry
   * is eligible.
   */
  const shipped = (eligibility: Record<string, string> = {}) =>
    [2160, 1440, 1080, 720].flatMap((height) =>
      [120, 90, 60].map((fps) =>
        profile(`${height}p${fps}`, {
          // 720p in H.264 has the same bitrate as 1080p in AV1.
          nominal: {
            width: (height * 16) / 9,
            height,
            fps,
            bitrate_kbps: Math.max(1080, height) * (fps / 10 + 1),
          },
          eligibility: eligibility[`${height}p${fps}`] ?? 'eligible',
        }),
      ),
    );
  const short = (profiles: Profile[]) =>
    choicesOf(offer(profiles, ''), null).short.map(({ id, name, chip }) => [name, id, chip]);

  test('has one name for the largest picture, one for the most frames, and one for the least data', () => {
    expect(short(shipped())).toEqual([
      ['Automatic', '', null],
      ['Sharp', '2160p60', null],
      ['Smooth', '1080p120', null],
      ['Save data', '720p60', null],
    ]);
  });

  test('names only what suits the device', () => {
    const without = Object.fromEntries(
      shipped().flatMap(({ id, nominal }) =>
        nominal.height > 1080 ? [[id, 'risky']] : nominal.fps > 60 ? [[id, 'ineligible']] : [],
      ),
    );
    expect(short(shipped(without))).toEqual([
      ['Automatic', '', null],
      ['Sharp', '1080p60', null],
      ['Save data', '720p60', null],
    ]);
    const risky = Object.fromEntries(shipped().map(({ id }) => [id, 'risky']));
    expect(short(shipped(risky)).map(([, , chip]) => chip)).toEqual([
      null,
      ...Array(3).fill('May stutter here'),
    ]);
    const none = Object.fromEntries(shipped().map(({ id }) => [id, 'ineligible']));
    expect(short(shipped(none))).toEqual([['Automatic', '', null]]);
  });

  test('shows a few profiles as they are', () => {
    const few = [profile('Office'), profile('Games')];
    expect(short(few)).toEqual([
      ['Automatic', '', null],
      ['Office', 'Office', null],
      ['Games', 'Games', null],
    ]);
  });
});
