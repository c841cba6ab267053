import type { RungCodec } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClientFacts } from '../../profiles/index.ts';
import { aRung } from '../testing/test-rungs.ts';
import { encodes, type HostAbilities, rungOfCodec, walkRungs } from './rung-walk.ts';

const host = (more: Partial<HostAbilities> = {}): HostAbilities => ({
  codecs: ['h264', 'h265', 'av1'],
  encoder: 'nvenc',
  throughput: null,
  ...more,
});
const probe = (more: Partial<NonNullable<ClientFacts['probe']>> = {}) => ({
  bandwidth_kbps: null,
  rtt_ms: null,
  max_decode_height: null,
  codecs: { hevc: true, av1: true },
  display_refresh_hz: null,
  ...more,
});
const client = (more: Partial<ClientFacts> = {}): ClientFacts => ({ probe: probe(), failures: [], ...more });
const CHAIN = [
  aRung('best-av1', { codec: 'av1' }),
  aRung('next-hevc', { codec: 'hevc' }),
  aRung('last-h264'),
];
const failed = (id: string, codec: RungCodec, profile: string | null = null) => ({
  launch_profile_id: profile,
  stream_profile_id: id,
  codec,
});

describe('the rung of a launch', () => {
  test('is the first that passes everything, and what comes after it is not looked at', () => {
    expect(walkRungs(CHAIN, host(), client())?.decision).toEqual({
      result_rung: 'best-av1',
      result_codec: 'av1',
      override: null,
      floor: false,
      considered: [
        { rung_id: 'best-av1', codec: 'av1', rejected_by: null, selected: true, clamps_bypassed: [] },
      ],
    });
  });

  test('HEVC is spelled as sessions spell it', () => {
    const served = walkRungs(CHAIN, host({ codecs: ['h264', 'h265'] }), client());
    expect(served?.rung.codec).toBe('hevc');
    expect(served?.decision).toMatchObject({
      result_codec: 'h265',
      considered: [{ rejected_by: 'host_encoder' }, { codec: 'h265', selected: true }],
    });
  });

  const tall = aRung('tall', { min_decode_height: 1080 });
  const big = aRung('big', { width: 1920, height: 1080, fps: 60 });
  const hard = aRung('hard', { hardware_encoder_required: true });
  test.each([
    ['1 host_encoder', CHAIN[0]!, host({ codecs: ['h264'] }), client(), 'host_encoder'],
    [
      '1 host_encoder: a host that never reported',
      CHAIN[1]!,
      host({ codecs: null }),
      client(),
      'host_encoder',
    ],
    [
      '2 client_decode',
      CHAIN[0]!,
      host(),
      client({ probe: probe({ codecs: { hevc: true, av1: false } }) }),
      'client_decode',
    ],
    ['2 client_decode: never measured', CHAIN[1]!, host(), client({ probe: null }), 'client_decode'],
    ['3 decode_height', tall, host(), client({ probe: probe({ max_decode_height: 720 }) }), 'decode_height'],
    [
      '4 decode_history, whatever the launch profile',
      tall,
      host(),
      client({ failures: [failed('tall', 'h264', 'another')] }),
      'decode_history',
    ],
    ['5 hardware_encoder', hard, host({ encoder: 'openh264' }), client(), 'hardware_encoder'],
    [
      '6 encoder_throughput',
      big,
      host({ throughput: { h264: { max_pixel_rate_mpix_s: 124 } } }),
      client(),
      'encoder_throughput',
    ],
  ])('%s', (_clamp, rung, facts, viewer, rejected_by) => {
    const served = walkRungs([rung, aRung('floor')], facts, viewer);
    expect(served?.decision.considered[0]).toMatchObject({ rung_id: rung.id, rejected_by, selected: false });
    expect(served?.decision).toMatchObject({ result_rung: 'floor', floor: false });
  });

  test.each([
    ['host_encoder: H.264 on a host that never reported', aRung('x'), host({ codecs: null }), client()],
    ['client_decode: H.264 needs no measurement', aRung('x'), host(), client({ probe: null })],
    ['decode_height: a height that was not measured', tall, host(), client()],
    ['decode_height: just enough lines', tall, host(), client({ probe: probe({ max_decode_height: 1080 }) })],
    [
      'decode_history: a failure in another codec',
      tall,
      host(),
      client({ failures: [failed('tall', 'av1')] }),
    ],
    ['hardware_encoder: an encoder that is not known', hard, host({ encoder: null }), client()],
    [
      'encoder_throughput: just enough pixels',
      big,
      host({ throughput: { h264: { max_pixel_rate_mpix_s: 124.416 } } }),
      client(),
    ],
    [
      'encoder_throughput: a figure of 0 is none',
      big,
      host({ throughput: { h264: { max_pixel_rate_mpix_s: 0 } } }),
      client(),
    ],
    [
      'encoder_throughput: a figure of another codec',
      big,
      host({ throughput: { av1: { max_pixel_rate_mpix_s: 1 } } }),
      client(),
    ],
  ])('passes %s', (_what, rung, facts, viewer) => {
    expect(walkRungs([rung, aRung('floor')], facts, viewer)?.decision.result_rung).toBe(rung.id);
  });

  test('none passes: the last H.264 rung with every clamp bypassed', () => {
    const chain = [
      aRung('a', { min_decode_height: 2160 }),
      aRung('b', { min_decode_height: 1080 }),
      aRung('c', { codec: 'av1' }),
    ];
    const served = walkRungs(
      chain,
      host({ codecs: ['h264'] }),
      client({ probe: probe({ max_decode_height: 480 }) }),
    );
    expect(served?.decision).toMatchObject({
      result_rung: 'b',
      floor: true,
      considered: [
        { rung_id: 'a', rejected_by: 'decode_height', selected: false, clamps_bypassed: [] },
        {
          rung_id: 'b',
          rejected_by: 'decode_height',
          selected: true,
          clamps_bypassed: [
            'host_encoder',
            'client_decode',
            'decode_height',
            'decode_history',
            'hardware_encoder',
            'encoder_throughput',
          ],
        },
        { rung_id: 'c', rejected_by: 'host_encoder', selected: false },
      ],
    });
  });

  test('none passes and none is H.264: the last rung', () => {
    const chain = [aRung('a', { codec: 'av1' }), aRung('b', { codec: 'hevc' })];
    expect(walkRungs(chain, host({ codecs: ['h264'] }), client())?.decision).toMatchObject({
      result_rung: 'b',
      floor: true,
    });
  });

  test('a chain without rungs has none', () => {
    expect(walkRungs([], host(), client())).toBeNull();
    expect(rungOfCodec([], 'h264')).toBeNull();
  });
});

