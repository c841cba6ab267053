import fc from 'fast-check';
import { expect, test } from 'vitest';
import { turnsOfHosts } from './turns-of-hosts.ts';

const hosts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 20 });

test('each host occurs once in a turn, keeps its order from turn to turn, and nothing is lost', () => {
  fc.assert(
    fc.property(hosts, (names) => {
      const all = names.map((host, n) => ({ host, n }));
      const turns = turnsOfHosts(all, ({ host }) => host);
      for (const turn of turns) expect(new Set(turn.map(({ host }) => host)).size).toBe(turn.length);
      for (const name of new Set(names)) {
        const of = (items: typeof all) => items.filter(({ host }) => host === name).map(({ n }) => n);
        expect(of(turns.flat())).toEqual(of(all));
      }
      expect(turns.flat()).toHaveLength(all.length);
    }),
  );
});

test('hosts that occur once share one turn', () => {
  expect(turnsOfHosts(['a', 'b', 'c'], (host) => host)).toEqual([['a', 'b', 'c']]);
});
