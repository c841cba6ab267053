import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CellSample, deriveVerdict, judge } from './derivation.ts';

const FPS = 60;

/** A sample at this second after the session's start. */
const at = (second: number, metrics: CellSample['metrics'] = {}): CellSample => ({
  ts_unix_ms: 1_700_000_000_000 + second * 1_000,
  metrics: { encode_ms: 5, fps: 60, frames_dropped: 0, ...metrics },
});
/** Samples for these seconds, all with the same figures. */
const seconds = (from: number, to: number, metrics: CellSample['metrics'] = {}) =>
  Array.from({ length: to - from + 1 }, (_, i) => at(from + i, metrics));

describe('samples that count, by example', () => {
  test('60 fps, samples at 5 to 25 s', () => {
    const samples = [
      at(5, { encode_ms: 30, fps: 20 }),
      at(10, { encode_ms: 20, fps: 40 }),
      at(15, { encode_ms: 8.4, fps: 60 }),
      at(20, { encode_ms: 8.1, fps: 59.9 }),
      at(25, { encode_ms: 9, fps: 60 }),
    ];
    const derived = deriveVerdict(samples, FPS);
    expect(derived).toMatchObject({
      verdict: 'ok',
      encode_ms_p50: 8.4,
      encode_ms_p95: 9,
      encode_ms_max: 9,
      drop_rate: 0,
      live_write_stable: true,
      sample_window_ms: 10_000,
      sample_count: 3,
    });
    expect(derived?.output_fps).toBeCloseTo(59.97, 2);
  });

  test('25 s at a sample a second leave the last 18', () => {
    expect(deriveVerdict(seconds(1, 25), FPS)).toMatchObject({
      sample_count: 18,
      sample_window_ms: 17_000,
    });
  });
});

// Infinity becomes null in JSON, and the host's page, which shows each figure, would then fail.
test('no figure of a host leads to a result that is no number', () => {
  const figure = fc.oneof(fc.double(), fc.constantFrom(Number.MAX_VALUE, 1e300, 0, 60));
  const sample = fc.record({ encode_ms: figure, fps: figure, frames_dropped: figure });
  fc.assert(
    fc.property(fc.array(sample, { minLength: 2, maxLength: 9 }), (figures) => {
      const derived = deriveVerdict([at(0), ...figures.map((each, n) => at(7 + n, each))], FPS);
      if (derived === null) return;
      const { verdict: _, live_write_stable: __, ...numbers } = derived;
      for (const [name, value] of Object.entries(numbers))
        expect([name, Number.isFinite(value)]).toEqual([name, true]);
    }),
  );
});

describe('which samples count', () => {
  const SLOW = { encode_ms: 100 };
  test.each([
    ['none', [], null],
    ['one', [at(1)], null],
    ['all within six seconds of the first', seconds(1, 7), null],
    ['one exactly six seconds after it is within them', [at(0), at(6, SLOW)], null],
    ['a millisecond later counts', [at(0), at(6.001)], 1],
    ['the first is the earliest, whatever their order', [at(9), at(0), at(8), at(7)], 3],
    ['without a time to encode', [at(0), at(8, { encode_ms: undefined }), at(9)], 1],
    ['without a frame rate', [at(0), at(8, { fps: undefined }), at(9)], 1],
    [
      'a text, a negative and an infinite figure',
      [
        at(0),
        at(7, { encode_ms: '5' }),
        at(8, { fps: -1 }),
        at(9, { encode_ms: Number.POSITIVE_INFINITY }),
        at(10),
      ],
      1,
    ],
    ['a sample that does not count is never the first', [at(0, { fps: undefined }), at(5), at(7)], null],
  ] as const)('%s', (_what, samples, count) => {
    expect(deriveVerdict(samples, FPS)?.sample_count ?? null).toBe(count);
  });
});

describe('the figures', () => {
  /** Samples that are kept, with these encode times. */
  const encoding = (times: readonly number[]) => [
    at(0),
    ...times.map((encode_ms, i) => at(10 + i, { encode_ms })),
  ];
  const upTo = (n: number) => Array.from({ length: n }, (_, i) => n - i);
  test.each([
    [1, 1, 1, 1],
    [2, 2, 2, 2],
    [3, 2, 3, 3],
    [4, 3, 4, 4],
    [19, 10, 19, 19],
    [20, 11, 19, 20],
    [21, 11, 20, 21],
    [40, 21, 38, 40],
    [100, 51, 95, 100],
    [140, 71, 133, 140],
  ])('of the times 1 to %i: p50 %i, p95 %i, max %i', (n, p50, p95, max) => {
    expect(deriveVerdict(encoding(upTo(n)), FPS)).toMatchObject({
      encode_ms_p50: p50,
      encode_ms_p95: p95,
      encode_ms_max: max,
      sample_count: n,
    });
  });

  test('drops are counted per sample and may exceed one', () => {
    const samples = [at(0, { frames_dropped: 9 }), at(8, { frames_dropped: 4 }), at(9, {})];
    expect(deriveVerdict(samples, FPS)?.drop_rate).toBe(2);
    const unsaid = [at(0), at(8, { frames_dropped: undefined })];
    expect(deriveVerdict(unsaid, FPS)?.drop_rate).toBe(0);
  });

  test('one sample that says the rate was not stable is enough, after the first six seconds', () => {
    const stable = (...said: unknown[]) =>
      deriveVerdict([at(0), ...said.map((live_write_stable, i) => at(10 + i, { live_write_stable }))], FPS)
        ?.live_write_stable;
    expect(stable(undefined, true, true)).toBe(true);
    expect(stable(true, false, true)).toBe(false);
    const early = [at(0), at(5, { live_write_stable: false }), at(10)];
    expect(deriveVerdict(early, FPS)?.live_write_stable).toBe(true);
  });
});

