import type { ClientHealth } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countSecond, type DecodeCount, decideOutcome, NOTHING_COUNTED } from './decode-history.ts';
import { judgeSecond, UNWATCHED, type ViewerState } from './viewer-health.ts';

const S = 1_000;

const counted = (count: Partial<DecodeCount>): DecodeCount => ({ ...NOTHING_COUNTED, ...count });
const second = (
  health: ClientHealth,
  { during = null, provedMs = S }: { during?: ViewerState | null; provedMs?: number } = {},
  isOverridden = false,
) => countSecond(NOTHING_COUNTED, { health }, { health: UNWATCHED, during, provedMs }, isOverridden);

describe('what a second of the device adds', () => {
  const BAD = { during: 'client_decode_degrading' } as const;
  test.each([
    ['a degraded second before the verdict', 'decode_degrading', {}, false, {}],
    ['one during the verdict', 'decode_degrading', BAD, false, { degradedMs: S }],
    ['a part of a second', 'decode_degrading', { ...BAD, provedMs: 250 }, false, { degradedMs: 250 }],
    ['a smooth one during the verdict counts for both', 'smooth', BAD, false, { degradedMs: S, smoothMs: S }],
    ['a smooth one', 'smooth', {}, false, { smoothMs: S }],
    ['a hidden one', 'backgrounded_or_hidden', { ...BAD, provedMs: 0 }, false, {}],
    ['while the network has the verdict', 'decode_degrading', BAD, true, {}],
    ['an uneven picture', 'presentation_degrading', { during: 'client_presentation_degrading' }, false, {}],
    ['a codec that it cannot decode at all', 'client_unsupported', {}, true, { isUnsupported: true }],
  ] as const)('%s', (_what, health, judged, isOverridden, added) => {
    expect(second(health, judged, isOverridden)).toEqual(counted(added));
  });
});

describe('what is stored', () => {
  test.each([
    [{}, null, null],
    [{ degradedMs: 60 * S - 1 }, null, null],
    [{ degradedMs: 60 * S }, null, 'fail'],
    [{ degradedMs: 60 * S }, 'fail', null],
    [{ isUnsupported: true }, null, 'fail'],
    [{ isUnsupported: true }, 'forget', 'fail'],
    [{ smoothMs: 300 * S - 1 }, null, null],
    [{ smoothMs: 300 * S }, null, 'forget'],
    [{ smoothMs: 300 * S }, 'forget', null],
    [{ smoothMs: 300 * S }, 'fail', null],
    [{ smoothMs: 300 * S, degradedMs: 60 * S }, null, 'fail'],
    [{ smoothMs: 300 * S, degradedMs: 60 * S }, 'forget', 'fail'],
  ] as const)('%o after %s: %s', (count, stored, outcome) => {
    expect(decideOutcome(counted(count), stored)).toBe(outcome);
  });

  test('80 s of one device that degrades without a break: 20 to the verdict, 60 in it', () => {
    let viewing = UNWATCHED;
    let count = NOTHING_COUNTED;
    const failedAfter = [];
    for (let n = 1; n <= 120; n += 1) {
      const said = { tsMs: n * S, health: 'decode_degrading', reason: null } as const;
      const judged = judgeSecond(viewing, said);
      viewing = judged.health;
      count = countSecond(count, said, judged, false);
      if (decideOutcome(count, null) === 'fail') failedAfter.push(n);
    }
    expect(failedAfter[0]).toBe(80);
  });

  test('any seconds: a session stores each outcome at most once, and nothing after a failure', () => {
    const seconds = fc.array(
      fc.tuple(
        fc.constantFrom<ClientHealth>(
          'smooth',
          'decode_degrading',
          'presentation_degrading',
          'backgrounded_or_hidden',
        ),
        fc.integer({ min: 1, max: 200 }),
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(seconds, fc.boolean(), (runs, isOverridden) => {
        let viewing = UNWATCHED;
        let count = NOTHING_COUNTED;
        const stored: string[] = [];
        let tsMs = 0;
        for (const [health, length] of runs)
          for (let n = 0; n < length; n += 1) {
            tsMs += S;
            const said = { tsMs, health, reason: null };
            const judged = judgeSecond(viewing, said);
            viewing = judged.health;
            count = countSecond(count, said, judged, isOverridden);
            const outcome = decideOutcome(count, (stored.at(-1) as 'fail' | 'forget' | undefined) ?? null);
            if (outcome !== null) stored.push(outcome);
          }
        expect([[], ['fail'], ['forget'], ['forget', 'fail']]).toContainEqual(stored);
        if (isOverridden) expect(stored).not.toContain('fail');
      }),
    );
  });
});
