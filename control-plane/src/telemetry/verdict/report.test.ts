import { sessionVerdict } from '@footlight/protocol/rest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VerdictFacts } from './evidence.ts';
import {
  CLIENT,
  congested,
  constant,
  ENCODER,
  FROM_MS,
  factsWith,
  HIDDEN,
  hidden,
  IS_HIDDEN,
  NETWORK,
  SIGMA,
  saturated,
  uneven,
  type WindowValues,
} from './testing/window-facts.ts';
import { decideVerdict } from './verdict.ts';

const SHOWN = 'client.present_n';
const RECEIVED = 'client.fps';
const CLICK_MS = 'client.click_to_photon_ms';
const CLICKS = 'client.click_to_photon_n';
const MINUTE_MS = 60_000;

/** A watched session: the viewer received a picture in each of 20 seconds. */
const watched = (values: WindowValues = {}): WindowValues => ({
  [RECEIVED]: constant(60),
  [SHOWN]: constant(59),
  ...values,
});
const reportOf = (values: WindowValues, over: Partial<VerdictFacts> = {}) =>
  decideVerdict(factsWith(watched(values), over)).report;

describe('what limited a session, to its owner', () => {
  test.each<[verdict: string, values: WindowValues, limit: RegExp, remedy: RegExp | null]>([
    [NETWORK, congested, /^The connection to this device lost data/, /cable/],
    [ENCODER, saturated, /^The machine that ran the app/, /lower quality/],
    [CLIENT, uneven, /^The picture arrived in time, but this device/, /hardware acceleration/],
    [HIDDEN, hidden, /^The page was hidden/, null],
    ['nominal', {}, /^The picture was smooth\.$/, null],
  ])('%s', (verdict, values, limit, remedy) => {
    const answer = decideVerdict(factsWith(watched(values)));
    expect(answer.verdict).toBe(verdict);
    expect(answer.report?.limit).toMatch(limit);
    if (remedy === null) expect(answer.report?.remedy).toBeNull();
    else expect(answer.report?.remedy).toMatch(remedy);
  });

  test.each([
    [18, /^The picture was smooth/],
    [17, /^Not all of it was smooth, and no single cause was found/],
  ])('nominal with %i of 20 smooth seconds', (smooth, limit) => {
    // The host is slow in the same seconds, so that the rule for the viewer does not match.
    const sigma = constant(2).map((value, n) => (n < smooth ? value : 40));
    const report = reportOf({ [SIGMA]: sigma, 'encoder.fps': constant(30) });
    expect(report?.smooth_fraction).toBe(smooth / 20);
    expect(report?.limit).toMatch(limit);
  });

  test.each([
    [8_000, /^It was too short to judge/],
    [30_000, /^The picture was smooth/],
  ])('nominal, after it ran for %i ms', (playedMs, limit) => {
    const startedAtMs = FROM_MS - MINUTE_MS;
    const answer = decideVerdict(factsWith(watched(), { startedAtMs, endedAtMs: startedAtMs + playedMs }));
    expect(answer.verdict).toBe('nominal');
    expect(answer.report?.limit).toMatch(limit);
  });

  test.each([
    [29_999, /^It was too short/],
    [30_000, /^Too little was measured/],
  ])('unknown, after it ran for %i ms', (playedMs, limit) => {
    const startedAtMs = FROM_MS + 10_000;
    const facts = factsWith(
      {},
      {
        startedAtMs,
        endedAtMs: startedAtMs + playedMs,
        series: { [RECEIVED]: [{ ts_unix_ms: startedAtMs + 1_000, v: 60 }] },
      },
    );
    const answer = decideVerdict(facts);
    expect(answer.verdict).toBe('unknown');
    expect(answer.report?.limit).toMatch(limit);
    expect(answer.report?.remedy).toBeNull();
  });
});