describe('the verdict at each bound', () => {
  const BELOW = -1e-6;
  const ABOVE = 1e-6;
  for (const [fps, budget, okMs, okFps] of [
    [30, 33.333333333333336, 23.333333333333332, 29.1],
    [60, 16.666666666666668, 11.666666666666666, 58.2],
    [90, 11.11111111111111, 7.777777777777778, 87.3],
    [120, 8.333333333333334, 5.833333333333333, 116.4],
  ] as const) {
    const good = { encode_ms_p95: 1, output_fps: fps, drop_rate: 0 };
    test.each([
      ['everything good', {}, 'ok'],
      ['p95 just under 0.70 of the budget', { encode_ms_p95: okMs + BELOW }, 'ok'],
      ['p95 just over it', { encode_ms_p95: okMs + ABOVE }, 'capped'],
      ['p95 just under the budget', { encode_ms_p95: budget + BELOW }, 'capped'],
      ['p95 at the budget', { encode_ms_p95: budget }, 'capped'],
      ['p95 just over the budget', { encode_ms_p95: budget + ABOVE }, 'unsafe'],
      ['0.97 of the frames', { output_fps: okFps + ABOVE }, 'ok'],
      ['just fewer', { output_fps: okFps + BELOW }, 'capped'],
      ['no frames at all', { output_fps: 0 }, 'capped'],
      ['a drop in a hundred samples', { drop_rate: 0.01 }, 'ok'],
      ['just more drops', { drop_rate: 0.01 + ABOVE }, 'capped'],
      ['a drop in twenty samples', { drop_rate: 0.05 }, 'capped'],
      ['just more than that', { drop_rate: 0.05 + ABOVE }, 'unsafe'],
      ['drops in spite of a fast encoder', { drop_rate: 3 }, 'unsafe'],
    ] as const)(`${fps} fps: %s`, (_what, figures, verdict) => {
      expect(judge({ ...good, ...figures }, fps)).toBe(verdict);
    });
  }
});

describe('any samples', () => {
  const figure = fc.oneof(
    fc.double({ min: 0, max: 200, noNaN: true }),
    fc.constantFrom<unknown>(undefined, null, -1, '7', Number.NaN, Number.POSITIVE_INFINITY),
  );
  const sample = fc.record({
    ts_unix_ms: fc.integer({ min: 0, max: 60_000 }),
    metrics: fc.record({
      encode_ms: figure,
      fps: figure,
      frames_dropped: figure,
      live_write_stable: fc.constantFrom<unknown>(undefined, true, false, 0),
    }),
  });

  test('give no verdict, or exactly one that its own figures give', () => {
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 60 }), fc.constantFrom(30, 60, 90, 120), (samples, fps) => {
        const derived = deriveVerdict(samples, fps);
        if (derived === null) return;
        expect(derived.verdict).toBe(judge(derived, fps));
        expect(derived.encode_ms_p50).toBeLessThanOrEqual(derived.encode_ms_p95);
        expect(derived.encode_ms_p95).toBeLessThanOrEqual(derived.encode_ms_max);
        expect(derived.sample_count).toBeGreaterThan(0);
        expect(derived.sample_window_ms).toBeGreaterThanOrEqual(0);
        for (const value of Object.values(derived))
          if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true);
      }),
    );
  });

  test('give the same in any order and at any time of day', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(sample, { maxLength: 30, selector: ({ ts_unix_ms }) => ts_unix_ms }),
        fc.integer({ min: 0, max: 2_000_000_000_000 }),
        (samples, shiftMs) => {
          const moved = samples
            .map(({ ts_unix_ms, metrics }) => ({ ts_unix_ms: ts_unix_ms + shiftMs, metrics }))
            .reverse();
          expect(deriveVerdict(moved, FPS)).toEqual(deriveVerdict(samples, FPS));
        },
      ),
    );
  });

  test('slower frames and more drops never make a verdict better', () => {
    const ORDER = ['ok', 'capped', 'unsafe'];
    const positive = fc.double({ min: 0, max: 50, noNaN: true });
    fc.assert(
      fc.property(positive, positive, positive, positive, (p95, fps, drop, worse) => {
        const figures = { encode_ms_p95: p95, output_fps: fps + 20, drop_rate: drop / 100 };
        const rank = (one: typeof figures) => ORDER.indexOf(judge(one, FPS));
        expect(rank({ ...figures, encode_ms_p95: p95 + worse })).toBeGreaterThanOrEqual(rank(figures));
        expect(rank({ ...figures, drop_rate: figures.drop_rate + worse })).toBeGreaterThanOrEqual(
          rank(figures),
        );
        expect(rank({ ...figures, output_fps: figures.output_fps - worse / 3 })).toBeGreaterThanOrEqual(
          rank(figures),
        );
      }),
    );
  });
});
