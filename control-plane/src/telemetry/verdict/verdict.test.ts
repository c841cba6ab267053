import { type Estimator, type Falsifier, sessionVerdict } from '@footlight/protocol/rest';
import { AGENT_SERIES, CLIENT_SERIES } from '@footlight/protocol/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Point, SeriesName, VerdictFacts } from './evidence.ts';
import {
  constant,
  FROM_MS,
  factsWith,
  pointsOf,
  traceEvent,
  type WindowValues,
} from './testing/window-facts.ts';
import { decideVerdict } from './verdict.ts';

const NETWORK = 'likely_network_congestion';
const ENCODER = 'likely_encoder_saturation';
const CLIENT = 'likely_client_presentation_limit';
const HIDDEN = 'indeterminate_client_hidden';

const LOST = 'transport.packets_lost';
const RTT = 'transport.rtt_ms';
const ENCODE = 'encoder.encode_ms_p95';
const FPS = 'encoder.fps';
const SIGMA = 'client.present_interval_sd_ms';
const IS_HIDDEN = 'client.is_hidden';
const LONG = 'client.present_long_frames';
const BEAT = 'client.present_beat_fraction';

/** Each brings about its verdict by itself. */
const congested: WindowValues = { [LOST]: [0, 6], [RTT]: constant(51) };
const saturated: WindowValues = { [ENCODE]: constant(16), [FPS]: constant(49) };
const uneven: WindowValues = { [SIGMA]: constant(18, 2) };
const hidden: WindowValues = { [IS_HIDDEN]: [0, 0, 1] };

const verdictOf = (values: WindowValues, over: Partial<VerdictFacts> = {}) =>
  decideVerdict(factsWith(values, over)).verdict;

describe('each rule at its limits, at 60 fps', () => {
  test.each<[verdict: string, what: string, values: WindowValues]>([
    ['nominal', 'a quiet session', {}],

    ['nominal', '5 lost packets', { ...congested, [LOST]: [0, 5] }],
    [NETWORK, '6 lost packets', { ...congested, [LOST]: [0, 6] }],
    [NETWORK, '6 lost packets over a reconnect', { ...congested, [LOST]: [90, 93, 0, 3] }],
    ['nominal', 'one count of lost packets', { ...congested, [LOST]: [600] }],
    ['nominal', 'no count of lost packets', { ...congested, [LOST]: [] }],
    ['nominal', 'a round trip of 49.99 ms', { ...congested, [RTT]: constant(49.99) }],
    ['nominal', 'a round trip of 50 ms', { ...congested, [RTT]: constant(50) }],
    [NETWORK, 'a round trip of 50.01 ms', { ...congested, [RTT]: constant(50.01) }],
    ['nominal', 'no round trip', { ...congested, [RTT]: [] }],

    ['nominal', 'an encoder of 15.99 ms', { ...saturated, [ENCODE]: constant(15.99) }],
    [ENCODER, 'an encoder of 16 ms', { ...saturated, [ENCODE]: constant(16) }],
    [ENCODER, 'an encoder of 16.01 ms', { ...saturated, [ENCODE]: constant(16.01) }],
    ['nominal', 'no encode time', { ...saturated, [ENCODE]: [] }],
    [ENCODER, 'a host of 49.99 fps', { ...saturated, [FPS]: constant(49.99) }],
    ['nominal', 'a host of 50 fps', { ...saturated, [FPS]: constant(50) }],
    ['nominal', 'a host of 50.01 fps', { ...saturated, [FPS]: constant(50.01) }],
    ['nominal', 'no rate of the host: neither steady nor not', { ...saturated, [FPS]: [] }],

    ['nominal', 'a deviation of 17.99 ms', { [SIGMA]: constant(17.99) }],
    [CLIENT, 'a deviation of 18 ms', { [SIGMA]: constant(18) }],
    [CLIENT, 'a deviation of 18.01 ms', { [SIGMA]: constant(18.01) }],
    ['nominal', 'one hitch', { [SIGMA]: [2, 90, 2] }],
    [CLIENT, 'two hitches', { [SIGMA]: [90, 2, 90] }],
    [CLIENT, 'three hitches', { [SIGMA]: [90, 90, 90] }],
    ['nominal', 'hitches and a host of 49.99 fps', { ...uneven, [FPS]: constant(49.99) }],
    [CLIENT, 'hitches and a host of 50 fps', { ...uneven, [FPS]: constant(50) }],
    ['nominal', 'hitches and no rate of the host', { ...uneven, [FPS]: [] }],
    ['nominal', 'hitches of a page that does not say whether it is hidden', { ...uneven, [IS_HIDDEN]: [] }],

    [HIDDEN, 'one hidden second', hidden],
    [HIDDEN, 'hitches of a hidden page', { ...uneven, ...hidden }],
    ['nominal', 'nothing said about hiding', { [IS_HIDDEN]: [] }],
  ])('%s: %s', (verdict, _what, values) => {
    expect(verdictOf(values)).toBe(verdict);
  });

  test.each([
    [NETWORK, { ...congested, ...saturated, ...uneven, ...hidden }],
    [ENCODER, { ...saturated, ...uneven, ...hidden }],
    [HIDDEN, { ...uneven, ...hidden }],
    [CLIENT, uneven],
  ])('the first match is the verdict: %s', (verdict, values) => {
    expect(verdictOf(values)).toBe(verdict);
  });
});