describe('a codec that the launch names', () => {
  test('is the first rung with it, past every clamp but that of the host', () => {
    const chain = [...CHAIN, aRung('second-hevc', { codec: 'hevc', min_decode_height: 4320 })];
    expect(rungOfCodec(chain, 'h265')?.decision).toEqual({
      result_rung: 'next-hevc',
      result_codec: 'h265',
      override: 'h265',
      floor: false,
      considered: [
        {
          rung_id: 'next-hevc',
          codec: 'h265',
          rejected_by: null,
          selected: true,
          clamps_bypassed: [
            'client_decode',
            'decode_height',
            'decode_history',
            'hardware_encoder',
            'encoder_throughput',
          ],
        },
      ],
    });
  });

  test('is none where no rung has it', () => {
    expect(rungOfCodec([aRung('x')], 'av1')).toBeNull();
  });
});

test('a host that never reported codecs makes H.264', () => {
  expect(encodes({ codecs: null }, 'h264')).toBe(true);
  expect(encodes({ codecs: null }, 'av1')).toBe(false);
  expect(encodes({ codecs: ['h264', 'av1'] }, 'av1')).toBe(true);
});

test('for any facts one rung of the chain is selected, and without the floor it broke no clamp', () => {
  const rung = fc.record({
    codec: fc.constantFrom<RungCodec>('h264', 'hevc', 'av1'),
    min_decode_height: fc.constantFrom(0, 720, 2160),
    hardware_encoder_required: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(rung, { minLength: 1, maxLength: 6 }),
      fc.subarray(['h264', 'h265', 'av1']),
      fc.constantFrom(null, 'openh264', 'va'),
      fc.option(fc.constantFrom(480, 1080)),
      (fields, codecs, encoder, height) => {
        const chain = fields.map((field, index) => aRung(`r${index}`, field));
        const facts = client({
          probe: probe({ max_decode_height: height, codecs: { hevc: true, av1: false } }),
        });
        const served = walkRungs(chain, host({ codecs, encoder }), facts);
        const { considered, floor, result_rung } = served?.decision ?? {};
        const selected = considered?.filter((one) => one.selected) ?? [];
        expect(selected.map((one) => one.rung_id)).toEqual([result_rung]);
        expect(chain).toContain(served?.rung);
        expect(selected[0]?.rejected_by === null).toBe(!floor);
        expect(considered?.filter((one) => !one.selected).every((one) => one.rejected_by !== null)).toBe(
          true,
        );
      },
    ),
  );
});
