import { DAY_MS } from '@footlight/platform';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planRemovals } from './kept.ts';
import { type NamedBackup, nameOfBackup } from './names.ts';

const STEP_2 = 'before-0002-b';
const STEP_3 = 'before-0003-c';

function backup(day: number, reason: string | null = null): NamedBackup {
  const said = { createdAtMs: day * DAY_MS, reason, database: 'sqlite' as const };
  return { name: nameOfBackup(said), ...said };
}
const daysOf = (backups: readonly NamedBackup[]) => backups.map(({ createdAtMs }) => createdAtMs / DAY_MS);

describe('after a new backup was written', () => {
  test.each([
    ['fewer than are kept', [backup(1), backup(2)], 3, []],
    ['the oldest go', [backup(3), backup(1), backup(4), backup(2)], 2, [2, 1]],
    ['manual ones count as daily ones', [backup(1), backup(2, 'manual'), backup(3)], 2, [1]],
    ['one is kept', [backup(1), backup(2)], 1, [1]],
    ['with 0 all stay', [backup(1), backup(2), backup(3)], 0, []],
    ['those before a step have a group of their own', [backup(1, STEP_2), backup(2), backup(3)], 2, []],
    [
      'the newest of each step stays',
      [backup(1, STEP_2), backup(2, STEP_2), backup(3, STEP_3), backup(4, STEP_3), backup(5), backup(6)],
      1,
      [5, 3, 1],
    ],
    ['repeated starts fill no disk with 0 either', [backup(1, STEP_2), backup(2, STEP_2)], 0, [1]],
  ] as const)('%s', (_what, backups, keep, removedDays) => {
    expect(daysOf(planRemovals(backups, keep))).toEqual(removedDays);
  });

  test('the newest backup of every group stays, and exactly the kept number of daily ones', () => {
    const reason = fc.constantFrom(null, 'manual', STEP_2, STEP_3);
    const entry = fc.record({ day: fc.integer({ min: 0, max: 9_000 }), reason });
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, { selector: ({ day }) => day }),
        fc.integer({ min: 1, max: 20 }),
        (entries, keep) => {
          const all = entries.map(({ day, reason: why }) => backup(day, why));
          const removed = new Set(planRemovals(all, keep));
          const stay = all.filter((each) => !removed.has(each));
          for (const step of [STEP_2, STEP_3]) {
            const ofStep = all.filter((each) => each.reason === step);
            const newest = Math.max(...daysOf(ofStep));
            expect(daysOf(stay.filter((each) => each.reason === step))).toEqual(
              ofStep.length === 0 ? [] : [newest],
            );
          }
          const isDaily = (each: NamedBackup) => each.reason === null || each.reason === 'manual';
          const daily = daysOf(all.filter(isDaily)).sort((a, b) => b - a);
          expect(daysOf(stay.filter(isDaily)).sort((a, b) => b - a)).toEqual(daily.slice(0, keep));
        },
      ),
    );
  });
});