describe('there is a report', () => {
  test.each<[has: boolean, what: string, values: WindowValues]>([
    [true, 'with one received frame', { [RECEIVED]: [0, 1], [SHOWN]: [] }],
    [true, 'with one shown frame', { [RECEIVED]: [], [SHOWN]: [0, 1] }],
    [false, 'not of a viewer that received nothing', { [RECEIVED]: constant(0), [SHOWN]: constant(0) }],
    [false, 'not of a session that nobody watched', { [RECEIVED]: [], [SHOWN]: [] }],
  ])('%s: %s', (has, _what, values) => {
    expect(reportOf(values) !== undefined).toBe(has);
  });
});

describe('the time played', () => {
  const startedAtMs = FROM_MS - MINUTE_MS;
  test.each([
    ['to its end', { startedAtMs, endedAtMs: FROM_MS + MINUTE_MS }, 2 * MINUTE_MS],
    ['to the end of the window, while it goes on', { startedAtMs, endedAtMs: null }, 6 * MINUTE_MS],
    ['never negative', { startedAtMs, endedAtMs: startedAtMs - 1 }, 0],
    ['unknown where it never ran', { startedAtMs: null, endedAtMs: FROM_MS }, null],
  ])('%s', (_what, over, played) => {
    expect(reportOf({}, over)?.played_ms).toBe(played);
  });
});

describe('smooth seconds', () => {
  test.each<[what: string, values: WindowValues, seconds: number, share: number | null]>([
    ['all', {}, 20, 1],
    ['a deviation just under the limit', { [SIGMA]: constant(17.99) }, 20, 1],
    ['a deviation at the limit', { [SIGMA]: [18, ...constant(2, 19)] }, 20, 0.95],
    ['too few frames for a deviation', { [SIGMA]: constant(2, 19) }, 20, 0.95],
    ['a hidden second does not count', { [IS_HIDDEN]: [1, ...constant(0, 19)] }, 19, 1],
    ['a page that does not say whether it is hidden', { [IS_HIDDEN]: [] }, 20, 1],
    ['a browser that does not report shown frames', { [SHOWN]: [], [SIGMA]: [] }, 0, null],
  ])('%s', (_what, values, seconds, share) => {
    expect(reportOf(values)).toMatchObject({ seconds, smooth_fraction: share });
  });

  test('the first 20 s of the session do not count', () => {
    const report = reportOf({}, { startedAtMs: FROM_MS - 15_000 });
    expect(report).toMatchObject({ seconds: 15, smooth_fraction: 1 });
  });
});

describe('click to photon', () => {
  test.each<[what: string, values: WindowValues, clicks: number, median: number | null]>([
    ['no click', {}, 0, null],
    ['one', { [CLICK_MS]: [48], [CLICKS]: [1] }, 1, 48],
    ['the median over clicks, not over seconds', { [CLICK_MS]: [90, 40, 80], [CLICKS]: [1, 5, 1] }, 7, 40],
    ['the lower one of two', { [CLICK_MS]: [90, 40], [CLICKS]: [1, 1] }, 2, 40],
    ['an impossible count', { [CLICK_MS]: [90, 40], [CLICKS]: [1e308, 1.5] }, 101, 90],
    ['without counts each second is one', { [CLICK_MS]: [90, 40, 80], [CLICKS]: [] }, 3, 80],
  ])('%s', (_what, values, clicks, median) => {
    expect(reportOf(values)).toMatchObject({ clicks, click_to_photon_ms: median });
  });
});

test('any facts give a report that the schema accepts, and the same one twice', () => {
  const values = fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { maxLength: 30 });
  const series = fc.record(
    {
      [RECEIVED]: values,
      [SHOWN]: values,
      [SIGMA]: values,
      [IS_HIDDEN]: values,
      [CLICK_MS]: values,
      [CLICKS]: values,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      series,
      fc.option(fc.integer({ min: FROM_MS - 1e7, max: FROM_MS + 1e7 })),
      (some, endedAtMs) => {
        const facts = factsWith(some as WindowValues, { endedAtMs });
        const answer = decideVerdict(facts);
        expect(sessionVerdict.safeParse(answer).success).toBe(true);
        expect(JSON.stringify(decideVerdict(facts))).toBe(JSON.stringify(answer));
        const share = answer.report?.smooth_fraction ?? null;
        if (share !== null) expect(share >= 0 && share <= 1).toBe(true);
      },
    ),
  );
});