describe('limits follow the frame rate of the session', () => {
  test.each([
    [30, 36, 32, 25],
    [60, 18, 16, 50],
    [120, 9, 8, 100],
    [144, 7.5, 1_000 / 150, 120],
  ])('%i fps: hitches from %f ms, encoder from %f ms, steady from %f fps', (fps, sigma, encode, steady) => {
    const below = (value: number) => value * 0.999;
    const steadyHost = { [FPS]: constant(steady) };
    expect(verdictOf({ ...steadyHost, [SIGMA]: constant(sigma) }, { fps })).toBe(CLIENT);
    expect(verdictOf({ ...steadyHost, [SIGMA]: constant(below(sigma)) }, { fps })).toBe('nominal');
    expect(verdictOf({ [FPS]: constant(below(steady)), [SIGMA]: constant(sigma) }, { fps })).toBe('nominal');
    const slow = { [FPS]: constant(below(steady)) };
    expect(verdictOf({ ...slow, [ENCODE]: constant(encode) }, { fps })).toBe(ENCODER);
    expect(verdictOf({ ...slow, [ENCODE]: constant(below(encode)) }, { fps })).toBe('nominal');
    expect(verdictOf({ ...steadyHost, [ENCODE]: constant(encode) }, { fps })).toBe('nominal');
  });

  test('lost packets, round trip and the number of hitches do not', () => {
    expect(verdictOf(congested, { fps: 30 })).toBe(NETWORK);
    expect(verdictOf({ ...congested, [LOST]: [0, 5] }, { fps: 30 })).toBe('nominal');
    expect(verdictOf({ ...congested, [RTT]: constant(50) }, { fps: 30 })).toBe('nominal');
    expect(verdictOf({ [SIGMA]: [90, 2] }, { fps: 30 })).toBe('nominal');
  });
});

