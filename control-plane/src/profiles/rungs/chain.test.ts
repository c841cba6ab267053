import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ChainRung, chooseRung, floorOf, hasFloor, warnAbout } from './chain.ts';

const rung = (id: string, codec: ChainRung['codec'], asks: Partial<ChainRung> = {}): ChainRung => ({
  id,
  codec,
  min_offer_bandwidth_kbps: 1000,
  min_decode_height: 720,
  hardware_encoder_required: false,
  ...asks,
});

const anyRung = fc.record({
  id: fc.uuid(),
  codec: fc.constantFrom('h264' as const, 'hevc' as const, 'av1' as const),
  min_offer_bandwidth_kbps: fc.nat(20_000),
  min_decode_height: fc.constantFrom<number[]>(0, 720, 1080, 2160),
  hardware_encoder_required: fc.boolean(),
});

describe('the floor of a chain', () => {
  test.each([
    [[], null],
    [['av1', 'hevc'], null],
    [['h264'], 0],
    [['av1', 'h264', 'hevc'], 1],
    [['h264', 'av1', 'h264', 'hevc'], 2],
  ] as const)('of %j is the last h264 rung: %j', (codecs, index) => {
    const chain = codecs.map((codec, place) => rung(`r${place}`, codec));
    expect(floorOf(chain)).toBe(index === null ? null : chain[index]);
    expect(hasFloor(chain)).toBe(index !== null);
  });
});

describe('the rung that a launch takes', () => {
  const chain = [rung('best', 'av1'), rung('floor', 'h264'), rung('after', 'hevc')];
  test.each([
    ['all', ['best', 'floor', 'after'], { rung: 'best', floor: false }],
    ['the second alone', ['floor'], { rung: 'floor', floor: false }],
    ['the last alone', ['after'], { rung: 'after', floor: false }],
    ['none', [], { rung: 'floor', floor: true }],
  ] as const)('where %s pass', (_what, passing, expected) => {
    const chosen = chooseRung(chain, ({ id }) => (passing as readonly string[]).includes(id));
    expect(chosen && { rung: chosen.rung.id, floor: chosen.floor }).toEqual(expected);
  });
  test('is the last one where nothing passes and nothing is h264', () => {
    expect(chooseRung([rung('a', 'av1'), rung('b', 'hevc')], () => false)).toMatchObject({
      rung: { id: 'b' },
      floor: true,
    });
  });
  test('is none in a chain without rungs', () => expect(chooseRung([], () => true)).toBeNull());

  test('is always there, and h264, for a chain with one h264 rung, under any gates', () => {
    fc.assert(
      fc.property(fc.array(anyRung, { minLength: 1, maxLength: 8 }), fc.nat(8), (chain, at) => {
        const withOne = chain.toSpliced(at, 0, rung('one', 'h264'));
        expect(hasFloor(withOne)).toBe(true);
        expect(chooseRung(withOne, () => false)).toMatchObject({ rung: { codec: 'h264' }, floor: true });
      }),
    );
  });

  test('is never one after another that passes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyRung, fc.boolean()), { minLength: 1, maxLength: 8 }), (pairs) => {
        const passing = new Set(pairs.filter(([, passes]) => passes).map(([one]) => one));
        const chosen = chooseRung(
          pairs.map(([one]) => one),
          (one) => passing.has(one),
        );
        const first = pairs.find(([, passes]) => passes)?.[0];
        if (first === undefined) expect(chosen?.floor).toBe(true);
        else expect(chosen).toEqual({ rung: first, floor: false });
      }),
    );
  });
});

describe('warnings about a chain', () => {
  const codes = (chain: readonly ChainRung[]) => warnAbout(chain).map(({ code }) => code);
  test.each<[string, ChainRung[], string[]]>([
    ['one h264 rung', [rung('a', 'h264')], []],
    ['the h264 rung last and asking least', [rung('a', 'av1'), rung('b', 'h264')], []],
    ['the h264 rung before another', [rung('a', 'h264'), rung('b', 'av1')], ['h264_floor_not_last']],
    [
      'a floor that asks more bandwidth',
      [rung('a', 'av1'), rung('b', 'h264', { min_offer_bandwidth_kbps: 1001 })],
      ['floor_not_least_demanding'],
    ],
    [
      'a floor that asks more decoding',
      [rung('a', 'av1'), rung('b', 'h264', { min_decode_height: 721 })],
      ['floor_not_least_demanding'],
    ],
    [
      'a floor that needs a hardware encoder where another does not',
      [rung('a', 'av1'), rung('b', 'h264', { hardware_encoder_required: true })],
      ['floor_not_least_demanding'],
    ],
    [
      'a floor that needs a hardware encoder as all do',
      [
        rung('a', 'av1', { hardware_encoder_required: true }),
        rung('b', 'h264', { hardware_encoder_required: true }),
      ],
      [],
    ],
    [
      'a floor that asks more than one of two only',
      [
        rung('a', 'av1', { min_offer_bandwidth_kbps: 2000 }),
        rung('b', 'hevc', { min_offer_bandwidth_kbps: 500 }),
        rung('c', 'h264'),
      ],
      ['floor_not_least_demanding'],
    ],
    [
      'both at once',
      [rung('a', 'h264', { min_decode_height: 1080 }), rung('b', 'av1')],
      ['h264_floor_not_last', 'floor_not_least_demanding'],
    ],
    [
      'an earlier h264 rung that asks less than the floor',
      [rung('a', 'h264', { min_decode_height: 0 }), rung('b', 'h264')],
      ['floor_not_least_demanding'],
    ],
    ['no h264 rung at all', [rung('a', 'av1')], []],
  ])('%s: %j', (_what, chain, expected) => expect(codes(chain)).toEqual(expected));
});
