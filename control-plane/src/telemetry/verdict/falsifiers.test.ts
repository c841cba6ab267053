import { type Estimator, type Falsifier, sessionVerdict } from '@footlight/protocol/rest';
import { AGENT_SERIES, CLIENT_SERIES, NETWORK_PATHS } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SeriesName, VerdictFacts } from './evidence.ts';
import {
  BEAT,
  CLIENT,
  congested,
  constant,
  ENCODE,
  ENCODER,
  FPS,
  FROM_MS,
  factsWith,
  HIDDEN,
  hidden,
  IS_HIDDEN,
  LONG,
  LOST,
  NETWORK,
  pointsOf,
  RTT,
  SIGMA,
  saturated,
  traceEvent,
  uneven,
  type WindowValues,
} from './testing/window-facts.ts';
import { decideVerdict } from './verdict.ts';

/** The conditions of each verdict (docs/troubleshooting.md, "Verdicts"), with the numbers for 60 fps. */
type Row = readonly [
  name: SeriesName,
  estimator: Estimator,
  op: Falsifier['op'],
  at60: number,
  unit: Falsifier['unit'],
  scale?: 'time' | 'rate',
];
const LOST_OVER: Row = [LOST, 'delta', '>', 5, 'count'];
const LOST_FEW: Row = [LOST, 'delta', '<=', 5, 'count'];
const RTT_LONG: Row = [RTT, 'p95', '>', 50, 'ms'];
const RTT_SHORT: Row = [RTT, 'p95', '<=', 50, 'ms'];
const ENCODE_FAST: Row = [ENCODE, 'p95', '<', 16, 'ms', 'time'];
const FPS_STEADY: Row = [FPS, 'p10', '>=', 50, 'fps', 'rate'];
const NOT_HIDDEN: Row = [IS_HIDDEN, 'any', '==', 0, 'bool'];
const EVEN: readonly Row[] = [
  [LONG, 'max', '==', 0, 'count'],
  [BEAT, 'max', '<=', 1, 'fraction'],
];
const LISTED: Record<string, readonly Row[]> = {
  [NETWORK]: [LOST_OVER, RTT_LONG, ENCODE_FAST, NOT_HIDDEN],
  [ENCODER]: [
    [ENCODE, 'p95', '>=', 16, 'ms', 'time'],
    [FPS, 'p10', '<', 50, 'fps', 'rate'],
    LOST_FEW,
    RTT_SHORT,
  ],
  [CLIENT]: [
    [SIGMA, 'max', '>=', 18, 'ms', 'time'],
    [SIGMA, 'count_ge_threshold', '>=', 2, 'count'],
    FPS_STEADY,
    LOST_FEW,
    RTT_SHORT,
    NOT_HIDDEN,
    ...EVEN,
  ],
  [HIDDEN]: [
    [IS_HIDDEN, 'any', '==', 1, 'bool'],
    [SIGMA, 'max', '<', 18, 'ms', 'time'],
    FPS_STEADY,
    LOST_FEW,
    RTT_SHORT,
  ],
  nominal: [
    FPS_STEADY,
    ENCODE_FAST,
    LOST_FEW,
    RTT_SHORT,
    [SIGMA, 'count_ge_threshold', '<', 2, 'count'],
    [SIGMA, 'max', '>=', 0, 'ms'],
    NOT_HIDDEN,
    ...EVEN,
  ],
  unknown: [],
};
/** Indexes of the conditions that the rule itself tests. */
const TESTED: Record<string, readonly number[]> = {
  [NETWORK]: [0, 1],
  [ENCODER]: [0, 1],
  [CLIENT]: [0, 1, 2, 5],
  [HIDDEN]: [0],
  nominal: [],
  unknown: [],
};
const NOT_ASSESSABLE = 'not assessable while hidden';

