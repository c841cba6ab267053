import type { RungCodec, StreamProfile } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SHIPPED_RUNGS } from '../shipped-catalog.ts';
import {
  type ClientFacts,
  type ClientFailure,
  type ClientProbe,
  judgeLaunchProfile,
  judgeRung,
  type Rating,
} from './eligibility.ts';

const rung = (fields: Partial<StreamProfile> = {}): StreamProfile => ({
  ...(SHIPPED_RUNGS.find(({ id }) => id === '1080p60-h264') as StreamProfile),
  ...fields,
});
/** A client without measurements that only decodes H.264. */
const UNMEASURED: ClientProbe = {
  bandwidth_kbps: null,
  rtt_ms: null,
  max_decode_height: null,
  codecs: { hevc: false, av1: false },
  display_refresh_hz: null,
};
const probe = (fields: Partial<ClientProbe> = {}): ClientProbe => ({ ...UNMEASURED, ...fields });
const failure = (fields: Partial<ClientFailure>): ClientFailure => ({
  launch_profile_id: null,
  stream_profile_id: null,
  codec: null,
  ...fields,
});
const facts = (measured: ClientProbe | null, failures: ClientFailure[] = []): ClientFacts => ({
  probe: measured,
  failures,
});
const codes = ({ eligibility, reasons }: Rating) => [eligibility, ...reasons.map(({ code }) => code)];