describe('a hitch at the time of a slow sample of the host is not the fault of the viewer', () => {
  /** One slow sample of twenty leaves the 10th percentile steady. */
  const slowAtMs = FROM_MS + 50_000;
  const dip = constant(60).map((v, n) => (n === 10 ? 49.99 : v));
  const hitchesAt = (distanceMs: number, over: Partial<VerdictFacts> = {}, rates = dip) => {
    const facts = factsWith({ [FPS]: rates }, over);
    const hitches: Point[] = [
      { ts_unix_ms: FROM_MS + 30_000, v: 18 },
      { ts_unix_ms: slowAtMs + distanceMs, v: 18 },
    ];
    return decideVerdict({ ...facts, series: { ...facts.series, [SIGMA]: hitches } }).verdict;
  };
  const clock = (uncertaintyMs: number) => ({
    clock: { offsetMs: 0, uncertaintyMs, measuredAtMs: FROM_MS },
  });

  test.each([
    ['nominal', 0, 4],
    ['nominal', 999, 4],
    ['nominal', 1_000, 4],
    ['nominal', -1_000, 4],
    [CLIENT, 1_001, 4],
    [CLIENT, -1_001, 4],
    ['nominal', 1_500, 1_500],
    [CLIENT, 1_501, 1_500],
  ])('%s: %i ms away with an uncertainty of %i ms', (verdict, distanceMs, uncertaintyMs) => {
    expect(hitchesAt(distanceMs, clock(uncertaintyMs))).toBe(verdict);
  });

  test('a sample of 50 fps is not slow', () => {
    const rates = dip.map((v) => Math.max(v, 50));
    expect(hitchesAt(0, {}, rates)).toBe(CLIENT);
  });

  test('a sample of the viewer that is no hitch does not count', () => {
    const facts = factsWith({ [FPS]: dip });
    const samples = [
      { ts_unix_ms: FROM_MS + 30_000, v: 18 },
      { ts_unix_ms: FROM_MS + 31_000, v: 18 },
      { ts_unix_ms: slowAtMs, v: 17.99 },
    ];
    expect(decideVerdict({ ...facts, series: { ...facts.series, [SIGMA]: samples } }).verdict).toBe(CLIENT);
  });

  test('clocks that were never compared cannot tell', () => {
    expect(hitchesAt(0, { clock: null })).toBe(CLIENT);
  });
});

describe('a page that says by an event that it was hidden', () => {
  const told = (payload: Record<string, unknown>, ts?: number) => ({
    events: [traceEvent('browser', 'client.visibility_changed', payload, ts)],
  });

  test('counts like a hidden sample', () => {
    const answer = decideVerdict(factsWith({ [IS_HIDDEN]: [] }, told({ hidden: true })));
    expect(answer.verdict).toBe(HIDDEN);
    expect(answer.evidence).toEqual(['client.visibility_changed']);
    expect(answer.falsifiers[0]).toMatchObject({ name: IS_HIDDEN, value: 1, n: 1, holds: true });
    expect(verdictOf(uneven, told({ hidden: true }))).toBe(HIDDEN);
  });

  test.each([{ hidden: false }, { hidden: 'yes' }, {}])('%j does not', (payload) => {
    expect(verdictOf({}, told(payload))).toBe('nominal');
  });

  test('becoming visible is no proof that it was never hidden', () => {
    expect(verdictOf({ ...uneven, [IS_HIDDEN]: [] }, told({ hidden: false }))).toBe('nominal');
  });

  test('an event of the host under this name does not count', () => {
    const events = [traceEvent('agent', 'client.visibility_changed', { hidden: true })];
    expect(verdictOf({}, { events })).toBe('nominal');
  });

  test.each([
    ['nominal', -1],
    [HIDDEN, 0],
    [HIDDEN, 300_000],
    ['nominal', 300_001],
  ])('%s: %i ms after the start of the window', (verdict, afterMs) => {
    expect(verdictOf({}, told({ hidden: true }, FROM_MS + afterMs))).toBe(verdict);
  });
});