function boundAt([, , , at60, , scale]: Row, fps: number): number {
  if (scale === undefined) return at60;
  return scale === 'time' ? (at60 * 60) / fps : (at60 * fps) / 60;
}
const COMPARE: Record<Falsifier['op'], (a: number, b: number) => boolean> = {
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '==': (a, b) => a === b,
};

describe('the conditions of a verdict', () => {
  const rows = Object.entries({
    [NETWORK]: congested,
    [ENCODER]: saturated,
    [CLIENT]: uneven,
    [HIDDEN]: hidden,
    nominal: {},
  });

  test.each(rows)('%s: exactly these conditions', (verdict, values) => {
    const { falsifiers } = decideVerdict(factsWith(values));
    expect(falsifiers.map((f) => [f.name, f.estimator, f.op, f.threshold, f.unit])).toEqual(
      LISTED[verdict]?.map((row) => [row[0], row[1], row[2], boundAt(row, 60), row[4]]),
    );
  });

  test.each(rows)('%s: all hold in the plain case, except what a hidden page cannot show', (_, values) => {
    const failing = decideVerdict(factsWith(values)).falsifiers.filter(({ holds }) => !holds);
    expect(failing.map(({ note }) => note)).toEqual(values === hidden ? [NOT_ASSESSABLE] : []);
  });

  test('without samples the value is null and nothing holds', () => {
    const { falsifiers } = decideVerdict(
      factsWith({
        [ENCODE]: [],
        [LOST]: [7],
        [RTT]: [],
        [SIGMA]: [],
        [IS_HIDDEN]: [],
        [LONG]: [],
        [BEAT]: [],
      }),
    );
    expect(falsifiers.slice(1)).toHaveLength(8);
    for (const each of falsifiers.slice(1))
      expect(each).toMatchObject({ value: null, n: 0, holds: false, note: 'no samples' });
  });

  test('the deviation of a quiet session is only shown', () => {
    const { falsifiers } = decideVerdict(factsWith({}));
    expect(falsifiers[5]).toEqual({
      name: SIGMA,
      estimator: 'max',
      value: 2,
      op: '>=',
      threshold: 0,
      unit: 'ms',
      n: 20,
      holds: true,
      note: 'informative',
    });
    expect(falsifiers.filter(({ note }) => note !== undefined)).toHaveLength(1);
  });

  test('a hidden page: its deviation never holds, measured or not', () => {
    for (const sigma of [[], constant(2)]) {
      const { falsifiers } = decideVerdict(factsWith({ ...hidden, [SIGMA]: sigma }));
      expect(falsifiers[1]).toMatchObject({ op: '<', threshold: 18, holds: false, note: NOT_ASSESSABLE });
    }
  });
});

describe('what decided', () => {
  test.each<[verdict: string, evidence: string[], values: WindowValues]>([
    [NETWORK, [LOST, RTT], congested],
    [ENCODER, [ENCODE, FPS], saturated],
    [CLIENT, [SIGMA, FPS, IS_HIDDEN], uneven],
    [HIDDEN, [IS_HIDDEN], hidden],
    ['nominal', [LOST, RTT, ENCODE, FPS, SIGMA, IS_HIDDEN], {}],
    ['nominal', [LOST, ENCODE, FPS, SIGMA], { [RTT]: [], [IS_HIDDEN]: [] }],
  ])('%s: %j', (verdict, evidence, values) => {
    expect(decideVerdict(factsWith(values))).toMatchObject({ verdict, evidence });
  });

  test('by sample and by event', () => {
    const events = [
      traceEvent('browser', 'client.visibility_changed', { hidden: true }),
      traceEvent('browser', 'client.visibility_changed', { hidden: true }, FROM_MS + 2_000),
    ];
    expect(decideVerdict(factsWith(hidden, { events })).evidence).toEqual([
      IS_HIDDEN,
      'client.visibility_changed',
    ]);
  });
});

