import type { ClientHealth } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  judgeSecond,
  MAX_REPEATED_MS,
  MAX_VIEWER_GAP_MS,
  UNWATCHED,
  type ViewerHealth,
  withoutViewer,
} from './viewer-health.ts';

const S = 1_000;
const HIDDEN = 'backgrounded_or_hidden';
const DECODE = 'client_decode_degrading';
const PRESENTATION = 'client_presentation_degrading';

type Run = readonly [health: ClientHealth, seconds: number];

/** The state after these runs; each second is one report. */
function after(runs: readonly Run[], before = UNWATCHED): ViewerHealth {
  let known = before;
  for (const [health, seconds] of runs)
    for (let n = 0; n < seconds; n += 1)
      known = judgeSecond(known, { tsMs: (known.newestMs ?? 0) + S, health, reason: null }).health;
  return known;
}
/** A second that is `ms` later than the newest known second. */
const next = (known: ViewerHealth, ms: number, health: ClientHealth = 'decode_degrading', reason = 'slow') =>
  judgeSecond(known, { tsMs: (known.newestMs ?? 0) + ms, health, reason });

describe('seconds of one kind without a break', () => {
  test.each([
    ['decode_degrading', 19, null],
    ['decode_degrading', 20, DECODE],
    ['decode_degrading', 600, DECODE],
    ['client_unsupported', 19, null],
    ['client_unsupported', 20, DECODE],
    ['presentation_degrading', 19, null],
    ['presentation_degrading', 20, PRESENTATION],
    ['smooth', 600, null],
    [HIDDEN, 600, null],
  ] as const)('%s for %i s: %s', (health, seconds, state) => {
    expect(after([[health, seconds]]).state).toBe(state);
  });

  test.each([
    [29, DECODE],
    [30, null],
  ] as const)('%i s of smooth after a verdict: %s', (seconds, state) => {
    expect(
      after([
        ['decode_degrading', 20],
        ['smooth', seconds],
      ]).state,
    ).toBe(state);
  });

  test.each([
    [
      'one smooth second breaks a run',
      [
        ['decode_degrading', 19],
        ['smooth', 1],
        ['decode_degrading', 19],
      ],
      null,
    ],
    [
      '20 s after the break count',
      [
        ['decode_degrading', 19],
        ['smooth', 1],
        ['decode_degrading', 20],
      ],
      DECODE,
    ],
    [
      'unsupported and degrading are one run',
      [
        ['decode_degrading', 10],
        ['client_unsupported', 10],
      ],
      DECODE,
    ],
    [
      'presentation breaks a run of decode',
      [
        ['decode_degrading', 19],
        ['presentation_degrading', 19],
      ],
      null,
    ],
    [
      'the other verdict follows after 20 s',
      [
        ['decode_degrading', 20],
        ['presentation_degrading', 20],
      ],
      PRESENTATION,
    ],
    [
      'and not before',
      [
        ['decode_degrading', 20],
        ['presentation_degrading', 19],
      ],
      DECODE,
    ],
    [
      'one bad second begins the 30 s of smooth again',
      [
        ['decode_degrading', 20],
        ['smooth', 29],
        ['decode_degrading', 1],
        ['smooth', 29],
      ],
      DECODE,
    ],
    [
      'hidden time does not lead to a verdict',
      [
        ['decode_degrading', 19],
        [HIDDEN, 60],
      ],
      null,
    ],
    [
      'nor break a run',
      [
        ['decode_degrading', 10],
        [HIDDEN, 60],
        ['decode_degrading', 10],
      ],
      DECODE,
    ],
    [
      'nor clear a verdict',
      [
        ['decode_degrading', 20],
        ['smooth', 29],
        [HIDDEN, 60],
      ],
      DECODE,
    ],
    [
      'smooth time goes on after it',
      [
        ['decode_degrading', 20],
        ['smooth', 20],
        [HIDDEN, 60],
        ['smooth', 10],
      ],
      null,
    ],
  ] as readonly [string, readonly Run[], string | null][])('%s', (_what, runs, state) => {
    expect(after(runs).state).toBe(state);
  });

  test('the reason is in the words of the second that decided, and stays', () => {
    const almost = after([['decode_degrading', 19]]);
    expect(almost.reason).toBeNull();
    const decided = next(almost, S, 'decode_degrading', 'decoding takes 22.0 ms a frame').health;
    expect(decided.reason).toBe('decoding takes 22.0 ms a frame');
    expect(next(decided, S, 'decode_degrading', 'worse').health.reason).toBe(decided.reason);
    expect(after([['smooth', 30]], decided)).toMatchObject({ state: null, reason: null });
    expect(after([['presentation_degrading', 20]]).reason).toBeNull();
  });
});