describe('the verdict on a rung', () => {
  // 1080p60-h264 requires 9600 kbit/s, recommends 12000, and needs a decoder for 1080 lines.
  const fast = { high_refresh_display: 'required', fps: 120 } as const;
  test.each<[string, Partial<StreamProfile>, ClientProbe | null, string[]]>([
    ['without a probe', {}, null, ['eligible']],
    ['with nothing measured', {}, probe(), ['eligible']],
    [
      'bandwidth one below the minimum',
      {},
      probe({ bandwidth_kbps: 9599 }),
      ['ineligible', 'bandwidth_too_low'],
    ],
    ['bandwidth at the minimum', {}, probe({ bandwidth_kbps: 9600 }), ['risky', 'bandwidth_too_low']],
    [
      'bandwidth one below the recommended',
      {},
      probe({ bandwidth_kbps: 11999 }),
      ['risky', 'bandwidth_too_low'],
    ],
    ['bandwidth as recommended', {}, probe({ bandwidth_kbps: 12000 }), ['eligible']],
    [
      'bandwidth where the rung asks for none',
      { min_offer_bandwidth_kbps: 0, recommended_offer_bandwidth_kbps: 0 },
      probe({ bandwidth_kbps: 100 }),
      ['eligible'],
    ],
    ['a round trip at the limit', { max_startup_rtt_ms: 40 }, probe({ rtt_ms: 40 }), ['eligible']],
    [
      'a round trip above it',
      { max_startup_rtt_ms: 40 },
      probe({ rtt_ms: 40.1 }),
      ['ineligible', 'rtt_too_high'],
    ],
    ['any round trip without a limit', { max_startup_rtt_ms: 0 }, probe({ rtt_ms: 900 }), ['eligible']],
    ['an unmeasured round trip', { max_startup_rtt_ms: 40 }, probe(), ['eligible']],
    ['enough lines', {}, probe({ max_decode_height: 1080 }), ['eligible']],
    ['too few lines', {}, probe({ max_decode_height: 1079 }), ['ineligible', 'decode_height_too_low']],
    ['hevc reported', { codec: 'hevc' }, probe({ codecs: { hevc: true, av1: false } }), ['eligible']],
    [
      'hevc not reported',
      { codec: 'hevc' },
      probe({ codecs: { hevc: false, av1: true } }),
      ['ineligible', 'codec_not_supported'],
    ],
    ['av1 reported', { codec: 'av1' }, probe({ codecs: { hevc: false, av1: true } }), ['eligible']],
    [
      'av1 not reported',
      { codec: 'av1' },
      probe({ codecs: { hevc: true, av1: false } }),
      ['ineligible', 'codec_not_supported'],
    ],
    ['av1 without a probe', { codec: 'av1' }, null, ['eligible']],
    ['a risky browser', { browser_client: 'risky' }, probe(), ['risky', 'browser_playout_unsupported']],
    [
      'a risky browser without a probe',
      { browser_client: 'risky' },
      null,
      ['risky', 'browser_playout_unsupported'],
    ],
    ['an unknown display', fast, probe(), ['risky', 'display_refresh_unknown']],
    ['an unknown display without a probe', fast, null, ['risky', 'display_refresh_unknown']],
    ['a slow display', fast, probe({ display_refresh_hz: 117.5 }), ['risky', 'display_refresh_too_low']],
    ['a display just fast enough', fast, probe({ display_refresh_hz: 0.98 * 120 }), ['eligible']],
    [
      'a slow display where a fast one is only recommended',
      { ...fast, high_refresh_display: 'recommended' },
      probe({ display_refresh_hz: 60 }),
      ['eligible'],
    ],
    [
      'an unknown display where a fast one is only recommended',
      { ...fast, high_refresh_display: 'recommended' },
      probe(),
      ['eligible'],
    ],
    [
      'every soft reason at once',
      { ...fast, browser_client: 'risky' },
      probe({ bandwidth_kbps: 10_000 }),
      ['risky', 'bandwidth_too_low', 'browser_playout_unsupported', 'display_refresh_unknown'],
    ],
    [
      'every hard reason at once, and no soft one with them',
      { ...fast, codec: 'av1', browser_client: 'risky', max_startup_rtt_ms: 40 },
      probe({ bandwidth_kbps: 100, rtt_ms: 90, max_decode_height: 480 }),
      ['ineligible', 'bandwidth_too_low', 'rtt_too_high', 'decode_height_too_low', 'codec_not_supported'],
    ],
  ])('%s', (_what, fields, measured, expected) =>
    expect(codes(judgeRung(rung(fields), facts(measured)))).toEqual(expected),
  );

  test.each<[string, ClientFailure, boolean]>([
    ['this rung with its codec', failure({ stream_profile_id: '1080p60-h264', codec: 'h264' }), true],
    [
      'this rung in another launch profile',
      failure({ launch_profile_id: 'x', stream_profile_id: '1080p60-h264', codec: 'h264' }),
      true,
    ],
    ['this rung with another codec', failure({ stream_profile_id: '1080p60-h264', codec: 'av1' }), false],
    ['this rung with no codec', failure({ stream_profile_id: '1080p60-h264' }), false],
    ['another rung', failure({ stream_profile_id: '720p60-h264', codec: 'h264' }), false],
    ['no rung', failure({ launch_profile_id: '1080p60', codec: 'h264' }), false],
  ])('a recorded failure of %s', (_what, recorded, counts) => {
    const expected = counts ? ['ineligible', 'historical_client_performance_failed'] : ['eligible'];
    expect(codes(judgeRung(rung(), facts(null, [recorded])))).toEqual(expected);
    expect(codes(judgeRung(rung(), facts(probe({ bandwidth_kbps: 50_000 }), [recorded])))).toEqual(expected);
  });

  test.each<[readonly RungCodec[] | undefined, string[]]>([
    [undefined, ['eligible']],
    [['h264'], ['ineligible', 'host_encoder_not_supported']],
    [['h264', 'hevc'], ['eligible']],
    [[], ['ineligible', 'host_encoder_not_supported']],
  ])('the codecs of a host count once there is one: %j', (hostCodecs, expected) => {
    const judged = judgeRung(rung({ codec: 'hevc' }), { ...facts(null), ...(hostCodecs && { hostCodecs }) });
    expect(codes(judged)).toEqual(expected);
  });

  const RANK = { ineligible: 0, risky: 1, eligible: 2 };
  const anyProbe = fc.record({
    bandwidth_kbps: fc.nat(50_000),
    rtt_ms: fc.option(fc.nat(200)),
    max_decode_height: fc.option(fc.constantFrom(480, 720, 1080, 1440, 2160)),
    codecs: fc.record({ hevc: fc.boolean(), av1: fc.boolean() }),
    display_refresh_hz: fc.option(fc.constantFrom(30, 60, 90, 120, 144)),
  });

  test('never gets worse with more bandwidth', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SHIPPED_RUNGS), anyProbe, fc.nat(50_000), (shipped, less, gain) => {
        const more = { ...less, bandwidth_kbps: less.bandwidth_kbps + gain };
        const before = RANK[judgeRung(shipped, facts(less)).eligibility];
        expect(RANK[judgeRung(shipped, facts(more)).eligibility]).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  test('is eligible exactly when there is no reason against it', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SHIPPED_RUNGS), fc.option(anyProbe), (shipped, measured) => {
        const { eligibility, reasons } = judgeRung(shipped, facts(measured));
        expect(eligibility === 'eligible').toBe(reasons.length === 0);
      }),
    );
  });

  test('is never ineligible for want of a measurement', () => {
    for (const shipped of SHIPPED_RUNGS)
      expect(judgeRung(shipped, facts(null)).eligibility).not.toBe('ineligible');
  });
});