describe('the window and the warm-up', () => {
  const seriesAt = (name: SeriesName, values: WindowValues, times: readonly number[], over = {}) => {
    const facts = factsWith(values, over);
    const points = times.map((afterMs) => ({ ts_unix_ms: FROM_MS + afterMs, v: 90 }));
    return decideVerdict({ ...facts, series: { ...facts.series, [name]: points } });
  };

  test.each([
    ['nominal', [-1, 1_000]],
    [CLIENT, [0, 1_000]],
    [CLIENT, [1_000, 300_000]],
    ['nominal', [1_000, 300_001]],
  ])('%s: hitches %j ms after the start of the window', (verdict, times) => {
    expect(seriesAt(SIGMA, {}, times).verdict).toBe(verdict);
  });

  test.each([
    ['nominal', [19_999, 30_000]],
    [CLIENT, [20_000, 30_000]],
  ])('%s: hitches %j ms after the start of the session', (verdict, times) => {
    // Those before its start do not count either.
    const started = { startedAtMs: FROM_MS };
    expect(seriesAt(SIGMA, { [FPS]: constant(60) }, [...times], started).verdict).toBe(verdict);
    expect(seriesAt(SIGMA, {}, [-5_000, ...times], { startedAtMs: FROM_MS }).verdict).toBe(verdict);
  });

  test('the rate of the host has a warm-up too, and its encode time has none', () => {
    const started = { startedAtMs: FROM_MS };
    // One sample every 5 s: four of them before 20 s.
    const slow = [...constant(10, 4), ...constant(60, 16)];
    expect(verdictOf({ ...uneven, [SIGMA]: constant(18, 40), [FPS]: slow }, started)).toBe(CLIENT);
    const answer = decideVerdict(factsWith({ [ENCODE]: constant(16), [FPS]: slow }, started));
    expect(answer.window.n_host).toBe(16);
    expect(answer.falsifiers.find(({ name }) => name === ENCODE)).toMatchObject({ n: 20 });
    expect(answer.falsifiers.find(({ name }) => name === LOST)).toMatchObject({ n: 20 });
  });

  test.each([
    [null, 0],
    [-60_000, 0],
    [-20_000, 0],
    [-19_999, 1],
    [-5_000, 15_000],
    [0, 20_000],
    [10_000, 20_000],
    [290_000, 10_000],
    [300_000, 0],
    [400_000, 0],
  ])('a session that began %j ms after the start of the window: %i ms of warm-up', (after, excluded) => {
    const startedAtMs = after === null ? null : FROM_MS + after;
    expect(decideVerdict(factsWith({}, { startedAtMs })).window.warmup_excluded_ms).toBe(excluded);
  });

  test('a session that never ran has no warm-up', () => {
    expect(verdictOf(uneven, { startedAtMs: null })).toBe(CLIENT);
  });

  test('samples of viewers are counted once, whatever they hold, and the agent has none of them', () => {
    const values: WindowValues = {
      [FPS]: constant(60, 7),
      'transport.gcc_estimate_kbps': constant(9_000, 90),
      'client.fps': constant(60, 12),
      [LOST]: constant(0, 9),
      [RTT]: [],
      [SIGMA]: [],
      [IS_HIDDEN]: [],
      [LONG]: [],
      [BEAT]: [],
    };
    const { window } = decideVerdict(factsWith(values));
    expect(window).toEqual({
      from_ms: FROM_MS,
      to_ms: FROM_MS + 300_000,
      n_host: 7,
      n_client: 12,
      warmup_excluded_ms: 0,
    });
  });
});