describe('times of seconds', () => {
  const almost = after([['decode_degrading', 19]]);

  test('a second counts for at most one second, and for no more than the time that passed', () => {
    expect(next(almost, 5 * S).provedMs).toBe(S);
    expect(next(almost, 400)).toMatchObject({ provedMs: 400, health: { state: null } });
    expect(next(UNWATCHED, S).provedMs).toBe(S);
    expect(next(almost, S, HIDDEN).provedMs).toBe(0);
  });

  test.each([0, -1, -MAX_REPEATED_MS])(
    'a second %i ms after the newest is a repeat and changes nothing',
    (ms) => {
      expect(next(almost, ms)).toEqual({ health: almost, during: null, provedMs: 0 });
    },
  );

  test('an older one begins again, because the clock was set back', () => {
    const again = next(almost, -MAX_REPEATED_MS - 1).health;
    expect(again.run).toEqual({ kind: 'decode', ms: S });
    expect(after([['decode_degrading', 19]], again).state).toBe(DECODE);
  });

  test('a gap ends run and verdict', () => {
    const bad = after([['decode_degrading', 20]]);
    expect(next(bad, MAX_VIEWER_GAP_MS)).toMatchObject({ during: DECODE, health: { state: DECODE } });
    expect(next(bad, MAX_VIEWER_GAP_MS + 1)).toMatchObject({
      during: null,
      health: { state: null, reason: null, run: { kind: 'decode', ms: S } },
    });
    expect(next(almost, MAX_VIEWER_GAP_MS + 1).health.run?.ms).toBe(S);
  });

  test('silence after a hidden second is not counted as a gap: browsers slow the timers of hidden pages down', () => {
    const hidden = next(after([['decode_degrading', 19]]), S, HIDDEN).health;
    expect(next(hidden, 60 * S).health.state).toBe(DECODE);
  });

  test('a viewer who left leaves nothing but the time of the newest second', () => {
    const bad = after([['decode_degrading', 20]]);
    expect(withoutViewer(bad)).toEqual({ ...UNWATCHED, newestMs: bad.newestMs });
    expect(next(withoutViewer(bad), 0).provedMs).toBe(0);
  });
});

describe('any seconds at any times', () => {
  const mostly = <T>(usual: fc.Arbitrary<T>, seldom: fc.Arbitrary<T>): fc.Arbitrary<T> =>
    fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: seldom });
  const second = fc.record({
    /** Time since the previous second. */
    ms: mostly(fc.constantFrom(S, S, 900, 1_200), fc.integer({ min: -4 * MAX_REPEATED_MS, max: 60 * S })),
    health: mostly<ClientHealth>(
      fc.constantFrom<ClientHealth>('decode_degrading', 'decode_degrading', 'client_unsupported'),
      fc.constantFrom<ClientHealth>('smooth', 'presentation_degrading', HIDDEN),
    ),
  });
  /** Long runs of each kind, so that every state is reached. */
  const runs = fc.array(
    fc.tuple(
      fc.constantFrom<ClientHealth | null>(null, 'smooth', 'presentation_degrading', HIDDEN),
      fc.array(second, { minLength: 1, maxLength: 45, size: 'max' }),
    ),
    { maxLength: 8, size: 'max' },
  );

  /** Reference for the verdict: judges all accepted seconds, from the newest one backwards. */
  interface Taken {
    tsMs: number;
    health: ClientHealth;
  }
  const kindOf = (health: ClientHealth) =>
    health === 'client_unsupported' || health === 'decode_degrading'
      ? DECODE
      : health === 'smooth'
        ? null
        : PRESENTATION;
  function reference(taken: readonly Taken[]): string | null {
    let state: string | null = null;
    let kind: string | null | undefined;
    let ms = 0;
    for (const [n, { tsMs, health }] of taken.entries()) {
      const before = taken[n - 1];
      const isFirst =
        before === undefined ||
        tsMs < before.tsMs ||
        (before.health !== HIDDEN && tsMs - before.tsMs > MAX_VIEWER_GAP_MS);
      if (isFirst) [state, kind, ms] = [null, undefined, 0];
      if (health === HIDDEN) continue;
      const proved = isFirst ? S : Math.min(S, tsMs - before.tsMs);
      ms = kind === kindOf(health) ? ms + proved : proved;
      kind = kindOf(health);
      if (ms >= (kind === null ? 30 * S : 20 * S)) state = kind;
    }
    return state;
  }

  test('the state is what the unbroken time proves, and a repeat changes nothing', () => {
    const seen = new Set<string | null>();
    fc.assert(
      fc.property(runs, (parts) => {
        let known = UNWATCHED;
        let at = 10 * MAX_REPEATED_MS;
        const taken: Taken[] = [];
        for (const [forced, seconds] of parts)
          for (const { ms, health: drawn } of seconds) {
            at += ms;
            const said = { tsMs: at, health: forced ?? drawn, reason: 'why' };
            const before = known;
            const newest = before.newestMs;
            const isRepeat = newest !== null && at <= newest && newest - at <= MAX_REPEATED_MS;
            const judged = judgeSecond(before, said);
            known = judged.health;
            expect(judged.provedMs).toBeGreaterThanOrEqual(0);
            expect(judged.provedMs).toBeLessThanOrEqual(S);
            if (isRepeat) {
              expect(known).toBe(before);
              at = newest;
              continue;
            }
            taken.push(said);
            expect(known.state).toBe(reference(taken));
            expect(known.reason === null).toBe(known.state === null);
            expect(judgeSecond(known, said)).toEqual({ health: known, during: known.state, provedMs: 0 });
            seen.add(known.state);
          }
      }),
      { numRuns: 200 },
    );
    expect([...seen].sort()).toEqual([DECODE, PRESENTATION, null].sort());
  });
});