describe('the reason is one sentence', () => {
  test.each<[reason: string, values: WindowValues]>([
    ['The network lost 6 packets while the round trip took up to 51 ms.', congested],
    [
      'The encoder took up to 16.7 ms for a frame, and the host fell to 49 fps.',
      { ...saturated, [ENCODE]: constant(16.66) },
    ],
    ['The host kept 60 fps, but 2 samples of the viewer show uneven frames.', uneven],
    ['The page was hidden in this time, so how it showed the picture cannot be judged.', hidden],
    ['No rule found a limit in this time.', {}],
  ])('%s', (reason, values) => {
    expect(decideVerdict(factsWith(values)).reason).toBe(reason);
  });

  const quiet = 'No rule found a limit in this time';
  test.each([
    ['encoder.stall', { phase: 'detected' }, '; the encoder stalled'],
    ['encoder.stall', {}, '; the encoder stalled'],
    ['encoder.stall', { phase: 'recovered' }, ''],
    ['sdp.answer_applied', { rejected_count: 1 }, '; the viewer rejected a part of the offer'],
    ['sdp.answer_applied', { rejected_count: 0 }, ''],
    ['sdp.answer_applied', {}, ''],
    ['host.xid', { code: 79, text: 'fell off the bus' }, '; the GPU driver reported an Xid error'],
    ['host.gpu_fault', { vendor: 'amd' }, '; the GPU reported a fault'],
    ['abr.retarget', {}, ''],
  ])('%s %j: "%s"', (type, payload, clause) => {
    const events = [traceEvent('agent', type, payload)];
    const answer = decideVerdict(factsWith({}, { events }));
    expect(answer.reason).toBe(`${quiet}${clause}.`);
    expect(answer.evidence.includes(type)).toBe(clause !== '');
    expect(answer.verdict).toBe('nominal');
  });

  test('one clause for each kind, with its number, in a fixed order, also without a verdict', () => {
    const stall = (afterMs: number) =>
      traceEvent('agent', 'encoder.stall', { phase: 'detected' }, FROM_MS + afterMs);
    const events = [traceEvent('agent', 'host.xid', { code: 79 }), stall(0), stall(1), stall(300_000)];
    const outside = [stall(-1), stall(300_001), traceEvent('browser', 'host.gpu_fault', {})];
    const answer = decideVerdict(factsWith({}, { events: [...events, ...outside] }));
    expect(answer.reason).toBe(
      `${quiet}; the encoder stalled 3 times; the GPU driver reported an Xid error.`,
    );
    expect(answer.evidence.slice(-2)).toEqual(['encoder.stall', 'host.xid']);
    const unknown = decideVerdict({ ...factsWith({}), series: {}, events });
    expect(unknown.reason).toMatch(/^There are too few samples .*; the encoder stalled 3 times; .*\.$/);
    expect(unknown.evidence).toEqual(['encoder.stall', 'host.xid']);
  });
});