describe('the verdict on a launch profile', () => {
  const REASON = { code: 'rtt_too_high', message: '' } as const;
  const judged = (
    eligibility: Rating['eligibility'],
    id: string = eligibility,
    codec: RungCodec = 'av1',
  ) => ({
    id,
    codec,
    eligibility,
    reasons: eligibility === 'eligible' ? [] : [REASON],
  });
  test.each<[Rating['eligibility'][], string[]]>([
    [[], ['ineligible']],
    [['eligible'], ['eligible']],
    [['risky'], ['risky', 'rtt_too_high']],
    [['ineligible'], ['ineligible', 'rtt_too_high']],
    [['eligible', 'ineligible'], ['eligible']],
    [['eligible', 'risky'], ['eligible']],
    [
      ['risky', 'eligible'],
      ['risky', 'rtt_too_high'],
    ],
    [
      ['risky', 'ineligible'],
      ['risky', 'rtt_too_high'],
    ],
    [
      ['ineligible', 'eligible'],
      ['risky', 'rtt_too_high'],
    ],
    [
      ['ineligible', 'risky'],
      ['risky', 'rtt_too_high'],
    ],
    [
      ['ineligible', 'ineligible'],
      ['ineligible', 'rtt_too_high'],
    ],
    [
      ['ineligible', 'ineligible', 'eligible'],
      ['risky', 'rtt_too_high'],
    ],
  ])('rungs %j give %j', (chain, expected) =>
    expect(
      codes(
        judgeLaunchProfile(
          'p',
          chain.map((eligibility) => judged(eligibility)),
          [],
        ),
      ),
    ).toEqual(expected),
  );

  const chain = [
    judged('eligible', 'a', 'av1'),
    judged('eligible', 'b', 'h264'),
    judged('eligible', 'c', 'h264'),
  ];
  test.each<[string, Partial<ClientFailure>, boolean]>([
    ['the profile with h264', { launch_profile_id: 'p', stream_profile_id: 'a', codec: 'h264' }, true],
    ['the profile with no codec', { launch_profile_id: 'p' }, true],
    ['the profile with another codec', { launch_profile_id: 'p', codec: 'av1' }, false],
    ['another profile', { launch_profile_id: 'q', codec: 'h264' }, false],
    [
      'its last h264 rung, in whatever profile',
      { launch_profile_id: 'q', stream_profile_id: 'c', codec: 'h264' },
      true,
    ],
    ['its last h264 rung with another codec', { stream_profile_id: 'c', codec: 'hevc' }, false],
    ['its last h264 rung with no codec', { stream_profile_id: 'c' }, false],
    ['an earlier h264 rung', { stream_profile_id: 'b', codec: 'h264' }, false],
    ['another rung', { stream_profile_id: 'a', codec: 'av1' }, false],
  ])('a recorded failure of %s', (_what, recorded, counts) => {
    const verdict = judgeLaunchProfile('p', chain, [failure(recorded)]);
    expect(codes(verdict)).toEqual(
      counts ? ['ineligible', 'historical_client_performance_failed'] : ['eligible'],
    );
  });

  test('gives a recorded failure as the only reason, even with other problems', () => {
    const verdict = judgeLaunchProfile('p', [judged('ineligible')], [failure({ launch_profile_id: 'p' })]);
    expect(codes(verdict)).toEqual(['ineligible', 'historical_client_performance_failed']);
  });
  test('without rungs can still have failed', () =>
    expect(codes(judgeLaunchProfile('p', [], [failure({ launch_profile_id: 'p' })]))).toEqual([
      'ineligible',
      'historical_client_performance_failed',
    ]));
});