describe('the tier of the evidence', () => {
  const viewer = (count: number): WindowValues => ({
    [RTT]: constant(20, count),
    [LOST]: constant(0, count),
    [SIGMA]: [],
    [IS_HIDDEN]: [],
    [LONG]: [],
    [BEAT]: [],
  });

  test.each([
    [3, 3, true, 'full'],
    [3, 3, false, 'host_only'],
    [3, 2, true, 'host_only'],
    [3, 0, false, 'host_only'],
    [2, 3, true, 'client_only'],
    [0, 3, false, 'client_only'],
    [2, 2, true, 'insufficient'],
    [0, 0, false, 'insufficient'],
  ])('%i samples of the host, %i of the viewer, clock measured %s: %s', (host, client, measured, tier) => {
    const facts = factsWith(
      { ...viewer(client), [FPS]: constant(60, host) },
      measured ? {} : { clock: null },
    );
    const answer = decideVerdict(facts);
    expect(answer.evidence_tier).toBe(tier);
    expect(answer.verdict).toBe(tier === 'insufficient' ? 'unknown' : 'nominal');
    expect(answer.falsifiers.length === 0).toBe(tier === 'insufficient');
  });

  test('too few samples are unknown, however bad they are', () => {
    const answer = decideVerdict(
      factsWith({ ...viewer(2), [LOST]: [0, 900], [RTT]: [900, 900], [FPS]: [1, 1], [ENCODE]: [90, 90] }),
    );
    expect(answer).toMatchObject({ verdict: 'unknown', evidence: [], falsifiers: [] });
    expect(answer.reason).toBe('There are too few samples to judge: 2 of the host and 2 of the viewer.');
  });

  test('the viewer alone can show congestion, and the host alone saturation', () => {
    expect(verdictOf({ ...congested, [FPS]: [], [ENCODE]: [] })).toBe(NETWORK);
    expect(verdictOf({ ...saturated, ...viewer(0) })).toBe(ENCODER);
  });
});

describe('the clock', () => {
  test.each([
    [0, 300_000],
    [299_999, 1],
    [300_000, 0],
    [400_000, 0],
  ])('measured %i ms after the start of the window: age %i ms', (afterMs, ageMs) => {
    const clock = { offsetMs: -35.25, uncertaintyMs: 4.5, measuredAtMs: FROM_MS + afterMs };
    expect(decideVerdict(factsWith({}, { clock })).clock).toEqual({
      quality: 'measured',
      offset_ms: -35.25,
      uncertainty_ms: 4.5,
      applied: true,
      age_ms: ageMs,
    });
  });

  test('unmeasured', () => {
    expect(decideVerdict(factsWith({}, { clock: null })).clock).toEqual({
      quality: 'unmeasured',
      applied: false,
    });
  });
});

/** The conditions of each verdict as the contract lists them, with its numbers for 60 fps. */
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
/** How many of the conditions the rule itself tests, by their place in the list. */
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

  test.each(rows)('%s: exactly those of the contract', (verdict, values) => {
    const { falsifiers } = decideVerdict(factsWith(values));
    expect(falsifiers.map((f) => [f.name, f.estimator, f.op, f.threshold, f.unit])).toEqual(
      LISTED[verdict]?.map((row) => [row[0], row[1], row[2], boundAt(row, 60), row[4]]),
    );
  });

  test.each(rows)('%s: all of them hold in the plain case, but what no hidden page tells', (_, values) => {
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
  /** WindowValues around the limits of a series, and anything else now and then. */
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
      // Steady figures, so that percentiles reach every side of their limits.
      {
        weight: 3,
        arbitrary: fc.tuple(someValue(name), fc.integer({ min: 0, max: 30 })).map(([v, n]) => constant(v, n)),
      },
      { weight: 3, arbitrary: fc.array(someValue(name), { maxLength: 30 }) },
    );
  const names = [...Object.keys(AGENT_SERIES), ...Object.keys(CLIENT_SERIES)] as SeriesName[];
  /** Parts that are laid over chance, so that every verdict comes often. */
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
      fps: fc.constantFrom(24, 30, 60, 60, 60, 120, 144),
      startedAtMs: fc.option(fc.integer({ min: FROM_MS - 60_000, max: FROM_MS + SPAN_MS })),
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

  /** The values that count, by another way than the code under test. */
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
        // Rule 3 has a test beyond its conditions: a common clock may show that the host was slow as well.
        const earlier = [NETWORK, ENCODER, ...(given.clock === null ? [CLIENT] : []), HIDDEN];
        const before = earlier.indexOf(verdict) === -1 ? earlier : earlier.slice(0, earlier.indexOf(verdict));
        const passed = verdict === CLIENT ? [NETWORK, ENCODER] : before;
        expect(passed.filter((each) => matches(given, each))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