describe('any series and events', () => {
  const SPAN_MS = 300_000;
  /** Values around the limits of a series, and sometimes any other value. */
  const around: Partial<Record<SeriesName, readonly number[]>> = {
    [LOST]: [0, 1, 3, 5, 6],
    [RTT]: [20, 50, 51, 90],
    [ENCODE]: [4, 8, 16, 32, 33],
    [FPS]: [24, 25, 49, 50, 60, 120],
    [SIGMA]: [2, 9, 17.9, 18, 36],
    [IS_HIDDEN]: [0],
    [LONG]: [0, 0, 3],
    [BEAT]: [0, 1],
  };
  const someValue = (name: SeriesName) =>
    fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom(...(around[name] ?? [0, 1])) },
      { weight: 1, arbitrary: fc.double({ min: -1e9, max: 1e9, noNaN: true }) },
    );
  const series = (name: SeriesName) =>
    fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      // Constant figures, so that percentiles are on both sides of their limits.
      {
        weight: 3,
        arbitrary: fc.tuple(someValue(name), fc.integer({ min: 0, max: 30 })).map(([v, n]) => constant(v, n)),
      },
      { weight: 3, arbitrary: fc.array(someValue(name), { maxLength: 30 }) },
    );
  const names = [...Object.keys(AGENT_SERIES), ...Object.keys(CLIENT_SERIES)] as SeriesName[];
  /** Values that replace parts of the random ones, so that every verdict occurs often. */
  const scenes: readonly WindowValues[] = [
    {},
    {},
    congested,
    saturated,
    { [LOST]: [], [ENCODE]: [], [FPS]: constant(120), [SIGMA]: constant(90, 40), [IS_HIDDEN]: constant(0) },
    { [LOST]: [], [ENCODE]: [], ...hidden },
    Object.fromEntries(names.map((name) => [name, constant(1, 2)])),
  ];
  const judged = [LOST, RTT, ENCODE, FPS, SIGMA, IS_HIDDEN, LONG, BEAT] as const;
  const facts: fc.Arbitrary<VerdictFacts> = fc
    .record({
      values: fc.record(Object.fromEntries(names.map((name) => [name, series(name)])), {
        requiredKeys: [...judged],
      }),
      path: fc.constantFrom(null, ...NETWORK_PATHS),
      fps: fc.constantFrom(24, 30, 60, 60, 60, 120, 144),
      startedAtMs: fc.option(fc.integer({ min: FROM_MS - 60_000, max: FROM_MS + SPAN_MS })),
      endedAtMs: fc.option(fc.integer({ min: FROM_MS - 60_000, max: FROM_MS + SPAN_MS })),
      clock: fc.option(
        fc.record({
          offsetMs: fc.double({ min: -1e4, max: 1e4, noNaN: true }),
          uncertaintyMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
          measuredAtMs: fc.integer({ min: FROM_MS - SPAN_MS, max: FROM_MS + 2 * SPAN_MS }),
        }),
      ),
      events: fc.array(
        fc.record({
          source: fc.constantFrom('agent' as const, 'browser' as const),
          ts_unix_ms: fc.integer({ min: FROM_MS - 1_000, max: FROM_MS + SPAN_MS + 1_000 }),
          type: fc.constantFrom(
            'encoder.stall',
            'sdp.answer_applied',
            'host.xid',
            'client.visibility_changed',
          ),
          payload: fc.oneof(
            fc.constantFrom<Record<string, unknown>>(
              { hidden: true },
              { hidden: false },
              { phase: 'recovered' },
            ),
            fc.dictionary(fc.string(), fc.jsonValue()),
          ),
        }),
        { maxLength: 4 },
      ),
      shiftMs: fc.integer({ min: -20_000, max: 20_000 }),
      scene: fc.constantFrom(...scenes),
    })
    .map(({ values, scene, shiftMs, ...rest }) => ({
      ...rest,
      window: { from_ms: FROM_MS, to_ms: FROM_MS + SPAN_MS },
      series: Object.fromEntries(
        Object.entries({ ...values, ...scene }).map(([name, list]) => [
          name,
          pointsOf(name as SeriesName, (list ?? []) as number[], FROM_MS + shiftMs),
        ]),
      ),
    }));

  /** The values that count, computed in another way than in the code under test. */
  function counted({ series: all, window, startedAtMs, events }: VerdictFacts, name: SeriesName): number[] {
    const warms = name === FPS || name === SIGMA;
    const values = (all[name] ?? [])
      .filter(({ ts_unix_ms: ts }) => ts >= window.from_ms && ts <= window.to_ms)
      .filter(({ ts_unix_ms: ts }) => !warms || startedAtMs === null || ts - startedAtMs >= 20_000)
      .map(({ v }) => v);
    const hides = events.filter(
      ({ source, type, payload, ts_unix_ms: ts }) =>
        source === 'browser' &&
        type === 'client.visibility_changed' &&
        payload.hidden === true &&
        ts >= window.from_ms &&
        ts <= window.to_ms,
    );
    return name === IS_HIDDEN ? [...values, ...hides.map(() => 1)] : values;
  }
  function measured(given: VerdictFacts, [name, estimator]: Row): number | null {
    const values = counted(given, name);
    if (values.length < (estimator === 'delta' ? 2 : 1)) return null;
    const sorted = [...values].sort((a, b) => a - b);
    const at = (share: number) => {
      const place = share * (sorted.length - 1);
      const low = sorted[Math.floor(place)] as number;
      return low + ((sorted[Math.ceil(place)] as number) - low) * (place % 1);
    };
    if (estimator === 'p10') return at(0.1);
    if (estimator === 'p95') return at(0.95);
    if (estimator === 'max') return sorted.at(-1) as number;
    if (estimator === 'any') return sorted.some((v) => v !== 0) ? 1 : 0;
    if (estimator === 'delta') {
      let rises = 0;
      for (let n = 1; n < values.length; n += 1)
        rises += Math.max(0, (values[n] as number) - (values[n - 1] as number));
      return rises;
    }
    return values.filter((v) => v >= 1_080 / given.fps).length;
  }

  test('give one verdict whose own conditions hold, with the values and limits of all others', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(facts, (given) => {
        const answer = decideVerdict(given);
        seen.add(answer.verdict);
        expect(sessionVerdict.parse(answer)).toEqual(answer);
        const listed = LISTED[answer.verdict] as readonly Row[];
        expect(answer.falsifiers.map(({ name, estimator }) => [name, estimator])).toEqual(
          listed.map(([name, estimator]) => [name, estimator]),
        );
        answer.falsifiers.forEach((each, place) => {
          const row = listed[place] as Row;
          expect([each.op, each.unit]).toEqual([row[2], row[4]]);
          expect(each.threshold).toBeCloseTo(boundAt(row, given.fps), 9);
          const value = measured(given, row);
          if (value === null) expect(each).toMatchObject({ value: null, n: 0, holds: false });
          else {
            expect(each.value).toBeCloseTo(value, 6);
            expect(each.n).toBe(counted(given, row[0]).length);
            const holds =
              each.note !== NOT_ASSESSABLE && COMPARE[each.op](each.value ?? Number.NaN, each.threshold);
            expect(each.holds).toBe(holds);
          }
          if (TESTED[answer.verdict]?.includes(place)) expect(each.holds).toBe(true);
        });
      }),
      { numRuns: 1_000 },
    );
    expect([...seen].sort()).toEqual(Object.keys(LISTED).sort());
  });

  test('no earlier rule matches, and the same facts give the same answer, byte for byte', () => {
    const matches = (given: VerdictFacts, verdict: string) =>
      TESTED[verdict]?.every((place) => {
        const row = LISTED[verdict]?.[place] as Row;
        const value = measured(given, row);
        return value !== null && COMPARE[row[2]](value, boundAt(row, given.fps));
      });
    fc.assert(
      fc.property(facts, (given) => {
        const { verdict, evidence_tier } = decideVerdict(given);
        expect(JSON.stringify(decideVerdict(structuredClone(given)))).toBe(
          JSON.stringify(decideVerdict(given)),
        );
        expect(verdict === 'unknown').toBe(evidence_tier === 'insufficient');
        if (verdict === 'unknown') return;
        // The rule for the client has an additional test: with a compared clock it may show that the host was also
        // slow.
        const earlier = [NETWORK, ENCODER, ...(given.clock === null ? [CLIENT] : []), HIDDEN];
        const before = earlier.indexOf(verdict) === -1 ? earlier : earlier.slice(0, earlier.indexOf(verdict));
        const passed = verdict === CLIENT ? [NETWORK, ENCODER] : before;
        expect(passed.filter((each) => matches(given, each))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
