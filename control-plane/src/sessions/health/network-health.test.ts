import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  judgeSample,
  MAX_SAMPLE_GAP_MS,
  type NetworkHealth,
  NOTHING_KNOWN,
  type RateSample,
} from './network-health.ts';

const S = 1_000;
const EVERY_S = 5;
const LAUNCH = 8_000;
const FLOOR = 2_000;

/** A sample with a viewer that has watched all the time, unless `over` changes this. */
const sampled = (over: Partial<RateSample> = {}): RateSample => {
  return { setpointKbps: FLOOR, floorKbps: FLOOR, launchKbps: LAUNCH, watchedSinceMs: 0, ...over };
};
const ABOVE = sampled({ setpointKbps: FLOOR + 1 });

/** The verdict after these samples, one every five seconds from time 0 on. */
function after(samples: readonly RateSample[], before = NOTHING_KNOWN): NetworkHealth {
  return samples.reduce((health, sample, n) => judgeSample(health, sample, n * EVERY_S * S), before);
}
/** Samples over this number of seconds. The first sample only starts the measurement. */
const over = (seconds: number, sample = sampled()): RateSample[] =>
  Array.from({ length: seconds / EVERY_S + 1 }, () => sample);

describe('a setpoint that stays at the floor', () => {
  test.each([
    [0, null],
    [25, null],
    [30, 'network_degrading'],
    [85, 'network_degrading'],
    [90, 'abr_at_floor'],
    [175, 'abr_at_floor'],
    [180, 'unsustainable'],
    [600, 'unsustainable'],
  ] as const)('for %i s, watched: %s', (seconds, state) => {
    expect(after(over(seconds)).state).toBe(state);
  });

  test('was healthy before: it is until 30 s are over', () => {
    expect(after([ABOVE, ...over(25)]).state).toBe('healthy');
    expect(after([ABOVE, ...over(30)]).state).toBe('network_degrading');
  });

  test('says how low, and for how long', () => {
    expect(after(over(30)).reason).toBe('not above the lowest rate of 2000 kbit/s for 30 s');
    expect(after(over(100)).reason).toBe('not above the lowest rate of 2000 kbit/s for 90 s');
    expect(after(over(180)).reason).toBe('not above the lowest rate of 2000 kbit/s for 180 s');
    expect(after([...over(180), ABOVE])).toEqual({ state: 'healthy', reason: null, atFloor: null });
  });

  test('and is not watched: for an hour it is no more than abr_at_floor', () => {
    expect(after(over(3_600, sampled({ watchedSinceMs: null }))).state).toBe('abr_at_floor');
  });

  test('of the 180 s only those count in which a viewer was connected', () => {
    const alone = over(60, sampled({ watchedSinceMs: null }));
    // Watched time at the last samples: first 175 s, then 180 s.
    const watched = over(175, sampled({ watchedSinceMs: 60 * S }));
    expect(after([...alone.slice(0, -1), ...watched]).state).toBe('abr_at_floor');
    expect(after([...alone.slice(0, -1), ...watched, sampled({ watchedSinceMs: 60 * S })]).state).toBe(
      'unsustainable',
    );
  });

  test('a viewer who came between two samples counts from then on', () => {
    // At the floor from 0 s on and watched from 2 s on: at 180 s the watched time is 178 s, at 185 s it is 183 s.
    const late = sampled({ watchedSinceMs: 2 * S });
    expect(after(over(180, late)).state).toBe('abr_at_floor');
    expect(after(over(185, late)).state).toBe('unsustainable');
  });
});

describe('the floor in force', () => {
  test('below it counts as at it: the setpoint follows a slower path', () => {
    expect(after(over(30, sampled({ setpointKbps: 100 }))).state).toBe('network_degrading');
  });

  test('a stream that was launched at its floor is healthy there, and at the floor only below it', () => {
    const atBest = { setpointKbps: 700, floorKbps: 700, launchKbps: 700 };
    expect(after(over(600, sampled(atBest))).state).toBe('healthy');
    expect(after(over(180, sampled({ ...atBest, setpointKbps: 699 }))).state).toBe('unsustainable');
  });

  test.each([
    ['no setpoint, as without rate control', { setpointKbps: null }],
    ['no floor', { floorKbps: null }],
  ] as const)('%s: nothing is known, and the count is reset', (_what, hole) => {
    const hidden = sampled(hole);
    expect(after(over(600, hidden))).toEqual(NOTHING_KNOWN);
    expect(after([...over(175), hidden, ...over(25)]).state).toBeNull();
  });
});

