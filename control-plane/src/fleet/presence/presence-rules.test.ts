import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countSeenWithin, type FleetSeen, look, NOBODY_SEEN, silentHosts } from './presence-rules.ts';

const SECOND_MS = 1_000;
const host = (id: string, heartbeatAt: number | null, isOffline = false) => ({ id, heartbeatAt, isOffline });

test('a host that is connected at the first read counts as seen then, and one that is offline does not', () => {
  const seen = look(NOBODY_SEEN, [host('a', 5), host('b', 5, true)], 1_000);
  expect(seen.hosts.get('a')?.seenAtMs).toBe(1_000);
  expect(seen.hosts.get('b')?.seenAtMs).toBeNull();
  expect([seen.connected, seen.firstConnectedAtMs]).toEqual([1, 1_000]);
});

test('a heartbeat that moves keeps a host; whether its clock is ahead or behind does not matter', () => {
  let seen = look(NOBODY_SEEN, [host('a', 10 ** 15)], 0);
  seen = look(seen, [host('a', 3)], 60 * SECOND_MS);
  expect([seen.connected, silentHosts(seen, 60 * SECOND_MS)]).toEqual([1, []]);
});

test('20 s without another heartbeat: silent, and not connected any more', () => {
  let seen = look(NOBODY_SEEN, [host('a', 1), host('b', 1)], 0);
  seen = look(seen, [host('a', 1), host('b', 2)], 20 * SECOND_MS - 1);
  expect([seen.connected, silentHosts(seen, 20 * SECOND_MS - 1)]).toEqual([2, []]);
  seen = look(seen, [host('a', 1), host('b', 3)], 20 * SECOND_MS);
  expect([seen.connected, silentHosts(seen, 20 * SECOND_MS)]).toEqual([1, ['a']]);
  seen = look(seen, [host('a', 1, true), host('b', 4)], 30 * SECOND_MS);
  expect(silentHosts(seen, 30 * SECOND_MS)).toEqual([]);
  expect(seen.hosts.get('a')?.seenAtMs).toBe(0);
});

test('the time of the first connection begins again when all were away', () => {
  let seen = look(NOBODY_SEEN, [host('a', 1)], 1);
  seen = look(seen, [host('a', 2)], 5 * SECOND_MS);
  expect(seen.firstConnectedAtMs).toBe(1);
  seen = look(seen, [host('a', 2, true)], 6 * SECOND_MS);
  expect([seen.connected, seen.firstConnectedAtMs]).toEqual([0, 1]);
  seen = look(seen, [host('a', 3)], 9 * SECOND_MS);
  expect(seen.firstConnectedAtMs).toBe(9 * SECOND_MS);
});

test('a deleted host is forgotten', () => {
  const seen = look(look(NOBODY_SEEN, [host('a', 1)], 1), [], 2);
  expect([seen.hosts.size, countSeenWithin(seen, 60 * SECOND_MS, 2)]).toEqual([0, 0]);
});

test('no host is silent within 20 s of a heartbeat that a read found, in any history', () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 1, max: 30 * SECOND_MS }),
    beats: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
    offline: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const beats = new Map([
        ['a', 0],
        ['b', 0],
        ['c', 0],
      ]);
      const lastBeat = new Map<string, number>();
      let seen: FleetSeen = NOBODY_SEEN;
      let now = 0;
      for (const [n, { afterMs, beats: beating, offline }] of steps.entries()) {
        now += afterMs;
        for (const id of beating) {
          beats.set(id, (beats.get(id) ?? 0) + 1);
          if (n > 0) lastBeat.set(id, now);
        }
        seen = look(
          seen,
          [...beats].map(([id, at]) => host(id, at, (offline as string[]).includes(id))),
          now,
        );
        const silent = silentHosts(seen, now);
        for (const id of silent) {
          expect(offline).not.toContain(id);
          expect(now - (lastBeat.get(id) ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(20 * SECOND_MS);
        }
        expect(seen.connected).toBe(3 - offline.length - silent.length);
      }
    }),
  );
});
