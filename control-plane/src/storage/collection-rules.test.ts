import { DAY_MS } from '@footlight/platform';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideCollection, isPastGrace } from './collection-rules.ts';

const NOW = 1_800_000_000_000;

describe('the grace of a marked home', () => {
  test.each([
    [null, false, 'not marked'],
    [NOW, false, 'marked now'],
    [NOW - DAY_MS + 1, false, 'a millisecond less than a day'],
    [NOW - DAY_MS, true, 'a day'],
    [0, true, 'long ago'],
  ])('%s → %s: %s', (mark, isPast, _why) => {
    expect(isPastGrace(mark, NOW)).toBe(isPast);
  });
});

describe('the answer to a host', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd');
  const home = fc.record({
    id,
    gc_after: fc.option(fc.integer({ min: NOW - 2 * DAY_MS, max: NOW }), { nil: null }),
  });

  test('names each home once, deletes no live one, and is the same when it is repeated', () => {
    fc.assert(
      fc.property(
        fc.array(id, { minLength: 1 }),
        fc.uniqueArray(home, { selector: (each) => each.id }),
        (ids, homes) => {
          const found = homes.filter((each) => ids.includes(each.id));
          const { toDelete, deletedIds, keptIds } = decideCollection(ids, found, NOW);
          expect([...deletedIds, ...keptIds].sort()).toEqual([...new Set(ids)].sort());
          for (const { id: kept, gc_after } of found) {
            expect(keptIds.includes(kept)).toBe(!isPastGrace(gc_after, NOW));
            expect(toDelete.includes(kept)).toBe(isPastGrace(gc_after, NOW));
          }
          const left = found.filter((each) => !toDelete.includes(each.id));
          expect(decideCollection(ids, left, NOW)).toMatchObject({ toDelete: [], deletedIds, keptIds });
        },
      ),
    );
  });
});
