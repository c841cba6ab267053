import { DAY_MS, HOUR_MS, SECOND_MS } from '@footlight/platform';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instant } from '../../platform/database/index.ts';
import { type HighlightFacts, rankHighlights } from './ranking.ts';

const NOW_MS = Date.UTC(2026, 5, 2, 12);
const ago = (ms: number): number => NOW_MS - ms;
/** Apps by the letters of their ids, each one a day older than the one before. */
const apps = (ids: string) => [...ids].map((id, index) => ({ id, created_at: ago((index + 1) * DAY_MS) }));

function rank(facts: Partial<HighlightFacts>) {
  return rankHighlights({ apps: [], live: [], history: [], ...facts });
}

const reasons = (facts: Partial<HighlightFacts>): string =>
  rank(facts)
    .map((card) => `${card.app_id}:${card.reason}`)
    .join(' ');

const live = (app_id: string, ageMs: number, started = true) => ({
  id: `s-${app_id}-${ageMs}`,
  app_id,
  created_at: ago(ageMs),
  started_at: started ? ago(ageMs) : null,
});
const ended = (app_id: string, endedAgoMs: number, play_ms = 0) => ({
  app_id,
  play_ms,
  resumable_at: ago(endedAgoMs),
  last_played_at: ago(endedAgoMs),
});
/** An app that was played and whose last session has not ended. */
const played = (app_id: string, play_ms: number) => ({
  app_id,
  play_ms,
  resumable_at: null,
  last_played_at: null,
});

describe('the highlights', () => {
  test('are live sessions, then the most played app, then those to resume, then the newest; five of them', () => {
    const facts = {
      apps: apps('abcdefg'),
      live: [live('f', 2 * HOUR_MS), live('g', HOUR_MS)],
      history: [ended('d', 3 * HOUR_MS, 2 * HOUR_MS), ended('e', 2 * HOUR_MS, HOUR_MS)],
    };
    expect(reasons(facts)).toBe('g:live f:live d:most_played e:resume a:recently_added');
  });

  test('are empty while all would only be new', () => {
    expect(rank({ apps: apps('abc') })).toEqual([]);
    expect(rank({ apps: [] })).toEqual([]);
  });

  test('show the newest live session of an app, once', () => {
    const [card, ...others] = rank({
      apps: apps('a'),
      live: [live('a', 2 * HOUR_MS), live('a', HOUR_MS, false)],
      history: [ended('a', DAY_MS)],
    });
    expect(others).toEqual([]);
    expect(card).toEqual({
      app_id: 'a',
      reason: 'live',
      session_id: `s-a-${HOUR_MS}`,
      session_started_at: null,
      play_seconds: 0,
      last_played_at: instant(ago(DAY_MS)),
    });
  });

  test('name one most played app, never a live one, and by id where two are equal', () => {
    const facts = {
      apps: apps('cba'),
      live: [live('c', HOUR_MS)],
      history: [played('c', 8 * HOUR_MS), ended('b', HOUR_MS, HOUR_MS), ended('a', 2 * HOUR_MS, HOUR_MS)],
    };
    expect(reasons(facts)).toBe('c:live a:most_played b:resume');
    expect(rank(facts)[0]?.play_seconds).toBe((8 * HOUR_MS) / SECOND_MS);
  });

  test('leave out apps that the user may not launch, for any history', () => {
    const facts = {
      apps: apps('a'),
      live: [live('x', HOUR_MS)],
      history: [ended('x', HOUR_MS, HOUR_MS)],
    };
    expect(rank(facts)).toEqual([]);
  });

  test('give whole seconds', () => {
    expect(rank({ apps: apps('a'), history: [ended('a', 4_400, 1_999)] })[0]?.play_seconds).toBe(1);
  });

  const id = fc.constantFrom(...'abcdefghijklm');
  const time = fc.integer({ min: ago(100 * DAY_MS), max: NOW_MS + DAY_MS });
  const facts: fc.Arbitrary<HighlightFacts> = fc.record({
    apps: fc.uniqueArray(fc.record({ id, created_at: time }), { selector: (app) => app.id }),
    live: fc.uniqueArray(
      fc.record({
        id: fc.uuid(),
        app_id: id,
        created_at: time,
        started_at: fc.option(time),
      }),
      { selector: (session) => session.id },
    ),
    history: fc.uniqueArray(
      fc.record({
        app_id: id,
        play_ms: fc.nat({ max: 90 * DAY_MS }),
        resumable_at: fc.option(time),
        last_played_at: fc.option(time),
      }),
      { selector: (entry) => entry.app_id },
    ),
  });
  const ORDER = ['live', 'most_played', 'resume', 'recently_added'];

  test('keep their order and their bounds, and show each app once, for any facts', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const cards = rankHighlights(given);
        const ids = cards.map((card) => card.app_id);
        expect(cards.length).toBeLessThanOrEqual(5);
        expect(new Set(ids).size).toBe(ids.length);
        for (const one of ids) expect(given.apps.map((app) => app.id)).toContain(one);
        const ranks = cards.map((card) => ORDER.indexOf(card.reason));
        expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
        expect(cards.filter((card) => card.reason === 'most_played').length).toBeLessThanOrEqual(1);
        expect(cards[0]?.reason).not.toBe('recently_added');
        for (const card of cards) {
          expect(card.session_id !== null).toBe(card.reason === 'live');
          expect(Number.isInteger(card.play_seconds) && card.play_seconds >= 0).toBe(true);
          expect(given.live.some((session) => session.app_id === card.app_id)).toBe(card.reason === 'live');
        }
      }),
    );
  });

  test('are the same for any order of the facts', () => {
    const shuffled = facts.chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.record({
          apps: fc.shuffledSubarray([...given.apps], { minLength: given.apps.length }),
          live: fc.shuffledSubarray([...given.live], { minLength: given.live.length }),
          history: fc.shuffledSubarray([...given.history], { minLength: given.history.length }),
        }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([given, mixed]) => {
        expect(rankHighlights(mixed)).toEqual(rankHighlights(given));
      }),
    );
  });

  test('need no more candidates than the apps with sessions and the five newest', () => {
    fc.assert(
      fc.property(facts, (random) => {
        // Like in stored data, every played app has a live session or one that can be resumed.
        const touched = new Set([
          ...random.live.map((session) => session.app_id),
          ...random.history.flatMap((entry) => (entry.resumable_at === null ? [] : [entry.app_id])),
        ]);
        const history = random.history.map((entry) =>
          touched.has(entry.app_id) ? entry : { ...entry, play_ms: 0 },
        );
        const given = { ...random, history };
        const newest = [...given.apps]
          .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))
          .slice(0, 5);
        const fewer = given.apps.filter((app) => touched.has(app.id) || newest.includes(app));
        expect(rankHighlights({ ...given, apps: fewer })).toEqual(rankHighlights(given));
      }),
    );
  });
});