describe('a gap between two samples', () => {
  const gapped = (ms: number) => {
    const before = after(over(175));
    return judgeSample(before, sampled(), 175 * S + ms);
  };
  test('of three windows counts like any other time', () => {
    expect(gapped(MAX_SAMPLE_GAP_MS).state).toBe('unsustainable');
  });
  test('that is longer restarts the count, because its samples are unknown', () => {
    expect(gapped(MAX_SAMPLE_GAP_MS + 1)).toMatchObject({ state: null, atFloor: { forMs: 0, watchedMs: 0 } });
  });
});

describe('any samples at any times', () => {
  const ORDER = [null, 'healthy', 'network_degrading', 'abr_at_floor', 'unsustainable'] as const;
  /** Nearly always uses `usual`, so that runs at the floor become long enough for every state. */
  const mostly = <T>(usual: fc.Arbitrary<T>, seldom: fc.Arbitrary<T>): fc.Arbitrary<T> =>
    fc.oneof({ weight: 60, arbitrary: usual }, { weight: 1, arbitrary: seldom });
  const step = fc.record({
    /** Time since the sample before. */
    ms: mostly(fc.integer({ min: 0, max: MAX_SAMPLE_GAP_MS }), fc.integer({ min: 0, max: 40 * S })),
    setpointKbps: mostly<number | null>(
      fc.integer({ min: 0, max: FLOOR }),
      fc.constantFrom(null, FLOOR + 1, LAUNCH, Number.MAX_VALUE),
    ),
    floorKbps: mostly<number | null>(fc.constant(FLOOR), fc.constantFrom(null, 0, Number.MAX_VALUE)),
    /** Time since the viewer connected; null: no viewer is connected. */
    watchedForMs: fc.constantFrom(null, 0, 1 * S, 4 * S, 1_000 * S, 1_000 * S),
  });

  /** Reference for the state, computed from the full list of samples. */
  interface Told {
    at: number;
    isAtFloor: boolean;
    isMeasured: boolean;
    watchedSinceMs: number | null;
  }
  /** Time at the floor without interruption up to the last sample, and the watched part of it, in milliseconds. */
  function proved(told: readonly Told[]): { forMs: number; watchedMs: number } {
    let forMs = 0;
    let watchedMs = 0;
    for (let n = told.length - 1; n > 0; n -= 1) {
      const [from, to] = [told[n - 1] as Told, told[n] as Told];
      if (!from.isAtFloor || !to.isAtFloor || to.at - from.at > MAX_SAMPLE_GAP_MS) break;
      forMs += to.at - from.at;
      if (to.watchedSinceMs !== null) watchedMs += to.at - Math.max(from.at, to.watchedSinceMs);
    }
    return { forMs, watchedMs };
  }

  test('the state equals the reference, rises at the floor, and ends with one sample above it', () => {
    const seen = new Set<string | null>();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        let health = NOTHING_KNOWN;
        let at = 0;
        const told: Told[] = [];
        for (const { ms, watchedForMs, setpointKbps, floorKbps } of steps) {
          at += ms;
          const watchedSinceMs = watchedForMs === null ? null : at - watchedForMs;
          const before = health;
          health = judgeSample(before, { setpointKbps, floorKbps, launchKbps: LAUNCH, watchedSinceMs }, at);
          const isMeasured = setpointKbps !== null && floorKbps !== null;
          const isAtFloor = isMeasured && setpointKbps <= floorKbps && setpointKbps < LAUNCH;
          told.push({ at, isAtFloor, isMeasured, watchedSinceMs });
          seen.add(health.state);
          if (!isAtFloor) {
            expect(health).toEqual(
              isMeasured ? { state: 'healthy', reason: null, atFloor: null } : NOTHING_KNOWN,
            );
            continue;
          }
          const { forMs, watchedMs } = proved(told);
          expect(health.state === 'unsustainable').toBe(watchedMs >= 180 * S);
          expect(health.state === 'abr_at_floor').toBe(forMs >= 90 * S && watchedMs < 180 * S);
          expect(health.state === 'network_degrading').toBe(forMs >= 30 * S && forMs < 90 * S);
          if (forMs > 0)
            expect(ORDER.indexOf(health.state)).toBeGreaterThanOrEqual(ORDER.indexOf(before.state));
        }
      }),
      { numRuns: 300 },
    );
    expect([...seen].sort()).toEqual([...ORDER].sort());
  });
});
